"""Two sizes that the user wants to vary, of which one is 1 in the example and is broadcast there.

To torch a size that varies is never 1, and the other one would have to be its equal. The result is as
long as the longer of them, whichever that is in a run; that they fit is the model's own condition."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._sympy.functions import Max

from onnxpert.capture.reasoning import example_sizes
from onnxpert.capture.unwritten import tensors

_ALSO = frozenset({"aten::masked_fill", "aten::masked_fill_"})  # which torch has no tag for
_sym: Any = torch  # whose functions of symbols have no types


def broadcast(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """What a call gives in which such sizes meet; NotImplemented for every other call."""
    if torch.Tag.pointwise not in func.tags and func._schema.name not in _ALSO:
        return NotImplemented
    given = tensors((args, kwargs))
    ones = _ones(given)
    if not ones:
        return NotImplemented
    shape = _shape([tensor.shape for tensor in given], ones)
    if shape is None:
        return NotImplemented
    if func._schema.is_mutable:  # what is written keeps its size
        return args[0] if func._schema.name.endswith("_") else NotImplemented

    def spread(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(spread, value))
        wide = isinstance(value, torch.Tensor) and value.dim()
        return value.new_empty(shape) if wide else value

    return func(*spread(args), **{key: spread(value) for key, value in kwargs.items()})


def expanded(input: torch.Tensor, size: Sequence[Any], **_: Any) -> Any:
    """What is expanded is as long as was asked for, where its own size is 1 in the example."""
    ones = _ones([input])
    added = len(size) - input.dim()
    if not ones or added < 0:
        return NotImplemented
    own = [1] * added + list(input.shape)
    wanted = [have if _is_kept(want) else want for have, want in zip(own, size, strict=True)]
    met = [
        isinstance(have, torch.SymInt) and str(have) != str(want) and _is_met([have, want], ones)
        for have, want in zip(own, wanted, strict=True)
    ]
    if not any(met):
        return NotImplemented
    for have, want, here in zip(own, wanted, met, strict=True):
        if not here and have != 1 and have != want:  # noqa: PLR1714  asked of torch, as above
            return NotImplemented
    return input.new_empty(wanted)


def expanded_as(input: torch.Tensor, other: torch.Tensor) -> Any:
    return expanded(input, other.shape)


def _is_kept(want: Any) -> bool:
    return type(want) is int and want == -1


def _ones(given: Sequence[torch.Tensor]) -> Mapping[Any, int]:
    """The sizes that are 1 in the example and that the user wants to vary."""
    for tensor in given:
        if isinstance(tensor, FakeTensor):
            return getattr(tensor.fake_mode.shape_env, "ones", {})
    return {}


def _shape(shapes: Sequence[Sequence[Any]], ones: Mapping[Any, int]) -> list[Any] | None:
    """None where there is nothing to it that torch does not know."""
    rank = max(map(len, shapes))
    axes = []
    for axis in range(-rank, 0):
        sizes = [shape[axis] for shape in shapes if len(shape) >= -axis]
        sizes = [size for size in sizes if not (type(size) is int and size == 1)] or [1]
        axes.append(list({str(size): size for size in sizes}.values()))
    met = [len(sizes) > 1 and _is_met(sizes, ones) for sizes in axes]
    if not any(met):
        return None
    for sizes, here in zip(axes, met, strict=True):
        # As torch asks: two that are equal are one from then on.
        if not here and any(size != sizes[0] for size in sizes[1:]):
            return None
    return [
        functools.reduce(_sym.sym_max, sizes) if here else sizes[0]
        for sizes, here in zip(axes, met, strict=True)
    ]


def _is_met(sizes: Sequence[Any], ones: Mapping[Any, int]) -> bool:
    """Whether one of them is broadcast in the example, or has come of that."""
    real = [_in_example(size, ones) for size in sizes]
    if None in real or len(set(real) - {1}) > 1:
        return False  # the data's, or such as torch refuses
    made = [size for size in sizes if isinstance(size, torch.SymInt) and _of_ones(size, ones)]
    if len(set(real)) == 1:  # as long as each other: torch makes them one, unless it was two
        return any(size.node.expr.has(Max) for size in made)
    alone = [size for size, number in zip(sizes, real, strict=True) if number == 1]
    return all(any(size is one for one in made) for size in alone)


def _of_ones(size: torch.SymInt, ones: Mapping[Any, int]) -> bool:
    return not ones.keys().isdisjoint(size.node.expr.free_symbols)


def _in_example(size: Any, ones: Mapping[Any, int]) -> int | None:
    """How long it is in the user's own example, where torch has been shown a longer one."""
    if not isinstance(size, torch.SymInt):
        return int(size)
    known = {**example_sizes(size.node.shape_env), **ones}
    value = size.node.expr.xreplace({key: sympy.Integer(number) for key, number in known.items()})
    return int(value) if value.is_Integer else None
