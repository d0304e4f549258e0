"""Shapes of composite operators, said in one line each instead of by running their whole body.

Three reasons: recurrent layers would unroll time; convolution's own shape function guards on sizes
for the sake of a kernel choice; and a norm or a matmul is ten fake calls where one allocation does.
A function that gives NotImplemented leaves the call to torch, errors included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten
Tensor = torch.Tensor


def _lstm(input: Tensor, hx: Sequence[Tensor], *rest: Any) -> Any:
    directions = 2 if rest[5] else 1
    output = input.new_empty((*input.shape[:2], hx[0].shape[2] * directions))
    return output, torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _lstm_packed(data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], *rest: Any) -> Any:
    directions = 2 if rest[5] else 1
    output = data.new_empty((data.shape[0], hx[0].shape[2] * directions))
    return output, torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _recurrent(input: Tensor, hx: Tensor, *rest: Any) -> Any:
    directions = 2 if rest[5] else 1
    return input.new_empty((*input.shape[:2], hx.shape[2] * directions)), torch.empty_like(hx)


def _recurrent_packed(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: Any) -> Any:
    directions = 2 if rest[5] else 1
    return data.new_empty((data.shape[0], hx.shape[2] * directions)), torch.empty_like(hx)


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


def _spread(value: Any, count: int) -> list[int]:
    if isinstance(value, int):
        return [value] * count
    return list(value) * count if len(value) == 1 else list(value)


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
            _spread(stride, rank),
            _spread(padding, rank),
            _spread(dilation, rank),
            strict=True,
        ):
            free = size + 2 * pad - spread * (kernel - 1) - 1
            if free < 0:  # on a symbolic size this records the smallest one that works
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


FAKES: dict[Any, Callable[..., Any]] = {
    aten.lstm.input: _lstm,
    aten.lstm.data: _lstm_packed,
    aten.gru.input: _recurrent,
    aten.rnn_tanh.input: _recurrent,
    aten.rnn_relu.input: _recurrent,
    aten.gru.data: _recurrent_packed,
    aten.rnn_tanh.data: _recurrent_packed,
    aten.rnn_relu.data: _recurrent_packed,
    aten.linear.default: _linear,
    aten.batch_norm.default: _batch_norm,
    aten.layer_norm.default: _layer_norm,
    aten.group_norm.default: _group_norm,
    aten.dropout.default: _dropout,
    aten.matmul.default: _matmul,
    aten.scaled_dot_product_attention.default: _attention,
    aten.conv1d.default: _convolution(1),
    aten.conv2d.default: _convolution(2),
    aten.conv3d.default: _convolution(3),
    aten.one_hot.default: _one_hot,
    aten.unique_consecutive.default: _unique_consecutive,
    aten.index.Tensor: _index,
    aten.take_along_dim.default: _take_along_dim,
}
