"""Tensors all of whose elements are one known number, however many there are: a mask made of ones.

What such a tensor decides (`if padding.any():`) is no question: the answer is the same for all inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

aten = torch.ops.aten
_FILLED: dict[Any, Any] = {  # the number, or which of the arguments it is
    aten.full.default: lambda _, value: value,
    aten.full_like.default: lambda _, value: value,
    aten.new_full.default: lambda _, __, value: value,
    **dict.fromkeys((aten.ones.default, aten.ones_like.default, aten.new_ones.default), 1),
    **dict.fromkeys((aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default), 0),
}
# Whatever they take, and wherever they put it, they take nothing else.
_MOVED = frozenset(
    {
        aten._to_copy, aten._unsafe_view, aten.alias, aten.clone, aten.contiguous, aten.detach,
        aten.expand, aten.expand_as, aten.flatten, aten.flip, aten.movedim, aten.permute,
        aten.repeat, aten.reshape, aten.roll, aten.select, aten.slice, aten.squeeze, aten.t,
        aten.tile, aten.to, aten.transpose, aten.unflatten, aten.unsqueeze, aten.view, aten.view_as,
    }
)  # fmt: skip
# Pointwise all the same, though torch does not mark them.
_UNMARKED = frozenset(
    (
        *(getattr(aten.where, name) for name in ("Scalar", "ScalarOther", "ScalarSelf")),
        *(
            getattr(getattr(aten, name), kind)
            for name in ("__and__", "__or__", "__xor__", "rsub")
            for kind in ("Scalar", "Tensor")
        ),
        aten.masked_fill.Tensor,
        aten.floor_divide.default,
    )
)
_UNSURE = (list, tuple, torch.SymInt, torch.SymFloat, torch.SymBool)
_OTHER_BITS = aten.view.dtype
# Of many that are the same they give that one; of none, two of them say what is here.
_ONE_OF_ALL: dict[Any, bool | None] = {
    **dict.fromkeys((aten.all.default, aten.all.dim, aten.all.dims), True),
    **dict.fromkeys((aten.any.default, aten.any.dim, aten.any.dims), False),
    **dict.fromkeys((aten.amax.default, aten.amin.default, aten.max.default, aten.min.default)),
}


class Uniform:
    """The tensors of one run of which that is known, each by its id."""

    def __init__(self) -> None:
        self._values: dict[int, torch.Tensor] = {}  # id of a fake -> one element, with its dtype

    def number(self, tensor: Any) -> Any | None:
        """What `.item()` gives."""
        value = self._values.get(id(tensor))
        if value is None:
            return None
        with unset_fake_temporarily():
            return value.item()

    def forget(self, tensor: torch.Tensor) -> None:
        self._values.pop(id(tensor), None)

    def note(
        self,
        func: Any,
        args: Any,
        kwargs: Mapping[str, Any],
        out: Any,
        known: Mapping[int, torch.Tensor],
    ) -> None:
        """Keeps what a call gave, if it is one number all over; `known` are whole tensors."""
        if not isinstance(out, torch.Tensor) or out.is_complex():
            return
        with unset_fake_temporarily():
            value = self._made(func, args, kwargs, out, known)
            if value is not None:
                self._values[id(out)] = value.to(out.dtype).reshape(())

    def _made(
        self,
        func: Any,
        args: Any,
        kwargs: Mapping[str, Any],
        out: torch.Tensor,
        known: Mapping[int, torch.Tensor],
    ) -> torch.Tensor | None:
        if func in _FILLED:
            filled = _FILLED[func]
            value = filled(*args) if callable(filled) else filled
            return torch.tensor(value) if type(value) in (bool, int, float) else None
        if not self._values or not args:
            return None
        first = self._values.get(id(args[0]))
        if first is not None and func.overloadpacket in _MOVED and func is not _OTHER_BITS:
            return first
        if first is not None and func in _ONE_OF_ALL:
            return _one_of(first, args[0], _ONE_OF_ALL[func])
        if torch.Tag.pointwise in func.tags or func in _UNMARKED:
            return self._computed(func, args, kwargs, out, known)
        return None

    def _computed(
        self,
        func: Any,
        args: Any,
        kwargs: Mapping[str, Any],
        out: torch.Tensor,
        known: Mapping[int, torch.Tensor],
    ) -> torch.Tensor | None:
        given = [self._value(arg, known) for arg in args]
        unknown = any(
            isinstance(arg, torch.Tensor) and value is None
            for arg, value in zip(args, given, strict=True)
        )
        plain = not any(isinstance(value, _UNSURE) for value in (*args, *kwargs.values()))
        if unknown or not plain or not any(isinstance(arg, torch.Tensor) for arg in args):
            return None
        if any(isinstance(value, torch.Tensor) for value in kwargs.values()):
            return None
        made = func(*given, **kwargs)
        return made if isinstance(made, torch.Tensor) and made.dtype is out.dtype else None

    def _value(self, arg: Any, known: Mapping[int, torch.Tensor]) -> Any:
        """A tensor of one element for one of many, with as many dimensions: they decide on dtypes."""
        if not isinstance(arg, torch.Tensor):
            return arg
        value = self._values.get(id(arg))
        if value is None:
            value = known.get(id(arg))
            if value is None or value.numel() != 1:
                return None
        return value.reshape((1,) * arg.dim())


def _one_of(first: torch.Tensor, of: torch.Tensor, of_none: bool | None) -> torch.Tensor | None:
    if of_none is None:
        return first
    found = first.bool()
    some = all(type(size) is int and size > 0 for size in of.shape)
    return found if some or bool(found) is of_none else None
