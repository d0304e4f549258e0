"""Operators on complex tensors that need no lowering of their own: the real one, on each part.

What only moves elements, and what is linear in them, is done to the real and to the imaginary part
by itself; what is linear in two tensors, to each pair of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch._ops import OpOverload

from onnxpert.lower.complex_pairs import REAL, halves, is_complex, pair, parts, zeros
from onnxpert.lower.emitter import Emitter, Refusal

aten = torch.ops.aten

# Calls one overload on real tensors: (overload, args, kwargs, out) -> result.
Call = Callable[[Any, Sequence[Any], Mapping[str, Any], Any], Any]

# Operators by name, all their overloads; with them the parameters, beside tensors that are complex
# or floating, that hold elements: a number there has an imaginary part, which is zero.
_ELEMENTS = (
    "_lazy_clone", "_reshape_alias", "_reshape_copy", "_unsafe_view", "alias", "alias_copy",
    "as_strided", "as_strided_copy", "atleast_1d", "atleast_2d", "atleast_3d",
    "broadcast_tensors", "broadcast_to", "chunk", "clone", "contiguous", "cumsum", "data",
    "detach", "detach_copy", "diag", "diag_embed", "diagonal", "diagonal_copy", "diff",
    "dsplit", "embedding", "expand", "expand_as", "expand_copy", "flatten", "flip",
    "fliplr", "flipud", "gather", "hsplit", "index", "index_select", "lift", "lift_fresh",
    "lift_fresh_copy", "linalg_diagonal", "mT", "masked_select", "mean", "meshgrid", "moveaxis",
    "movedim", "nan_to_num", "narrow", "narrow_copy", "neg", "negative", "numpy_T",
    "permute", "permute_copy", "pixel_shuffle", "pixel_unshuffle", "positive", "ravel",
    "repeat", "repeat_interleave", "reshape", "reshape_as", "resolve_conj", "resolve_neg",
    "roll", "rot90", "select", "select_copy", "slice", "slice_copy", "split", "split_copy",
    "split_with_sizes", "split_with_sizes_copy", "squeeze", "squeeze_copy", "sum",
    "sum_to_size", "swapaxes", "swapdims", "t", "t_copy", "take", "take_along_dim",
    "tensor_split", "tile", "trace", "transpose", "transpose_copy", "tril", "triu", "unbind",
    "unbind_copy", "unflatten", "unfold", "unfold_copy", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy", "view", "view_as", "view_copy", "vsplit",
    "zero",
)  # fmt: skip
_JOINS = (
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack",
    "column_stack", "block_diag",
)  # fmt: skip
_LINEAR: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_ELEMENTS, ()),
    **dict.fromkeys(_JOINS, ("tensors",)),
    "where": ("self", "other"),
    "masked_fill": ("value",),
    "masked_scatter": ("source",),
    "constant_pad_nd": ("value",),
    "fill": ("value",),
    "copy": ("src",),
    "index_fill": ("value",),
    "index_put": ("values",),
    "_index_put_impl": ("values",),
    "_unsafe_index_put": ("values",),
    "index_add": ("source",),
    "index_copy": ("source",),
    "scatter": ("src", "value"),
    "scatter_add": ("src",),
    "slice_scatter": ("src",),
    "select_scatter": ("src",),
    "diagonal_scatter": ("src",),
    "as_strided_scatter": ("src",),
    "put": ("source",),
    "full": ("fill_value",),
    "full_like": ("fill_value",),
    "new_full": ("fill_value",),
}
_OPERANDS = {"self", "tensors"}  # hold elements wherever they are
# `pad` in the modes that only repeat elements; a constant has its own number.
_PADS = {"pad", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
         "replication_pad2d", "replication_pad3d", "_pad_circular", "_pad_enum"}  # fmt: skip
_SPREADS = {"var", "std", "var_mean", "std_mean"}
# Linear in two tensors; the third parameter, where there is one, is added.
_LAYERS = (
    "linear", "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d",
)  # fmt: skip
_BILINEAR: Mapping[str, tuple[str, str, str]] = {
    **dict.fromkeys(
        ("matmul", "linalg_matmul", "inner", "kron", "tensordot"), ("self", "other", "")
    ),
    "bmm": ("self", "mat2", ""),
    "mm": ("self", "mat2", ""),
    "mv": ("self", "vec", ""),
    "dot": ("self", "tensor", ""),
    "outer": ("self", "vec2", ""),
    "ger": ("self", "vec2", ""),
    **dict.fromkeys(_LAYERS, ("input", "weight", "bias")),
}


def call_by_parts(
    op: Emitter,
    call: Call,
    target: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    out: Any,
    mode: Any,
) -> Any:
    """The call made of calls on parts; NotImplemented for an operator that is not so made."""
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return NotImplemented
    name = target._schema.name.removeprefix("aten::")
    named = _named(target, args, kwargs)
    real_out = _real(out, mode)

    def plain(values: Mapping[str, Any]) -> Any:
        given, keywords = _arranged(target, values)
        return _described(op, call(target, given, keywords, real_out), real_out)

    if name in _BILINEAR:
        return _bilinear(op, plain, named, _BILINEAR[name])
    if name in _SPREADS:
        return _spread(op, plain, named, name)
    if name not in _PADS and name not in _LINEAR:
        return NotImplemented
    if isinstance(out, torch.Tensor) and not out.is_complex():
        # Asked for in a real dtype, it drops the imaginary part before it does anything.
        return plain({key: _part(op, value, 0, False) for key, value in named.items()})
    return _linear(op, plain, named, _LINEAR.get(name, ("value",)))


def _linear(
    op: Emitter,
    call: Callable[[Mapping[str, Any]], Any],
    named: Mapping[str, Any],
    data: tuple[str, ...],
) -> Any:
    """The real operator on both parts. `data` names the parameters whose numbers are elements."""
    if isinstance(named.get("alpha"), complex) or named.get("reduce") is not None:
        raise Refusal("it has no lowering for complex numbers")
    results = []
    for which in (0, 1):
        chosen = {
            name: _part(op, value, which, name in data or name in _OPERANDS)
            for name, value in named.items()
        }
        results.append(call(chosen))
    if isinstance(results[0], (list, tuple)):
        return tuple(pair(op, re, im) for re, im in zip(*results, strict=True))
    return pair(op, *results)


def _part(op: Emitter, value: Any, which: int, data: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_part(op, item, which, data) for item in value)
    if isinstance(value, torch.dtype):
        return REAL.get(value, value)
    if is_complex(value):
        return parts(op, value)[which]
    if isinstance(value, complex):
        return (value.real, value.imag)[which]
    return _imaginary(op, value, data) if which else value


def _imaginary(op: Emitter, value: Any, data: bool) -> Any:
    """Of something real: zeros if it holds elements, else (a mask, an axis) it is for both."""
    if isinstance(value, ir.Value):
        floating = value.dtype is not None and value.dtype.is_floating_point()
        return zeros(op, value) if data or floating else value
    is_number = isinstance(value, (int, float, torch.SymInt, torch.SymFloat))
    return 0 if data and is_number else value


def _bilinear(
    op: Emitter,
    call: Callable[[Mapping[str, Any]], Any],
    named: Mapping[str, Any],
    roles: tuple[str, str, str],
) -> ir.Value:
    left, right, added = roles
    if left not in named or right not in named:
        raise Refusal("it has no lowering for complex numbers")
    (a, b), (c, d) = halves(op, named[left]), halves(op, named[right])
    bias = named.get(added)
    e, f = (None, None) if bias is None else halves(op, bias)

    def times(x: ir.Value, y: ir.Value, term: ir.Value | None = None) -> Any:
        given = {**named, left: x, right: y}
        return call(given if bias is None else {**given, added: term})

    re = times(a, c, e)
    if b is not None and d is not None:
        re = op.Sub(re, times(b, d))
    crosses = [(x, y) for x, y in ((a, d), (b, c)) if x is not None and y is not None]
    if not crosses:
        return pair(op, re, f)
    im = times(*crosses[0], f)
    for x, y in crosses[1:]:
        im = op.Add(im, times(x, y))
    return pair(op, re, im)


def _spread(
    op: Emitter, call: Callable[[Mapping[str, Any]], Any], named: Mapping[str, Any], name: str
) -> Any:
    """Variances of the parts add up."""
    a, b = (call({key: _part(op, value, which, False) for key, value in named.items()})
            for which in (0, 1))  # fmt: skip
    if isinstance(a, (list, tuple)):
        return _added(op, a[0], b[0], name), pair(op, a[1], b[1])
    return _added(op, a, b, name)


def _added(op: Emitter, a: ir.Value, b: ir.Value, name: str) -> ir.Value:
    if name.startswith("var"):
        return op.Add(a, b)  # type: ignore[no-any-return]
    return op.Sqrt(op.Add(op.Mul(a, a), op.Mul(b, b)))  # type: ignore[no-any-return]


def _described(op: Emitter, result: Any, out: Any) -> Any:
    if isinstance(result, ir.Value) and isinstance(out, torch.Tensor):
        op.describe(result, tuple(out.shape))
    elif isinstance(result, (list, tuple)) and isinstance(out, (list, tuple)):
        for one, like in zip(result, out, strict=True):
            _described(op, one, like)
    return result


def _named(target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in target._schema.arguments]
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _arranged(target: OpOverload, named: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional again, as far as the schema allows without gaps."""
    given: list[Any] = []
    rest = dict(named)
    for argument in target._schema.arguments:
        if argument.kwarg_only or argument.name not in rest:
            break
        given.append(rest.pop(argument.name))
    return given, rest


def _real(out: Any, mode: Any) -> Any:
    """What torch would say the result is, had it been real."""
    if isinstance(out, (list, tuple)):
        return type(out)(_real(item, mode) for item in out)
    if not isinstance(out, torch.Tensor) or not out.is_complex():
        return out
    with mode:
        return torch.empty(tuple(out.shape), dtype=REAL[out.dtype])
