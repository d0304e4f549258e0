"""Complex tensors as pairs of reals: the file has a last axis of two, real part and imaginary.

A value that stands for a complex tensor has the dtype of its parts, `meta["complex"]`, and in
`meta["shape"]` the shape torch knows, without the axis of two. Operators are emitted on its parts,
or on `stored(op, x)`, which is the same tensor taken for what the file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import result_type
from onnxpert.lower.shapes import broadcast, equal

if TYPE_CHECKING:
    from onnxpert.lower.emitter import Emitter

LAYOUT = "pairs of reals on the last axis"
REAL = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}
COMPLEX = {real: whole for whole, real in REAL.items()}
Parts = tuple[ir.Value, ir.Value | None]  # None: zero everywhere


def is_complex(value: Any) -> bool:
    return isinstance(value, ir.Value) and bool(value.meta.get("complex"))


def involved(value: Any) -> bool:
    """Whether there is a complex tensor, fake tensor or number somewhere in nested arguments."""
    if isinstance(value, (list, tuple)):
        return any(map(involved, value))
    if isinstance(value, dict):
        return any(map(involved, value.values()))
    if isinstance(value, torch.Tensor):
        return value.is_complex()
    return is_complex(value) or isinstance(value, complex)


def dtype_of(op: Emitter, value: ir.Value) -> torch.dtype:
    """The dtype torch knows: complex64 where the file has pairs of float32."""
    own = op.dtype(value)
    return COMPLEX[own] if is_complex(value) else own


def common_dtype(op: Emitter, *values: Any) -> torch.dtype:
    """torch's promotion, complex numbers included."""
    return result_type(
        *(
            (dtype_of(op, value), op.rank(value)) if isinstance(value, ir.Value) else value
            for value in values
        )
    )


# ---- the whole ---------------------------------------------------------------------------------


def as_complex(op: Emitter, pairs: ir.Value) -> ir.Value:
    """A tensor whose last axis is two, from here on taken for complex numbers."""
    sizes = pairs.meta["shape"]
    value = op.renamed(pairs)
    value.meta["stored"] = pairs
    return mark(op, value, sizes[:-1])


def mark(op: Emitter, value: ir.Value, sizes: Any) -> ir.Value:
    """Say of a value that it is complex, and of which shape."""
    value.meta["complex"] = True
    return op.describe(value, sizes)


def stored(op: Emitter, value: ir.Value) -> ir.Value:
    """What the file has of a complex value: reals, with a last axis of two."""
    known = value.meta.get("stored")
    if known is not None:
        return known  # type: ignore[no-any-return]
    pairs = op.renamed(value)
    return op.describe(pairs, (*value.meta["shape"], 2), op.dtype(value))


def constant(op: Emitter, tensor: torch.Tensor) -> ir.Value:
    """A constant of any dtype."""
    if not tensor.is_complex():
        return op.const(tensor)
    return as_complex(op, op.const(as_pairs(tensor)))


def as_pairs(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor.detach().resolve_conj()).contiguous()


# ---- the parts ---------------------------------------------------------------------------------


def parts(op: Emitter, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The real and the imaginary part of a complex value."""
    known = value.meta.get("parts")
    if known is not None:
        return known  # type: ignore[no-any-return]
    pairs = stored(op, value)
    axis = op.rank(pairs) - 1
    re, im = (op.Gather(pairs, op.const(which, torch.int64), axis=axis) for which in (0, 1))
    return re, im


def halves(op: Emitter, value: Any, dtype: torch.dtype | None = None) -> Parts:
    """The parts of a tensor or number, complex or not, in a real dtype if one is given."""
    re: Any = value
    im: Any = None
    if is_complex(value):
        re, im = parts(op, value)
    elif isinstance(value, complex):
        re, im = value.real, value.imag
    return op.scalar(re, dtype), None if im is None else op.scalar(im, dtype)


def promoted(op: Emitter, *values: Any) -> list[Parts]:
    """The parts of operands in the dtype that torch promotes them to."""
    common = common_dtype(op, *values)
    if not (common.is_complex or common.is_floating_point):
        common = torch.get_default_dtype()
    real = REAL.get(common, common)
    return [halves(op, value, real) for value in values]


def pair(op: Emitter, re: ir.Value, im: ir.Value | None) -> ir.Value:
    """The complex value of two parts, which may broadcast against each other."""
    if im is None:
        im = zeros(op, re)
    sizes = broadcast(op.shape(re), op.shape(im))
    if not equal(op.shape(re), op.shape(im)):
        re, im = op.expand(re, sizes), op.expand(im, sizes)
    axis = len(sizes)
    pairs = op.Concat(op.unsqueeze(re, axis), op.unsqueeze(im, axis), axis=axis)
    value = as_complex(op, op.describe(pairs, (*sizes, 2)))
    value.meta["parts"] = (re, im)
    return value


def zeros(op: Emitter, like: ir.Value) -> ir.Value:
    return op.expand(op.const(0, op.dtype(like)), op.shape(like))


def converted(op: Emitter, value: ir.Value, dtype: torch.dtype) -> ir.Value:
    """To another dtype, as torch converts: a real one takes the real part."""
    if dtype == dtype_of(op, value):
        return value
    re, im = halves(op, value)
    if dtype is torch.bool and im is not None:
        return op.Or(op.cast(re, dtype), op.cast(im, dtype))  # type: ignore[no-any-return]
    if not dtype.is_complex:
        return op.cast(re, dtype)
    wide = REAL[dtype]
    return pair(op, op.cast(re, wide), None if im is None else op.cast(im, wide))
