"""Matrix products: linear, matmul, addmm and their kin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.quantised_product import product as quantised_product
from onnxpert.lower.shapes import matmul as product_shape
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, same

aten = torch.ops.aten

_NARROW = {torch.uint8, torch.int8, torch.int16}  # multiplied in int32: wrapping back is the same
_GEMM = {torch.float32, torch.float64, torch.float16}


def in_wide(op: Emitter, call: Callable[..., ir.Value], *values: ir.Value) -> ir.Value:
    """`call(*values)` in a dtype that ONNX Runtime multiplies matrices in."""
    own = op.dtype(values[0])
    if own not in _NARROW:
        return call(*values)
    return op.cast(call(*(op.cast(value, torch.int32) for value in values)), own)


def swapped(op: Emitter, x: ir.Value) -> ir.Value:
    """The last two axes exchanged, as runtimes fold it into the product that follows."""
    rank = op.rank(x)
    return op.Transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2])


def scaled(op: Emitter, x: ir.Value, factor: Any) -> ir.Value:
    """`x * factor`, without a node where the factor is one."""
    if isinstance(factor, (int, float)) and factor == 1:
        return x
    return op.Mul(x, op.scalar(factor, op.dtype(x)))


@lowering(aten.linear.default)
def linear(
    op: Emitter, input: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    quantised = quantised_product(op, input, weight, bias)
    if quantised is not None:
        return quantised
    # The weight keeps the layout of the state dict; runtimes fold the transpose when they load.
    if op.rank(input) == 2 and op.rank(weight) == 2 and op.dtype(input) in _GEMM:
        return op.Gemm(input, weight, bias, transB=1)
    turned = swapped(op, weight) if op.rank(weight) == 2 else weight
    result = matmul(op, input, turned)
    return result if bias is None else op.Add(result, bias)


@lowering(
    aten.matmul.default,
    aten.linalg_matmul.default,
    aten.mm.default,
    aten._sparse_mm.default,
    aten.bmm.default,
    aten.mv.default,
    aten.dot.default,
    aten.vdot.default,
)
def matmul(op: Emitter, self: ir.Value, other: ir.Value) -> ir.Value:
    if op.rank(self) and same(op.shape(self)[-1], 0):
        # ONNX Runtime leaves whatever lay in memory where a batch of products sums over nothing.
        sizes = product_shape(op.shape(self), op.shape(other))
        return op.expand(op.scalar(0, op.dtype(self)), sizes)
    if op.rank(self) and op.shared.may_be_empty(op.shape(self)[-1]):
        # The same, where other sizes are asked for as well: one more term, which is nothing.
        self, other = _one_more(op, self, -1), _one_more(op, other, -2)
    if op.rank(other) == 1 and op.rank(self) >= 2:
        # ONNX Runtime fuses a transpose before a product with a vector, and gets it wrong (1.31):
        # the vector goes in as a column.
        column = in_wide(op, op.MatMul, self, op.unsqueeze(other, 1))
        return op.squeeze(column, -1)
    return in_wide(op, op.MatMul, self, other)


def _one_more(op: Emitter, x: ir.Value, axis: int) -> ir.Value:
    """A zero at the end of an axis; a vector has only one."""
    sizes = [*op.shape(x)]
    axis = axis if len(sizes) > 1 else -1
    sizes[axis] = 1
    return op.Concat(x, op.expand(op.scalar(0, op.dtype(x)), sizes), axis=axis)


def _added(
    op: Emitter, term: ir.Value, result: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    """`beta * term + alpha * result`; a zero beta drops the term, NaNs and all."""
    own = op.dtype(term)
    wide = torch.int32 if own in _NARROW else own
    total = scaled(op, op.cast(result, wide), alpha)
    if not (isinstance(beta, (int, float)) and beta == 0):
        total = op.Add(scaled(op, op.cast(term, wide), beta), total)
    elif op.rank(total) < op.rank(term):
        total = op.Expand(total, op.ints(op.shape(term)))
    return op.cast(total, own)


@lowering(aten.addmm.default)
def addmm(
    op: Emitter, self: ir.Value, mat1: ir.Value, mat2: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    numbers = isinstance(beta, (int, float)) and isinstance(alpha, (int, float))
    # Over an inner size of nothing ONNX Runtime's Gemm forgets its beta.
    if numbers and op.dtype(mat1) in _GEMM and not same(op.shape(mat1)[1], 0):
        term = None if beta == 0 else self
        return op.Gemm(mat1, mat2, term, alpha=float(alpha), beta=float(beta))
    return _added(op, self, matmul(op, mat1, mat2), beta, alpha)


@lowering(aten._addmm_activation.default)
def addmm_activation(
    op: Emitter,
    self: ir.Value,
    mat1: ir.Value,
    mat2: ir.Value,
    beta: Any = 1,
    alpha: Any = 1,
    use_gelu: bool = False,
) -> ir.Value:
    from onnxpert.lower.aten.activation import gelu, relu

    result = addmm(op, self, mat1, mat2, beta, alpha)
    return gelu(op, result) if use_gelu else relu(op, result)


@lowering(aten.addmv.default)
def addmv(
    op: Emitter, self: ir.Value, mat: ir.Value, vec: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    return _added(op, self, matmul(op, mat, vec), beta, alpha)


@lowering(aten.baddbmm.default, aten.baddbmm.dtype)
def baddbmm(
    op: Emitter,
    self: ir.Value,
    batch1: ir.Value,
    batch2: ir.Value,
    out_dtype: torch.dtype | None = None,
    beta: Any = 1,
    alpha: Any = 1,
) -> ir.Value:
    own = out_dtype or op.dtype(self)
    result = matmul(op, op.cast(batch1, own), op.cast(batch2, own))
    return _added(op, op.cast(self, own), result, beta, alpha)


@lowering(aten.addbmm.default)
def addbmm(
    op: Emitter, self: ir.Value, batch1: ir.Value, batch2: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    # The sum over the batch is the product over batch and inner axis together: one matrix product.
    batch, rows, inner = op.shape(batch1)
    left = op.reshape(op.Transpose(batch1, perm=[1, 0, 2]), (rows, batch * inner))
    right = op.reshape(batch2, (batch * inner, op.shape(batch2)[2]))
    return addmm(op, self, left, right, beta, alpha)


@lowering(aten.outer.default, aten.ger.default)
def outer(op: Emitter, self: ir.Value, vec2: ir.Value) -> ir.Value:
    wide = op.result_type(self, vec2)
    if wide is torch.bool:
        return op.And(op.unsqueeze(self, 1), vec2)
    column, row = op.unsqueeze(op.cast(self, wide), 1), op.cast(vec2, wide)
    return in_wide(op, op.Mul, column, row)


@lowering(aten.addr.default)
def addr(
    op: Emitter, self: ir.Value, vec1: ir.Value, vec2: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    wide = op.result_type(self, vec1, vec2)
    if wide is torch.bool:
        both = outer(op, vec1, vec2) if alpha else op.And(outer(op, vec1, vec2), False)
        return op.Or(self, both) if beta else both
    return _added(op, op.cast(self, wide), op.cast(outer(op, vec1, vec2), wide), beta, alpha)


@lowering(aten.inner.default)
def inner(op: Emitter, self: ir.Value, other: ir.Value) -> ir.Value:
    if op.rank(self) == 0 or op.rank(other) == 0:
        return in_wide(op, op.Mul, self, other)
    if op.rank(other) <= 2:
        return matmul(op, self, swapped(op, other) if op.rank(other) == 2 else other)
    return tensordot(op, self, other, [-1], [-1])


@lowering(aten.linalg_vecdot.default)
def vecdot(op: Emitter, x: ir.Value, y: ir.Value, dim: int = -1) -> ir.Value:
    def call(a: ir.Value, b: ir.Value) -> ir.Value:
        axis = dim % max(op.rank(a), op.rank(b))
        return op.reduce("ReduceSum", op.Mul(a, b), [axis], False)

    return in_wide(op, call, x, y)


@lowering(aten.chain_matmul.default, aten.linalg_multi_dot.default)
def multi_dot(op: Emitter, matrices: Sequence[ir.Value]) -> ir.Value:
    sizes = [op.shape(matrix) for matrix in matrices]
    if any(not isinstance(size, int) for shape in sizes for size in shape):
        return functools.reduce(lambda a, b: matmul(op, a, b), matrices)
    first, last = sizes[0], sizes[-1]
    ends = [1 if len(first) == 1 else first[0], *(shape[-1] for shape in sizes[:-1])]
    ends[1] = first[-1]
    edges = [*ends, 1 if len(last) == 1 else last[-1]]
    return _chained(op, matrices, edges)


def _chained(op: Emitter, matrices: Sequence[ir.Value], edges: Sequence[int]) -> ir.Value:
    """The product in the order that multiplies fewest numbers; edges are the sizes between."""

    @functools.cache
    def best(start: int, stop: int) -> tuple[int, int]:
        if stop - start == 1:
            return 0, start
        return min(
            (
                best(start, middle)[0]
                + best(middle, stop)[0]
                + edges[start] * edges[middle] * edges[stop],
                middle,
            )
            for middle in range(start + 1, stop)
        )

    def build(start: int, stop: int) -> ir.Value:
        if stop - start == 1:
            return matrices[start]
        middle = best(start, stop)[1]
        return matmul(op, build(start, middle), build(middle, stop))

    return build(0, len(matrices))


@lowering(aten.tensordot.default)
def tensordot(
    op: Emitter,
    self: ir.Value,
    other: ir.Value,
    dims_self: Sequence[int],
    dims_other: Sequence[int],
) -> ir.Value:
    left, right = _kept(op, self, dims_self), _kept(op, other, dims_other)
    shapes = op.shape(self), op.shape(other)
    summed_self = [dim % len(shapes[0]) for dim in dims_self]
    summed_other = [dim % len(shapes[1]) for dim in dims_other]
    for one, two in zip(summed_self, summed_other, strict=True):
        # A size of one is summed against any size: the other side is summed on its own first.
        if not same(shapes[0][one], shapes[1][two]):
            self = op.reduce("ReduceSum", self, [one], True) if _is_one(shapes[1][two]) else self
            other = op.reduce("ReduceSum", other, [two], True) if _is_one(shapes[0][one]) else other
            shapes = op.shape(self), op.shape(other)
    rows, columns = [shapes[0][axis] for axis in left], [shapes[1][axis] for axis in right]
    depth = product([shapes[0][axis] for axis in summed_self])
    a = op.reshape(op.Transpose(self, perm=[*left, *summed_self]), (product(rows), depth))
    b = op.reshape(op.Transpose(other, perm=[*summed_other, *right]), (depth, product(columns)))
    return op.reshape(matmul(op, a, b), (*rows, *columns))


def _kept(op: Emitter, x: ir.Value, dims: Sequence[int]) -> list[int]:
    rank = op.rank(x)
    summed = {dim % rank for dim in dims}
    return [axis for axis in range(rank) if axis not in summed]


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


@lowering(aten.kron.default)
def kron(op: Emitter, self: ir.Value, other: ir.Value) -> ir.Value:
    wide = op.result_type(self, other)
    rank = max(op.rank(self), op.rank(other))
    shapes = [((1,) * (rank - op.rank(value)) + op.shape(value)) for value in (self, other)]
    spread_self = [size for one in shapes[0] for size in (one, 1)]
    spread_other = [size for one in shapes[1] for size in (1, one)]
    a = op.reshape(op.cast(self, wide), spread_self)
    b = op.reshape(op.cast(other, wide), spread_other)
    grid = op.And(a, b) if wide is torch.bool else in_wide(op, op.Mul, a, b)
    return op.reshape(grid, [one * two for one, two in zip(*shapes, strict=True)])


@lowering(aten.bilinear.default)
def bilinear(
    op: Emitter,
    input1: ir.Value,
    input2: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
) -> ir.Value:
    # (x1 W_o) . x2 for every output o: one wide product for all o, then a product per row.
    out, first, second = op.shape(weight)
    leading = op.shape(input1)[:-1]
    wide = op.reshape(op.Transpose(weight, perm=[1, 0, 2]), (first, out * second))
    grid = op.reshape(matmul(op, input1, wide), (*leading, out, second))
    result = op.squeeze(matmul(op, grid, op.unsqueeze(input2, -1)), -1)
    return result if bias is None else op.Add(result, bias)
