"""Turns: a step repeated on matrices, by a Loop; what linear algebra is counted out with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.shapes import Shape
from onnxpert.lower.symbols import Size, same

# (emitter of the body, which turn it is, what is carried so far) -> what is carried on
Step: TypeAlias = Callable[[Emitter, ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]
# (emitter of the body, what is carried on) -> whether there is another turn, 0-d
Going: TypeAlias = Callable[[Emitter, Sequence[ir.Value]], ir.Value]


def turns(
    op: Emitter,
    times: Size | ir.Value,
    starts: Sequence[ir.Value],
    step: Step,
    going: Going | None = None,
) -> tuple[ir.Value, ...]:
    """What `step` makes of `starts` in so many turns, or in fewer when `going` says so.

    What is carried keeps its shape and dtype."""
    body = op.scope()
    turn = _formal(op, (), torch.int64)
    before = _formal(op, (), torch.bool)
    carried = [_formal(op, op.shape(start), op.dtype(start)) for start in starts]
    results = list(step(body, turn, carried))
    another = before if going is None else going(body, results)
    outputs = [_given(body, another, ())]
    for result, start in zip(results, starts, strict=True):
        outputs.append(_given(body, result, op.shape(start)))
    graph = ir.Graph(
        [turn, before, *carried],
        outputs,
        nodes=body.nodes,
        name=op.shared.nodes.unique("turns"),
    )
    made = op.emit(
        "Loop",
        op.scalar(times, torch.int64),
        op.const(True, torch.bool),
        *starts,
        body=graph,
        _outputs=len(starts),
    )
    made = (made,) if len(starts) == 1 else made
    return tuple(
        op.describe(value, op.shape(start), op.dtype(start))
        for value, start in zip(made, starts, strict=True)
    )


def _formal(op: Emitter, shape: Shape, dtype: torch.dtype) -> ir.Value:
    value = ir.Value(name=op.shared.values.unique("turn"), type=ir.TensorType(TO_ONNX[dtype]))
    value.meta["shape"] = shape
    value.shape = _known(shape)
    return value


def _known(shape: Shape) -> ir.Shape:
    return ir.Shape([size if isinstance(size, int) else None for size in shape])


def _given(body: Emitter, value: ir.Value, shape: Shape) -> ir.Value:
    """An output of the body: a node's own, for neither an input nor a value outside may be one."""
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.name = body.shared.nodes.unique("turn/Identity")
    (output,) = node.outputs
    output.name = body.shared.values.unique("turn")
    output.dtype = TO_ONNX[body.dtype(value)]
    output.shape = _known(shape)
    body.nodes.append(node)
    return output


# ---- places in a matrix --------------------------------------------------------------------


def places(op: Emitter, size: Size) -> ir.Value:
    return count(op, size)


def down(op: Emitter, vector: ir.Value) -> ir.Value:
    """A vector as a column."""
    return op.unsqueeze(vector, op.rank(vector))


def across(op: Emitter, vector: ir.Value) -> ir.Value:
    """A vector as a row."""
    return op.unsqueeze(vector, op.rank(vector) - 1)


def column_of(op: Emitter, x: ir.Value, index: ir.Value) -> ir.Value:
    """One column of each matrix, or one element of each vector (as a 0-d index asks for it)."""
    return op.Gather(x, index, axis=op.rank(x) - 1)


def row_of(op: Emitter, x: ir.Value, index: ir.Value) -> ir.Value:
    return op.Gather(x, index, axis=op.rank(x) - 2)


def on_diagonal(op: Emitter, rows: Size, columns: Size) -> ir.Value:
    """Where row and column are the same."""
    return op.Equal(down(op, places(op, rows)), places(op, columns))


def diagonal_of(op: Emitter, x: ir.Value) -> ir.Value:
    """The diagonal, with a zero for every column that has none."""
    *_, rows, columns = op.shape(x)
    zero = op.scalar(0, op.dtype(x))
    return op.reduce(
        "ReduceSum", op.Where(on_diagonal(op, rows, columns), x, zero), [op.rank(x) - 2], False
    )


def identity(op: Emitter, rows: Size, columns: Size, dtype: torch.dtype) -> ir.Value:
    return op.cast(on_diagonal(op, rows, columns), dtype)


def _is_empty(op: Emitter, x: ir.Value) -> bool:
    """Known to have no element: ONNX Runtime refuses to gather none."""
    return any(same(size, 0) for size in op.shape(x))


def rows_at(op: Emitter, x: ir.Value, order: ir.Value) -> ir.Value:
    """The rows of each matrix in another order; there is one for each."""
    if _is_empty(op, x):
        return x
    index = op.expand(down(op, order), (*op.shape(order), op.shape(x)[-1]))
    return op.GatherElements(x, index, axis=op.rank(x) - 2)


def columns_at(op: Emitter, x: ir.Value, order: ir.Value) -> ir.Value:
    """The same of the columns."""
    if _is_empty(op, x):
        return x
    *batch, rows, _ = op.shape(x)
    index = op.expand(across(op, order), (*batch, rows, op.shape(order)[-1]))
    return op.GatherElements(x, index, axis=op.rank(x) - 1)


def leading(op: Emitter, x: ir.Value, size: Size, axis: int) -> ir.Value:
    """The first so many rows or columns."""
    sizes = list(op.shape(x))
    if same(sizes[axis], size):
        return x
    sizes[axis] = size
    place = axis % len(sizes)
    return op.describe(op.Slice(x, op.ints([0]), op.ints([size]), op.ints([place])), sizes)
