"""How a write through a view reaches what it is a view of: each view operator has a scatter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
import torch
from torch import fx

from onnxpert.core.looks import is_reshaping_write, is_write
from onnxpert.lower.complex_pairs import is_complex
from onnxpert.lower.inplace import functional
from onnxpert.lower.shapes import equal, product

aten = torch.ops.aten

_RESHAPES = {
    aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.unsqueeze.default,
    aten.squeeze.dim, aten.squeeze.default, aten.squeeze.dims, aten.flatten.using_ints,
    aten.unflatten.int, aten.view_as.default, aten.reshape_as.default, aten.ravel.default,
    aten.atleast_1d.default, aten.atleast_2d.default, aten.atleast_3d.default,
}  # fmt: skip
_SAME = {
    aten.alias.default, aten.detach.default, aten.contiguous.default, aten.to.dtype,
    aten.to.device, aten.to.dtype_layout, aten.to.other, aten.lift_fresh.default, aten.lift.default,
    aten.positive.default, aten.resolve_conj.default, aten.resolve_neg.default,
    aten.type_as.default, aten.real.default, aten.conj.default,
}  # fmt: skip
_SCATTERS = {
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.select.int: aten.select_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
}
_INVERSES = {
    aten.view_as_real.default: aten.view_as_complex.default,
    aten.view_as_complex.default: aten.view_as_real.default,
    aten._conj.default: aten._conj.default,
    aten.conj.default: aten._conj.default,
    aten.mH.default: aten.mH.default,
    aten.matrix_H.default: aten.mH.default,
    aten.adjoint.default: aten.mH.default,
    aten._neg_view.default: aten.neg.default,
}
_SWAPS = {aten.transpose.int, aten.swapaxes.default, aten.swapdims.default}
_LAST_SWAPS = {
    aten.t.default, aten.mT.default, aten.mH.default, aten.adjoint.default, aten.matrix_H.default,
}  # fmt: skip
_SPLITS = {
    aten.split.Tensor, aten.split.sizes, aten.split_with_sizes.default, aten.chunk.default,
    aten.tensor_split.sections,
}  # fmt: skip


def view_target(node: fx.Node) -> Any:
    """The operator a node is a view by: of `unsqueeze_`, `unsqueeze`."""
    if not is_reshaping_write(node.target):
        return node.target
    form = functional(node.target)
    return node.target if form is None else form.target


@dataclass(frozen=True, slots=True)
class Write:
    """A write through a view, and what undoing it needs."""

    view: fx.Node
    rest: Sequence[Any]  # the view's arguments after its base
    keywords: Mapping[str, Any]
    base: ir.Value
    value: ir.Value
    call: Callable[..., Any]  # (overload, *args) lowers one ATen call
    shape: Callable[[ir.Value], tuple[Any, ...]]
    again: Callable[[ir.Value], ir.Value]  # the view of another base

    @property
    def target(self) -> Any:
        return view_target(self.view)

    def shaped(self, value: ir.Value, sizes: Sequence[Any]) -> ir.Value:
        return self.call(aten.view.default, value, list(sizes))  # type: ignore[no-any-return]


def undo(write: Write) -> ir.Value:
    """The base after the value was written through the view."""
    for way in (_complex, _same, _reshaped, _scattered, _reordered, _piece):
        base = way(write)
        if base is not None:
            return base
    return _element_by_element(write)


def _complex(write: Write) -> ir.Value | None:
    """A part of a complex tensor, or a view of it that turns the imaginary part around."""
    target, base, value = write.target, write.base, write.value
    if target in _INVERSES and (is_complex(base) or is_complex(value)):
        return write.call(_INVERSES[target], value)  # type: ignore[no-any-return]
    if target is aten.real.default and is_complex(base):
        return write.call(aten.complex.default, value, write.call(aten.imag.default, base))  # type: ignore[no-any-return]
    if target is aten.imag.default:
        return write.call(aten.complex.default, write.call(aten.real.default, base), value)  # type: ignore[no-any-return]
    return None


def _same(write: Write) -> ir.Value | None:
    if is_write(write.target) or write.target in _SAME:
        return write.value
    if write.target in {aten.expand.default, aten.expand_as.default} and equal(
        write.shape(write.base), write.shape(write.value)
    ):
        return write.value
    return None


def _reshaped(write: Write) -> ir.Value | None:
    if write.target not in _RESHAPES:
        return None
    return write.shaped(write.value, write.shape(write.base))


def _scattered(write: Write) -> ir.Value | None:
    back, rest = _SCATTERS.get(write.target), list(write.rest)
    if write.target is aten.narrow.default:
        dim, start, length = rest
        back, rest = aten.slice_scatter.default, [dim, start, start + length]
    if back is None:
        return None
    return write.call(back, write.base, write.value, *rest, **write.keywords)  # type: ignore[no-any-return]


def _reordered(write: Write) -> ir.Value | None:
    order = _order(write.target, write.rest, len(write.shape(write.base)))
    if order is None:
        return None
    back = [order.index(axis) for axis in range(len(order))]
    return write.call(aten.permute.default, write.value, back)  # type: ignore[no-any-return]


def _order(target: Any, rest: Sequence[Any], rank: int) -> list[int] | None:
    """The order of dimensions that a view has, if that is all it does."""
    order = list(range(rank))
    if target is aten.permute.default:
        return [axis % rank for axis in rest[0]]
    if target is aten.numpy_T.default:
        return order[::-1]
    if target in _SWAPS or target in _LAST_SWAPS:
        if rank > 1:
            a, b = rest[:2] if target in _SWAPS else (-2, -1)
            order[a], order[b] = order[b], order[a]
        return order
    return None


def _piece(write: Write) -> ir.Value | None:
    """One of several views (`split`, `chunk`, `unbind`): where the pieces before it end, it starts."""
    if write.target is not operator.getitem:
        return None
    source, index = write.view.args
    assert isinstance(source, fx.Node)
    assert isinstance(index, int)
    rest = list(source.args[1:])
    if source.target is aten.unbind.int:
        dim = source.kwargs.get("dim", rest[0] if rest else 0)
        return write.call(aten.select_scatter.default, write.base, write.value, dim, index)  # type: ignore[no-any-return]
    if source.target not in _SPLITS:
        return None
    dim = source.kwargs.get("dim", rest[1] if len(rest) > 1 else 0)
    pieces = source.meta["val"]
    start = sum(piece.shape[dim] for piece in pieces[:index])
    end = start + pieces[index].shape[dim]
    return write.call(aten.slice_scatter.default, write.base, write.value, dim, start, end)  # type: ignore[no-any-return]


def _element_by_element(write: Write) -> ir.Value:
    """Any other view: the same view of the positions says where its elements belong."""
    sizes = write.shape(write.base)
    positions = write.call(aten.arange.default, product(sizes))
    places = write.again(write.shaped(positions, sizes))
    flat, index, updates = (write.shaped(each, [-1]) for each in (write.base, places, write.value))
    return write.shaped(write.call(aten.scatter.src, flat, 0, index, updates), sizes)
