"""What a call that works element by element gives, said at once where sizes are symbols.

torch works it out by the parts that it takes the call apart into, which for `elu` are eight, and asks
about the sizes in each of them. The result lies in memory as the largest operand does, if the others fit
into that as they are written; which dtype it has, the call itself says of one element."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import sympy
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._sympy.functions import Max

from onnxpert.capture.reasoning import hint_of

Sizes: TypeAlias = tuple[Any, ...]  # expressions, or numbers


def of_elements(func: Any, args: Sequence[Any]) -> Any:
    """A tensor as the call would give it, or NotImplemented."""
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    if not tensors or torch.Tag.nondeterministic_seeded in func.tags:
        return NotImplemented
    whole = max(tensors, key=lambda tensor: (tensor.dim(), _symbols(tensor)))
    if not _symbols(whole) or any(other.device != whole.device for other in tensors):
        return NotImplemented
    strides = _strides(whole, tensors)
    dtype = None if strides is None else _dtype(func, args)
    if strides is None or dtype is None:
        return NotImplemented
    return torch.empty_strided(whole.shape, strides, dtype=dtype, device=whole.device)


def named(sizes: Sequence[Any]) -> Sizes:
    """Sizes as what they are equal by: those of a tensor do not hash."""
    return tuple(one.node.expr if isinstance(one, torch.SymInt) else one for one in sizes)


def _symbols(tensor: torch.Tensor) -> int:
    return sum(isinstance(size, torch.SymInt) for size in tensor.shape)


def _strides(whole: torch.Tensor, tensors: Sequence[torch.Tensor]) -> Sequence[Any] | None:
    """How what is made of these lies in memory, whatever the sizes are; None where that is not plain.
    torch closes gaps."""
    shape, strides = named(whole.shape), named(whole.stride())
    looks = [(named(each.shape), named(each.stride())) for each in tensors]
    if all(look == (shape, strides) for look in looks):
        if _inwards(shape, strides) is not None:
            return whole.stride()
        return torch.empty(whole.shape).stride() if _descend(whole.stride()) else None
    parts = all(_is_in_order(*look) and _is_stretched(look[0], to=shape) for look in looks)
    return whole.stride() if parts else None


def _inwards(shape: Sizes, strides: Sizes) -> list[int] | None:
    """The axes from the outermost in memory to the innermost, but those of one element; None where there
    are gaps."""
    left = [axis for axis, size in enumerate(shape) if size != 1]
    found, steps = list[int](), {sympy.S.One}
    while left:
        axis = next((axis for axis in reversed(left) if strides[axis] in steps), None)
        if axis is None:
            return None
        left.remove(axis)
        found.insert(0, axis)
        size, stride = sympy.sympify(shape[axis]), sympy.sympify(strides[axis])
        # torch says it either way
        steps = {stride * size, stride * Max(1, size)}  # type: ignore[no-untyped-call]
    return found


def _is_in_order(shape: Sizes, strides: Sizes) -> bool:
    found = _inwards(shape, strides)
    return found is not None and found == sorted(found)


def _is_stretched(shape: Sizes, *, to: Sizes) -> bool:
    """Whether each size is the same, or 1 and says so."""
    return all(one in (other, 1) for one, other in zip(shape[::-1], to[::-1], strict=False))


def _descend(strides: Sequence[Any]) -> bool:
    hints = [hint_of(stride) for stride in strides]
    return all(one and other and one > other for one, other in itertools.pairwise(hints))


def _dtype(func: Any, args: Sequence[Any]) -> torch.dtype | None:
    """Which the call gives; None where it gives no plain tensor, or does not take such operands."""
    try:
        with unset_fake_temporarily():
            out = func(
                *(
                    torch.ones((1,) * arg.dim(), dtype=arg.dtype)
                    if isinstance(arg, torch.Tensor)
                    else arg
                    for arg in args
                )
            )
    except (RuntimeError, TypeError, ValueError, IndexError):  # torch is asked again, and says it
        return None
    plain = isinstance(out, torch.Tensor) and out.layout is torch.strided and not out.is_complex()
    return out.dtype if plain else None
