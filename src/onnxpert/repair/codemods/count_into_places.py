"""`torch.bincount` with a least length, as a sum into that many places."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, given


@codemod("count-into-places", cures=("OPS501", "SHP212", "CAP001"))
def count_into_places(page: Page) -> Iterator[Change]:
    """How many counts bincount gives depends on the values; their places are as many as are asked for."""
    for node in page.calls("torch.bincount"):
        values, words = given(node)
        places = words.get("minlength", values[2] if len(values) > 2 else None)
        weights = words.get("weights", values[1] if len(values) > 1 else None)
        if places is None or not values:
            continue
        dtype = f"{page.code(weights)}.dtype" if weights is not None else "torch.int64"
        added = "{}" if weights is not None else "torch.ones_like({}, dtype=torch.int64)"
        yield node, page.expression(
            f"torch.zeros({{}}, dtype={dtype}).scatter_add(0, {{}}, {added})",
            places, values[0], weights if weights is not None else values[0],
        )  # fmt: skip
