"""F.dropout without `training=`, which drops in evaluation too."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.core.types import Safety
from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given

_NAMES = [
    f"torch.{module}{name}"
    for module in ("nn.functional.", "")
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
]


@codemod("let-dropout-follow-the-mode", cures=("STA311",), safety=Safety.UNSAFE)
def let_dropout_follow_the_mode(page: Page) -> Iterator[Change]:
    """F.dropout drops in every mode unless it is told of the module's; eval() then means no dropping."""
    for node in page.calls(*_NAMES):
        values, keywords = given(node)
        function = page.function(node)
        method = function and [each.name.value for each in function.params.params][:1] == ["self"]
        if not method:
            continue
        told = page.expression("self.training")
        if len(values) < 3 and "training" not in keywords:
            keyword = cst.parse_expression("f(training=self.training)")
            yield node, node.with_changes(args=[*node.args, *keyword.args])  # type: ignore[attr-defined]
        for each in (keywords.get("training"), *values[2:3]):
            if each is not None and page.code(each) == "True":
                yield each, told
