"""Shapes of composite operators, said in one line each instead of by running their whole body.

Three reasons: recurrent layers would unroll time; convolution's own shape function guards on sizes
for the sake of a kernel choice; and a norm or a matmul is ten fake calls where one allocation does.
A function that gives NotImplemented leaves the call to torch, errors included."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import guard_or_false

from onnxpert.capture.faking.alike import LIKE
from onnxpert.capture.faking.drawn import DRAWN
from onnxpert.capture.faking.out_arguments import written_out
from onnxpert.capture.faking.pooling import POOLED, for_each
from onnxpert.capture.faking.recurrent import RECURRENT
from onnxpert.capture.faking.unlooked import UNLOOKED
from onnxpert.capture.faking.whole import WHOLE
from onnxpert.capture.open_sizes.broadcasting import broadcast, expanded, expanded_as
from onnxpert.capture.open_sizes.cutting import cut
from onnxpert.capture.open_sizes.packed import PACKED
from onnxpert.capture.open_sizes.squeezing import squeezed, squeezed_dim, squeezed_dims
from onnxpert.capture.open_sizes.viewing import flattened, reshaped, unflattened, viewed, viewed_as
from onnxpert.capture.quantised.training import ROUNDING

aten = torch.ops.aten
Tensor = torch.Tensor


def _plain(*tensors: Tensor | None) -> bool:
    present = [tensor for tensor in tensors if tensor is not None]
    return all(tensor.dtype == present[0].dtype for tensor in present)


def _check_dtypes(*tensors: Tensor | None) -> None:
    """What the real kernels refuse and torch's own shape functions let pass."""
    present = {str(t.dtype).removeprefix("torch."): None for t in tensors if t is not None}
    if len(present) > 1:
        raise RuntimeError(f"expected one dtype, got {' and '.join(present)}")


def _static(*sizes: Any) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    _check_dtypes(input, weight, bias)
    if weight.dim() != 2 or input.dim() < 1:
        return NotImplemented
    if not _static(input.shape[-1]) or input.shape[-1] != weight.shape[1]:
        return NotImplemented
    return input.new_empty((*input.shape[:-1], weight.shape[0]))


def _batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    *rest: Any,
) -> Any:
    if training or running_mean is None or input.shape[1] != running_mean.shape[0]:
        return NotImplemented
    return torch.empty_like(input) if _plain(input, running_mean) else NotImplemented


def _layer_norm(input: Tensor, normalized_shape: Sequence[int], *rest: Any) -> Any:
    sizes = input.shape[-len(normalized_shape) :]
    if not _static(*sizes, *normalized_shape) or list(sizes) != list(normalized_shape):
        return NotImplemented
    weight = rest[0] if rest else None
    return input.new_empty(input.shape) if _plain(input, weight) else NotImplemented


def _group_norm(input: Tensor, num_groups: int, *rest: Any) -> Any:
    if not _static(input.shape[1]) or input.shape[1] % num_groups:
        return NotImplemented
    return torch.empty_like(input) if _plain(input, rest[0] if rest else None) else NotImplemented


def _dropout(input: Tensor, p: float, train: bool) -> Any:
    return NotImplemented if train and p > 0 else input.new_empty(input.shape)


def _matmul(a: Tensor, b: Tensor) -> Any:
    _check_dtypes(a, b)
    if a.dim() < 2 or a.dim() != b.dim():
        return NotImplemented
    inner, outer = a.shape[-1], b.shape[-2]
    if not (_static(inner, outer) and inner == outer) and str(inner) != str(outer):
        return NotImplemented
    if any(str(x) != str(y) for x, y in zip(a.shape[:-2], b.shape[:-2], strict=True)):
        return NotImplemented
    return a.new_empty((*a.shape[:-1], b.shape[-1]))


def _einsum(equation: str, tensors: Sequence[Tensor], *, path: Any = None) -> Any:
    """Of sizes that are known to agree: torch's own reshapes as the example can be reshaped."""
    given, arrow, wanted = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow or not given.replace(",", "").isalpha() or len(terms) != len(tensors):
        return NotImplemented
    sizes: dict[str, Any] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        if len(set(term)) != len(term) or len(term) != tensor.dim():
            return NotImplemented
        for letter, size in zip(term, tensor.shape, strict=True):
            if str(sizes.setdefault(letter, size)) != str(size):
                return NotImplemented
    if not _plain(*tensors) or not set(wanted) <= sizes.keys() or len(set(wanted)) != len(wanted):
        return NotImplemented
    if not tensors[0].is_floating_point():  # a sum of whole numbers may be wider than they are
        return NotImplemented
    return tensors[0].new_empty([sizes[letter] for letter in wanted])


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, *rest: Any, **_: Any
) -> Any:
    if query.dim() != 4 or not _plain(query, key, value) or key.dim() != 4 or value.dim() != 4:
        return NotImplemented
    if str(query.shape[0]) != str(key.shape[0]) or query.shape[-1] != key.shape[-1]:
        return NotImplemented
    if attn_mask is not None:
        wanted = (*query.shape[:-1], key.shape[-2])
        for have, want in zip(reversed(attn_mask.shape), reversed(wanted), strict=False):
            if have != 1 and have != want:  # noqa: PLR1714  asked of torch, so that equal sizes become one symbol
                return NotImplemented
    return query.new_empty((*query.shape[:-1], value.shape[-1]))


def _convolution(rank: int) -> Callable[..., Any]:
    def shape(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        _check_dtypes(input, weight, bias)
        if input.dim() != rank + 2 or isinstance(padding, str):
            return NotImplemented
        if not _static(input.shape[1]) or input.shape[1] != weight.shape[1] * groups:
            return NotImplemented
        sizes = []
        for size, kernel, step, pad, spread in zip(
            input.shape[2:],
            weight.shape[2:],
            for_each(stride, rank),
            for_each(padding, rank),
            for_each(dilation, rank),
            strict=True,
        ):
            free = size + 2 * pad - spread * (kernel - 1) - 1
            # On a symbolic size this records the smallest one that works; data may say what they like.
            if guard_or_false(free < 0):
                return NotImplemented
            sizes.append(free // step + 1)
        return input.new_empty((input.shape[0], weight.shape[0], *sizes))

    return shape


def _one_hot(input: Tensor, num_classes: int = -1) -> Any:
    """Without a number of classes the data say how many there are: a size of its own."""
    if num_classes != -1 or not isinstance(input, FakeTensor) or input.dtype is not torch.int64:
        return NotImplemented
    classes = input.fake_mode.shape_env.create_unbacked_symint()  # type: ignore[union-attr]
    torch._check(classes >= 1)  # type: ignore[no-untyped-call]
    return input.new_empty((*input.shape, classes))


def _unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """torch 2.13 and 2.15 give a wrong shape for a dimension counted from the end."""
    if dim is None or not -input.dim() <= dim < 0:
        return NotImplemented
    return aten.unique_consecutive(input, return_inverse, return_counts, dim % input.dim())


def _index(input: Tensor, indices: Sequence[Tensor | None]) -> Any:
    """torch 2.13 and 2.15 take the shape of the last index for all, even where it has none."""
    ranks = [index.dim() for index in indices if index is not None]
    if 0 not in ranks or not any(ranks):
        return NotImplemented
    return aten.index.Tensor(
        input, [i.reshape(1) if i is not None and not i.dim() else i for i in indices]
    )


def _lu_unpack(
    data: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """The real kernel takes it on trust that the pivots fit, and writes past the end."""
    if unpack_pivots and data.dim() > 1:
        rows, columns = data.shape[-2:]
        wanted = (*data.shape[:-2], rows if rows <= columns else columns)
        if len(wanted) != pivots.dim() or any(
            have != want for have, want in zip(pivots.shape, wanted, strict=True)
        ):
            raise RuntimeError(f"expected pivots of shape {wanted}, got {tuple(pivots.shape)}")
    return NotImplemented


def _take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    """torch's own takes the sizes that it broadcasts for constants."""
    rank = input.dim()
    if dim is None or indices.dim() != rank or not -rank <= dim < rank:
        return NotImplemented
    own, given = list(input.shape), list(indices.shape)
    own[dim] = given[dim] = 1
    sizes = list(torch.broadcast_shapes(own, given))  # type: ignore[no-untyped-call]
    sizes[dim] = indices.shape[dim]
    return input.new_empty(sizes)


def _interpolated(rank: int) -> Callable[..., Any]:
    """torch's own runs the whole arithmetic of a cubic to know the size that it was given."""

    def shape(input: Tensor, output_size: Any, *rest: Any) -> Any:
        factors: Any = rest[-1] if rest else None
        if input.dim() != rank + 2 or (output_size is None) == (factors is None):
            return NotImplemented
        sizes = (
            output_size
            or [
                torch.sym_int(size * factor)  # type: ignore[no-untyped-call]
                for size, factor in zip(input.shape[2:], factors, strict=True)
            ]
        )
        if len(sizes) != rank or any(guard_or_false(size <= 0) for size in sizes):
            return NotImplemented
        return input.new_empty((*input.shape[:2], *sizes))

    return shape


def _sampled(input: Tensor, grid: Tensor, mode: int, *rest: Any) -> Any:
    if input.dim() != grid.dim() or input.dim() not in {4, 5} or (mode == 2 and input.dim() == 5):
        return NotImplemented
    if grid.shape[-1] != input.dim() - 2 or input.shape[0] != grid.shape[0]:
        return NotImplemented
    return (
        input.new_empty((*input.shape[:2], *grid.shape[1:-1]))
        if _plain(input, grid)
        else NotImplemented
    )


def _affine_grid(theta: Tensor, size: Sequence[Any], align_corners: bool) -> Any:
    """torch's own counts out the coordinates, and so makes numbers of the sizes."""
    if theta.dim() != 3 or len(size) not in {4, 5}:
        return NotImplemented
    return theta.new_empty((size[0], *size[2:], len(size) - 2))


_SPECTRUM = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def _fourier(takes_real: bool, gives_real: bool) -> Callable[..., Any]:
    def shape(input: Tensor, n: Any = None, dim: int = -1, norm: str | None = None) -> Any:
        # torch asks for the root of the length, and so makes a number of it.
        wide = _SPECTRUM.get(input.dtype, input.dtype)
        if norm != "ortho" or not input.dim() or (takes_real and input.is_complex()):
            return NotImplemented
        size = input.shape[dim]
        length = n if n is not None else 2 * (size - 1) if gives_real else size
        if not wide.is_complex or (_static(length) and length < 1):
            return NotImplemented
        sizes = list(input.shape)
        sizes[dim] = length // 2 + 1 if takes_real else length
        return input.new_empty(sizes, dtype=wide.to_real() if gives_real else wide)

    return shape


def _shifted(input: Tensor, other: Any) -> Any:
    """torch 2.13 and 2.15 refuse truth values here, which their kernels shift as whole numbers."""
    if input.dtype is not torch.bool:
        return NotImplemented
    kind = torch.result_type(input, other)
    shape = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
        input.shape, other.shape if isinstance(other, Tensor) else ()
    )
    return NotImplemented if kind is torch.bool else input.new_empty(shape, dtype=kind)


def _diagonal_filled(input: Tensor, *_: Any, **__: Any) -> Any:
    """torch's own makes a number of every size, to see whether a tensor of three is a cube."""
    return input if isinstance(input, FakeTensor) and input.dim() == 2 else NotImplemented


def _filled_up(sequences: Sequence[Tensor], batch_first: bool = False, *_: Any, **__: Any) -> Any:
    """Each as long as the longest: torch's own would ask which of the sizes that is."""
    if not sequences or _static(*(one.shape[0] for one in sequences if one.dim())):
        return NotImplemented
    first, *others = (one.shape[1:] for one in sequences)
    if not all(_static(*rest) and rest == first for rest in (first, *others)):
        return NotImplemented
    longest = functools.reduce(torch.sym_max, [one.shape[0] for one in sequences])
    count = len(sequences)
    return sequences[0].new_empty(
        (count, longest, *first) if batch_first else (longest, count, *first)
    )


FAKES: dict[Any, Callable[..., Any]] = {
    **LIKE,
    **DRAWN,
    **PACKED,
    **POOLED,
    **RECURRENT,
    **WHOLE,
    **ROUNDING,
    **UNLOOKED,
    aten.linear.default: _linear,
    aten.batch_norm.default: _batch_norm,
    aten.pad_sequence.default: _filled_up,
    aten.layer_norm.default: _layer_norm,
    aten.group_norm.default: _group_norm,
    aten.dropout.default: _dropout,
    aten.matmul.default: _matmul,
    aten.einsum.default: _einsum,
    aten.scaled_dot_product_attention.default: _attention,
    aten.conv1d.default: _convolution(1),
    aten.conv2d.default: _convolution(2),
    aten.conv3d.default: _convolution(3),
    aten.upsample_linear1d.vec: _interpolated(1),
    aten.upsample_bilinear2d.vec: _interpolated(2),
    aten.upsample_bicubic2d.vec: _interpolated(2),
    aten.upsample_trilinear3d.vec: _interpolated(3),
    aten.upsample_nearest1d.vec: _interpolated(1),
    aten.upsample_nearest2d.vec: _interpolated(2),
    aten.upsample_nearest3d.vec: _interpolated(3),
    aten.grid_sampler.default: _sampled,
    aten.one_hot.default: _one_hot,
    aten.unique_consecutive.default: _unique_consecutive,
    aten.fft_fft.default: _fourier(takes_real=False, gives_real=False),
    aten.fft_ifft.default: _fourier(takes_real=False, gives_real=False),
    aten.fft_rfft.default: _fourier(takes_real=True, gives_real=False),
    aten.fft_ihfft.default: _fourier(takes_real=True, gives_real=False),
    aten.fft_irfft.default: _fourier(takes_real=False, gives_real=True),
    aten.fft_hfft.default: _fourier(takes_real=False, gives_real=True),
    aten.index.Tensor: _index,
    aten.__lshift__.Scalar: _shifted,
    aten.__lshift__.Tensor: _shifted,
    aten.__rshift__.Scalar: _shifted,
    aten.__rshift__.Tensor: _shifted,
    aten.take_along_dim.default: _take_along_dim,
    aten.lu_unpack.default: _lu_unpack,
    aten.fill_diagonal_.default: _diagonal_filled,
    aten.affine_grid_generator.default: _affine_grid,
    aten.expand.default: expanded,
    aten.expand_as.default: expanded_as,
    aten.broadcast_to.default: expanded,
    aten.slice.Tensor: cut,
    aten.squeeze.default: squeezed,
    aten.squeeze.dim: squeezed_dim,
    aten.squeeze.dims: squeezed_dims,
    aten.view.default: viewed,
    aten.view_as.default: viewed_as,
    aten.reshape.default: reshaped,
    aten.flatten.using_ints: flattened,
    aten.unflatten.int: unflattened,
}


def faked(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """What a call gives; NotImplemented leaves it to torch, which knows what is made of sparse ones."""
    if any(isinstance(each, Tensor) and each.layout is not torch.strided for each in args):
        return NotImplemented
    make = FAKES.get(func)
    out = NotImplemented if make is None else make(*args, **kwargs)
    for general in (written_out, broadcast):
        out = general(func, args, kwargs) if out is NotImplemented else out
    return out
