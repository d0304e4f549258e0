"""Tensors of a class of the user's own: `x.as_subclass(Metres)` works for a fake tensor, too.

torch gives a fake tensor no other class, because Python knows it as a `FakeTensor` already. It is made
one of both: what the user's class does with a call (`__torch_function__`) happens as it would, and
below that it is the fake it was. Private torch APIs used here were tried on 2.13 and 2.15."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from onnxpert.core.dress import users_class

_alias = torch.ops.aten.alias.default


class _Dressed(FakeTensor):
    """A fake tensor whose class is also one of the user's."""

    @staticmethod
    def __new__(cls: Any, data: Any, *_: Any, **__: Any) -> Any:
        return dressed(data, cls)


# A fake hides from `__torch_function__`; a tensor of the user's class does not. torch hides every
# class with a `__torch_dispatch__` while it is being made, so that it has to be said afterwards.
_Dressed.__torch_function__ = classmethod(torch.Tensor.__torch_function__.__func__)  # type: ignore[attr-defined, method-assign, assignment]


def dressed(fake: torch.Tensor, wanted: type[torch.Tensor]) -> torch.Tensor:
    """The same tensor as one of the wanted class."""
    with torch._C.DisableTorchFunctionSubclass():
        same: torch.Tensor = _alias(fake)
    if not issubclass(FakeTensor, wanted):
        same.__class__ = _both(wanted)
    return same


def wear(fake: torch.Tensor, example: torch.Tensor) -> None:
    """Gives a fake the class of the tensor it stands for, and what that carries beside its values."""
    kind = users_class(example)
    if kind is not None:
        fake.__class__ = _both(kind)
        fake.__dict__.update(example.__dict__)


@functools.cache
def _both(wanted: type[torch.Tensor]) -> type:
    if issubclass(wanted, FakeTensor):
        return wanted
    made: Any = type(wanted.__name__, (wanted, _Dressed), {"__module__": wanted.__module__})
    if "__torch_function__" in vars(made):
        del made.__torch_function__
    return made  # type: ignore[no-any-return]


@contextmanager
def fakes_take_classes() -> Iterator[None]:
    """While on, fake tensors become tensors of other classes as real ones do."""
    as_subclass, make = torch.Tensor.as_subclass, torch.Tensor._make_subclass

    def into(self: torch.Tensor, cls: type[torch.Tensor]) -> torch.Tensor:
        return dressed(self, cls) if isinstance(self, FakeTensor) else as_subclass(self, cls)

    def made(cls: type[torch.Tensor], data: torch.Tensor, *rest: Any, **named: Any) -> Any:
        plain = isinstance(data, FakeTensor) and not issubclass(cls, torch.nn.Parameter)
        return dressed(data, cls) if plain else make(cls, data, *rest, **named)

    torch.Tensor.as_subclass = into  # type: ignore[method-assign, assignment]
    torch.Tensor._make_subclass = staticmethod(made)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del torch.Tensor.as_subclass, torch.Tensor._make_subclass
