"""Constant folding while building: the few operators that shape arithmetic is made of, in numpy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Attributes = Mapping[str, Any]

LARGEST = 4096  # elements; what is larger is cheaper left to the runtime


def _divide(a: Array, b: Array) -> Array | None:
    if a.dtype.kind not in "iu":
        return np.asarray(a / b)
    if (b == 0).any():
        return None
    quotient = a // b
    return np.asarray(
        quotient + ((a % b != 0) & ((a < 0) != (b < 0)))
    )  # towards zero, as ONNX divides


def _modulo(a: Array, b: Array, fmod: int = 0) -> Array | None:
    if (b == 0).any():
        return None
    return np.fmod(a, b) if fmod else np.mod(a, b)


def _slice(data: Array, starts: Array, ends: Array, *rest: Array) -> Array:
    axes = rest[0] if rest else np.arange(len(starts))
    steps = rest[1] if len(rest) > 1 else np.ones_like(starts)
    index = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        # ONNX's "to the far end" is a huge number either way; Python needs None going backwards.
        stop = None if step < 0 and end < -data.shape[axis] else int(end)
        index[int(axis)] = slice(int(start), stop, int(step))
    return data[tuple(index)]


def _reshape(data: Array, shape: Array, allowzero: int = 0) -> Array:
    sizes = [
        data.shape[i] if size == 0 and not allowzero else int(size) for i, size in enumerate(shape)
    ]
    return data.reshape(sizes)


def _unsqueeze(data: Array, axes: Array) -> Array:
    return np.expand_dims(data, tuple(int(a) for a in axes))


def _squeeze(data: Array, *axes: Array) -> Array:
    return np.squeeze(data, tuple(int(a) for a in axes[0])) if axes else np.squeeze(data)


_FOLDS: dict[str, Callable[..., Array | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": _divide,
    "Neg": lambda a: -a,
    "Mod": _modulo,
    "Max": lambda *a: functools.reduce(np.maximum, a),
    "Min": lambda *a: functools.reduce(np.minimum, a),
    "Concat": lambda *a, axis: np.concatenate(a, axis),
    "Gather": lambda data, index, axis=0: np.take(data, index, axis),
    "Slice": _slice,
    "Reshape": _reshape,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Transpose": lambda a, perm=None: np.transpose(a, perm),
    "Equal": lambda a, b: np.asarray(a == b),
    "Less": lambda a, b: np.asarray(a < b),
    "Greater": lambda a, b: np.asarray(a > b),
    "LessOrEqual": lambda a, b: np.asarray(a <= b),
    "GreaterOrEqual": lambda a, b: np.asarray(a >= b),
    "Not": np.logical_not,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Where": lambda c, a, b: np.asarray(np.where(c, a, b)),
    "Expand": lambda a, shape: np.asarray(
        np.broadcast_to(a, np.broadcast_shapes(a.shape, tuple(shape)))
    ),
    "Trilu": lambda a, *k, upper=1: (np.triu if upper else np.tril)(a, int(k[0]) if k else 0),
    "Range": lambda start, limit, delta: np.arange(start, limit, delta, dtype=start.dtype),
    "Identity": lambda a: a,
    "Sqrt": np.sqrt,
    "Floor": np.floor,
    "Ceil": np.ceil,
}
# Whose result is not of the first operand's dtype.
_OTHER_KIND = frozenset({"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Where"})


def fold(op_type: str, inputs: Sequence[Array | None], attributes: Attributes) -> Array | None:
    """The value of an operator on constants, or None when it is not ours to compute."""
    body = _FOLDS.get(op_type)
    present = [value for value in inputs if value is not None]
    if body is None or len(present) != len(inputs):
        return None
    if sum(value.size for value in present) > LARGEST:
        return None
    with np.errstate(all="ignore"):  # infinities and NaN are as good as other constants
        result = body(*present, **attributes)
    if result is None or result.size > LARGEST:
        return None
    wanted = None if op_type in _OTHER_KIND else present[0].dtype
    result = np.asarray(result)
    return result if wanted is None or result.dtype == wanted else result.astype(wanted)
