"""Shapes of the values inside a lowering: the plain cases, on sizes that may be symbolic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import onnx_ir as ir

from onnxpert.lower.symbols import Size, concrete, same

Shape: TypeAlias = tuple[Size, ...]


def broadcast(*shapes: Shape) -> Shape:
    """The shape that numpy's rule gives; of two unknown sizes the first is taken."""
    rank = max(map(len, shapes), default=0)
    result: list[Size] = []
    for axis in range(-rank, 0):
        sizes = [concrete(shape[axis]) for shape in shapes if len(shape) >= -axis]
        wide = [size for size in sizes if not (isinstance(size, int) and size == 1)]
        fixed = [size for size in wide if isinstance(size, int)]
        result.append(fixed[0] if fixed else wide[0] if wide else 1)
    return tuple(result)


def product(sizes: Sequence[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return concrete(total)


def matmul(a: Shape, b: Shape) -> Shape:
    if len(a) == 1 and len(b) == 1:
        return ()
    if len(a) == 1:
        return (*b[:-2], b[-1])
    if len(b) == 1:
        return a[:-1]
    return (*broadcast(a[:-2], b[:-2]), a[-2], b[-1])


def _ints(value: ir.Value | None) -> list[int] | None:
    if value is None or value.const_value is None:
        return None
    return [int(item) for item in value.const_value.numpy().reshape(-1)]


def _unsqueezed(
    shapes: Sequence[Shape], inputs: Sequence[Any], _: Mapping[str, Any]
) -> Shape | None:
    axes = _ints(inputs[1])
    if axes is None:
        return None
    rank = len(shapes[0]) + len(axes)
    places = {axis % rank for axis in axes}
    rest = iter(shapes[0])
    return tuple(1 if axis in places else next(rest) for axis in range(rank))


def _squeezed(shapes: Sequence[Shape], inputs: Sequence[Any], _: Mapping[str, Any]) -> Shape | None:
    axes = _ints(inputs[1]) if len(inputs) > 1 else None
    if axes is None:
        return None
    places = {axis % len(shapes[0]) for axis in axes}
    return tuple(size for axis, size in enumerate(shapes[0]) if axis not in places)


def _transposed(
    shapes: Sequence[Shape], _: Sequence[Any], attributes: Mapping[str, Any]
) -> Shape | None:
    order = attributes.get("perm") or range(len(shapes[0]) - 1, -1, -1)
    return tuple(shapes[0][axis] for axis in order)


def _concatenated(
    shapes: Sequence[Shape], _: Sequence[Any], attributes: Mapping[str, Any]
) -> Shape | None:
    axis = attributes["axis"] % len(shapes[0])
    total: Size = 0
    for shape in shapes:
        total = total + shape[axis]
    return (*shapes[0][:axis], concrete(total), *shapes[0][axis + 1 :])


def _reduced(
    shapes: Sequence[Shape], inputs: Sequence[Any], attributes: Mapping[str, Any]
) -> Shape | None:
    keep = attributes.get("keepdims", 1)
    axes = attributes.get("axes")
    if axes is None and len(inputs) > 1 and inputs[1] is not None:
        axes = _ints(inputs[1])
        if axes is None:
            return None
    rank = len(shapes[0])
    places = {axis % rank for axis in axes} if axes else set(range(rank))
    if keep:
        return tuple(1 if axis in places else size for axis, size in enumerate(shapes[0]))
    return tuple(size for axis, size in enumerate(shapes[0]) if axis not in places)


def _arg_reduced(
    shapes: Sequence[Shape], _: Sequence[Any], attributes: Mapping[str, Any]
) -> Shape | None:
    axis = attributes.get("axis", 0) % len(shapes[0])
    middle = (1,) if attributes.get("keepdims", 1) else ()
    return (*shapes[0][:axis], *middle, *shapes[0][axis + 1 :])


def _gathered(
    shapes: Sequence[Shape], _: Sequence[Any], attributes: Mapping[str, Any]
) -> Shape | None:
    axis = attributes.get("axis", 0) % len(shapes[0])
    return (*shapes[0][:axis], *shapes[1], *shapes[0][axis + 1 :])


def _gemm(shapes: Sequence[Shape], _: Sequence[Any], attributes: Mapping[str, Any]) -> Shape | None:
    rows = shapes[0][1 if attributes.get("transA") else 0]
    columns = shapes[1][0 if attributes.get("transB") else 1]
    return rows, columns


_RULES: dict[str, Callable[[Sequence[Shape], Sequence[Any], Mapping[str, Any]], Shape | None]] = {
    "Unsqueeze": _unsqueezed,
    "Squeeze": _squeezed,
    "Transpose": _transposed,
    "Concat": _concatenated,
    "Gather": _gathered,
    "GatherElements": lambda shapes, inputs, attributes: shapes[1],
    "Gemm": _gemm,
    "MatMul": lambda shapes, inputs, attributes: matmul(shapes[0], shapes[1]),
    "ArgMax": _arg_reduced,
    "ArgMin": _arg_reduced,
    "Shape": lambda shapes, inputs, attributes: (
        len(shapes[0][attributes.get("start", 0) : attributes.get("end", len(shapes[0]))]),
    ),
    "Size": lambda shapes, inputs, attributes: (),
}
_LIKE_FIRST = frozenset(
    [
        "Cast",
        "CastLike",
        "Identity",
        "Relu",
        "Sigmoid",
        "Tanh",
        "Sqrt",
        "Exp",
        "Log",
        "Neg",
        "Abs",
        "Erf",
        "Softmax",
        "LogSoftmax",
        "Floor",
        "Ceil",
        "Round",
        "Reciprocal",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Not",
        "Sign",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Celu",
        "Softplus",
        "Softsign",
        "HardSigmoid",
        "HardSwish",
        "Gelu",
        "Mish",
        "Clip",
        "CumSum",
        "LayerNormalization",
        "RMSNormalization",
        "InstanceNormalization",
        "BatchNormalization",
        "GroupNormalization",
        "Trilu",
        "IsNaN",
        "IsInf",
        "ScatterElements",
        "ScatterND",
        "ReverseSequence",
        "LpNormalization",
        "BitwiseNot",
        "Hardmax",
        "ThresholdedRelu",
        "QuantizeLinear",
        "DequantizeLinear",
        "Dropout",
        "LRN",
    ]
)
_BROADCAST = frozenset(
    [
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Pow",
        "Mod",
        "Max",
        "Min",
        "Equal",
        "Less",
        "Greater",
        "LessOrEqual",
        "GreaterOrEqual",
        "And",
        "Or",
        "Xor",
        "Where",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "BitShift",
        "PRelu",
        "Mean",
        "Sum",
    ]
)


def infer(
    op_type: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any]
) -> Shape | None:
    """The shape of the first output, where it is plain; None where it is not."""
    present = [value for value in inputs if value is not None]
    shapes: list[Shape] = [value.meta["shape"] for value in present if "shape" in value.meta]
    if not shapes or len(shapes) != len(present):
        return None
    if op_type in _LIKE_FIRST:
        return tuple(shapes[0])
    if op_type in _BROADCAST:
        return broadcast(*shapes)
    if op_type.startswith("Reduce"):
        return _reduced(shapes, inputs, attributes)
    rule = _RULES.get(op_type)
    return rule(shapes, inputs, attributes) if rule else None


def equal(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
