"""Sizes that a capture made one, given apart: whether its graph then does something else than the model.

The graph rather than the file: a runtime that is given what its file does not claim to take may end the
process (an LU decomposition, say), where torch raises."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch

from onnxpert.core.types import Captured, Loaded
from onnxpert.verify.arrays import to_array
from onnxpert.verify.compare import compare
from onnxpert.verify.divergence import argument
from onnxpert.verify.patience import Limit, Patience
from onnxpert.verify.reference import Reference, RefusedError
from onnxpert.verify.walk import Walk

logger = logging.getLogger(__name__)
_LONGEST = Limit(200_000, 20.0)  # of one run of the graph


def first_difference(
    loaded: Loaded, captured: Captured, many: Sequence[Sequence[Any]]
) -> int | None:
    """The first of these inputs that the model takes and for which the graph gives something else,
    without an error."""
    with Reference(loaded, 0) as reference, torch.no_grad():
        for place, leaves in enumerate(many):
            try:
                want = reference.call(leaves)
                with Patience(_LONGEST):
                    got = _AsFiled(captured).run(captured.root, _given(loaded, captured, leaves))
            except RefusedError:
                continue
            except Exception:  # of an operator's; what is refused is not wrong
                logger.debug("sizes apart", exc_info=True)
                continue
            if len(want) == len(got) and any(map(_differ, want, got)):
                return place
    return None


def _given(loaded: Loaded, captured: Captured, leaves: Sequence[Any]) -> list[Any]:
    values = {leaf.name: value for leaf, value in zip(loaded.leaves, leaves, strict=True)}
    return [argument(one.kind, one.name, one.tensor, values) for one in captured.inputs]


def _differ(want: Any, got: Any) -> bool:
    answer = got if isinstance(got, torch.Tensor) else torch.tensor(got)
    return bool(compare(want, to_array(answer)).problem)


class _AsFiled(Walk):
    """A size that several inputs have is that of the first, as a file reads it."""

    def __init__(self, captured: Captured) -> None:
        super().__init__()
        placeholders = (node for node in captured.root.graph.nodes if node.op == "placeholder")
        shapes = (getattr(node.meta.get("val"), "shape", ()) for node in placeholders)
        sizes = (size for shape in shapes for size in shape if isinstance(size, torch.SymInt))
        self._shared = {size.node.expr for size in sizes}

    def _learn(self, example: Any, value: Any) -> None:
        if isinstance(example, torch.SymInt) and example.node.expr in self._shared & {*self._sizes}:
            return
        super()._learn(example, value)
