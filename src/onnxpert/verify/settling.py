"""What torch leaves open, settled as our files settle it: signs of vectors, and the order of equals;
and what the last digits of a value decide, as the file at hand has them.

The model is run once more with these choices made for it. What it then gives is as much its answer as
what it gave before, and everything after such a choice follows from it: nothing else may differ.
The operators are those below autograd of torch 2.13 and 2.15."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, TypeAlias

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.core.source import Frame, location
from onnxpert.core.types import Choice, Location
from onnxpert.verify.digits import Digits

aten = torch.ops.aten
Tensors: TypeAlias = tuple[torch.Tensor, ...]
Settle: TypeAlias = Callable[..., Tensors]
# Elements that are as large as the largest but for this factor count as large: of two that are
# equal up to rounding, neither must win by its last digit.
LARGE = 0.7
_HERE = os.path.dirname(__file__)


class Settling(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Makes the choices, and notes which kinds of them came out otherwise than torch's own, and
    where first; with `digits`, what decides has those, and without `equals`, no other is made. Of
    those that came out otherwise, `only` one is made if one is named."""

    def __init__(
        self, digits: Digits | None = None, equals: bool = True, only: int | None = None
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._digits = digits
        self._equals = equals
        self._only = only
        self.others = 0  # that came out otherwise
        self.made: set[Choice] = set()
        self.met = False  # whether there was anything to settle
        self.place: Location | None = None

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = dict(kwargs or {})
        if self._digits is not None:
            self._digits.lend(func, args)
            if self._digits.lent:
                self._note(Choice.ROUNDING)
        result = func(*args, **given)
        known = _SETTLED.get(func) if self._equals else None
        if known is None:
            return result
        self.met = True
        kind, settle = known
        chosen = settle(result, *args, **given)
        if not any(not torch.equal(a, b) for a, b in zip(chosen, result, strict=True)):
            return chosen
        self.others += 1
        if self._only is not None and self.others != self._only + 1:
            return result
        self._note(kind)
        return chosen

    def _note(self, kind: Choice) -> None:
        if not self.made:
            self.place = location(_frames())
        self.made.add(kind)


def _frames() -> list[Frame]:
    """What the model is at, outermost first: between who calls it, which is us, and this file."""
    within = (one for one in reversed(traceback.extract_stack()) if one.filename != __file__)
    models = takewhile(lambda one: os.path.dirname(one.filename) != _HERE, within)
    return [(one.filename, one.lineno or 0, one.name) for one in models][::-1]


def signs(vectors: torch.Tensor) -> torch.Tensor:
    """1 or -1 for each column: the sign of the first element that is among its largest."""
    if not vectors.numel():
        return vectors.new_ones((*vectors.shape[:-2], 1, vectors.shape[-1]))
    size = vectors.abs()
    large = size >= LARGE * size.amax(-2, keepdim=True)
    first = large.to(torch.uint8).argmax(-2, keepdim=True)
    return torch.where(vectors.gather(-2, first) < 0, -1.0, 1.0).to(vectors.dtype)


def _eigenvectors(result: Tensors, A: torch.Tensor, *_: Any, **__: Any) -> Tensors:  # noqa: N803
    values, vectors = result
    if vectors.dim() != A.dim() or vectors.is_complex():
        return result
    return values, vectors * signs(vectors)


def _singular_vectors(result: Tensors, A: torch.Tensor, *_: Any, **__: Any) -> Tensors:  # noqa: N803
    left, values, right = result
    if left.dim() != A.dim() or left.is_complex():
        return result
    number = values.shape[-1]
    turn = signs(left[..., :number])
    left, right = left.clone(), right.clone()
    left[..., :number] *= turn
    right[..., :number, :] *= turn.mT
    return left, values, right


def _in_order(x: torch.Tensor, dim: int, descending: bool) -> Tensors:
    return tuple(torch.sort(x, dim=dim, descending=descending, stable=True))


def _sorted(
    _: Tensors, x: torch.Tensor, dim: int = -1, descending: bool = False, **__: Any
) -> Tensors:
    return _in_order(x, dim, descending)


def _best(
    result: Tensors,
    x: torch.Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    *_: Any,
    **__: Any,
) -> Tensors:
    if not x.dim():
        return result
    return tuple(each.narrow(dim, 0, k) for each in _in_order(x, dim, largest))


def _of_rank(
    result: Tensors, x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False
) -> Tensors:
    if not x.dim():
        return result
    found = (each.narrow(dim, k - 1, 1) for each in _in_order(x, dim, False))
    return tuple(each if keepdim else each.squeeze(dim) for each in found)


def _middle(result: Tensors, x: torch.Tensor, dim: int, keepdim: bool = False) -> Tensors:
    if not x.dim() or (x.is_floating_point() and bool(x.isnan().any())):
        return result
    return _of_rank(result, x, (x.shape[dim] + 1) // 2, dim, keepdim)


def _commonest(
    result: Tensors, x: torch.Tensor, dim: int = -1, keepdim: bool = False, **__: Any
) -> Tensors:
    """The last place at which it is."""
    values, _ = result
    if not x.dim():
        return result
    wide = values if keepdim else values.unsqueeze(dim)
    last = (x == wide).flip(dim).to(torch.uint8).argmax(dim, keepdim=keepdim)
    return values, x.shape[dim] - 1 - last


_SETTLED: Mapping[Any, tuple[Choice, Settle]] = {
    aten._linalg_eigh.default: (Choice.SIGN, _eigenvectors),  # noqa: SLF001
    aten._linalg_svd.default: (Choice.SIGN, _singular_vectors),  # noqa: SLF001
    aten.sort.default: (Choice.ORDER, _sorted),
    aten.sort.stable: (Choice.ORDER, _sorted),
    aten.topk.default: (Choice.ORDER, _best),
    aten.kthvalue.default: (Choice.ORDER, _of_rank),
    aten.median.dim: (Choice.ORDER, _middle),
    aten.mode.default: (Choice.ORDER, _commonest),
}
