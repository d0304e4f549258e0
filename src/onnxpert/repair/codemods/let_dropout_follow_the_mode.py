"""F.dropout without `training=`, which drops in evaluation too."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Safety
from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_NAMES = [
    f"{module}.{name}"
    for module in ("F", "torch.nn.functional", "nn.functional")
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")
]


@codemod("let-dropout-follow-the-mode", cures=("STA311",), safety=Safety.UNSAFE)
def let_dropout_follow_the_mode(page: Page) -> Iterator[Edit]:
    """F.dropout drops in every mode unless it is told of the module's; eval() then means no dropping."""
    for node in page.calls(*_NAMES):
        function = page.function(node)
        inside = function and function.args.args and function.args.args[0].arg == "self"
        if inside and len(node.args) < 3 and all(each.arg != "training" for each in node.keywords):
            text = page.code(node)
            yield page.edit(node, text[:-1].rstrip().rstrip(",") + ", training=self.training)")
