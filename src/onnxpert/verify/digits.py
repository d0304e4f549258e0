"""A file's last digits of what decides, lent to the model: which of two near scores is the larger.

Sums of the same numbers in another order end in other digits. Where a model sorts, compares or rounds
such values, those digits decide what is taken, and everything that follows. So the model is run once
more, and whatever decides there is given the digits it has in the file, as long as no value moves by
more than a rounding, or than roundings before it move it in the model itself. What it then gives is as
much its answer as what it gave before, and nothing else may differ. The operators are those below
autograd of torch 2.13 and 2.15."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from onnxpert.core.tolerance import tolerance
from onnxpert.targets.target import Array, Target
from onnxpert.verify.arrays import dtype_name, to_tensor
from onnxpert.verify.divergence import with_outputs
from onnxpert.verify.exposing import exposed
from onnxpert.verify.file import read

if TYPE_CHECKING:
    import onnx

logger = logging.getLogger(__name__)
_ROUNDINGS = 100  # that a value may be off by, of the largest beside it: far less than an output
_FLOATS = (torch.float32, torch.float64)
_DECIDES = {
    "aten::topk",
    "aten::sort",
    "aten::argsort",
    "aten::argmax",
    "aten::argmin",
    "aten::max",
    "aten::min",
    "aten::kthvalue",
    "aten::median",
    "aten::gt",
    "aten::ge",
    "aten::lt",
    "aten::le",
    "aten::floor",
    "aten::ceil",
    "aten::round",
    "aten::trunc",
    "aten::bucketize",
    "aten::searchsorted",
    "torchvision::nms",
}
_PARTS = {"aten::index", "aten::index_select"}
# The same in a file: operators, and how many of their inputs decide.
_DECIDING = {
    "TopK": 1,
    "NonMaxSuppression": 2,
    "ArgMax": 1,
    "ArgMin": 1,
    "Greater": 2,
    "GreaterOrEqual": 2,
    "Less": 2,
    "LessOrEqual": 2,
    "Floor": 1,
    "Ceil": 1,
    "Round": 1,
}


class Digits:
    """What decides in a file, at one input; and how far, call by call, it moves in the model itself."""

    def __init__(self, values: Sequence[torch.Tensor], leeway: Sequence[float] = ()) -> None:
        self._values = [value for value in values if value.dtype in _FLOATS and value.numel()]
        self._leeway = leeway
        self._calls = 0
        self.lent = False  # whether any of them was another one than the model's

    def lend(self, func: Any, args: Sequence[Any]) -> None:
        """Before a call: its operands, and what shares their memory, take the file's digits."""
        operands = deciders(func, args)
        moves = 0.0
        if operands:
            moves = self._leeway[self._calls] if self._calls < len(self._leeway) else 0.0
            self._calls += 1
        elif func._schema.name in _PARTS:  # a part of it decides, which the file has as a whole
            operands = _floats(args[:1])
        for operand in operands:
            self._take(operand, moves)

    def _take(self, mine: torch.Tensor, moves: float) -> None:
        for value in self._values:
            if value.numel() != mine.numel() or value.dtype is not mine.dtype:
                continue
            other = value.reshape(mine.shape)
            near = _near(mine, other, moves)
            if 2 * int(near.sum()) > mine.numel():  # else it is another value
                if not torch.equal(mine[near], other[near]):
                    mine.copy_(other.where(near, mine))
                    self.lent = True
                return


def deciders(func: Any, args: Sequence[Any]) -> list[torch.Tensor]:
    """The operands of a call that decide something by their last digits."""
    return _floats(args) if func._schema.name in _DECIDES else []


def _floats(args: Sequence[Any]) -> list[torch.Tensor]:
    """Those that were computed, and can be written to."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.dtype in _FLOATS]
    return [
        one
        for one in tensors
        if one.numel() and 0 not in one.stride() and not isinstance(one, torch.nn.Parameter)
    ]


def _near(one: torch.Tensor, other: torch.Tensor, moves: float) -> torch.Tensor:
    """Which elements are no further apart than roundings explain, and an output may be."""
    finite = one[one.isfinite()]
    largest = float(finite.abs().amax()) if finite.numel() else 0.0
    rtol, _ = tolerance(dtype_name(one))
    most = max(_ROUNDINGS * torch.finfo(one.dtype).eps * largest, min(moves, rtol * largest))
    return (one == other) | ((one - other).abs() <= most)


Inner: TypeAlias = Callable[[Mapping[str, Array]], list[torch.Tensor]]


def deciding(path: Path, target: Target) -> Inner:
    """What gives the values of a file that decide something, by its inputs; none where it has no such.

    The file is opened for them once, and only if they are asked for: each case of a proof may ask."""

    @functools.cache
    def opened() -> Inner:
        try:
            return _opened(path, target)
        except Exception:  # each runtime has its own kinds; some give no inner values
            logger.debug("the file does not open with more outputs", exc_info=True)
            return lambda _: []

    def values(feeds: Mapping[str, Array]) -> list[torch.Tensor]:
        try:
            return opened()(feeds)
        except Exception:  # as above
            logger.debug("the file does not run with more outputs", exc_info=True)
            return []

    return values


def _opened(path: Path, target: Target) -> Inner:
    model = read(path)
    outer = {name for node in model.graph.node for name in node.output}
    names = exposed(model, _decisive)
    if not names:
        return lambda _: []
    run = with_outputs(model, names, path, target)

    def values(feeds: Mapping[str, Array]) -> list[torch.Tensor]:
        answers = run(feeds)
        return [
            to_tensor(answers[name]) if name in outer else _narrow(to_tensor(answers[name]))
            for name in names
        ]

    return values


def _decisive(node: onnx.NodeProto) -> Sequence[str]:
    names: Sequence[str] = node.input[: _DECIDING.get(node.op_type, 0)]
    return names


def _narrow(value: torch.Tensor) -> torch.Tensor:
    """In single precision, if that is what it was before a branch handed it out."""
    single = value.float()
    same = (single.double() == value) | value.isnan()
    return single if bool(same.all()) else value
