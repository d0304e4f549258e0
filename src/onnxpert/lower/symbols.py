"""Symbolic sizes: from torch's sympy expressions to int64 values of the graph, each computed once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx_ir as ir
import sympy
import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxpert.lower.logarithms import to_base

if TYPE_CHECKING:
    from onnxpert.lower.emitter import Emitter

Size: TypeAlias = Any  # int | torch.SymInt
Expr: TypeAlias = Any  # sympy.Expr
_MOST_TERMS = 30


def expression(value: Any) -> Expr:
    """The sympy expression of a SymInt, SymFloat or SymBool (or of a plain number)."""
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return value.node.expr
    return sympy.sympify(value)


def concrete(size: Size) -> Size:
    """A plain int where the size is known, else the SymInt itself."""
    if isinstance(size, torch.SymInt):
        expr = size.node.expr
        return int(expr) if expr.is_number else size
    return size


def same(a: Size, b: Size) -> bool:
    """Whether two sizes are known to be equal, without asking for (and recording) a guard."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return bool(expression(a) == expression(b))


def is_static(*sizes: Size) -> bool:
    return all(isinstance(concrete(size), int) for size in sizes)


def is_of_data(size: Size) -> bool:
    """Whether the sizes of the inputs do not tell it."""
    return isinstance(size, torch.SymInt) and not size.node.has_hint()


def may_be_negative(place: Size) -> bool:
    """Of a number that only the data know; a place that sizes make is where the example has it. What is
    long may be: torch would think about it for long, and to be told costs the file one node."""
    if not is_of_data(place):
        return False
    return _is_long(place.node.expr) or not statically_known_true(place >= 0)


@functools.lru_cache(4096)
def _is_long(expr: Expr) -> bool:
    return any(count > _MOST_TERMS for count, _ in enumerate(sympy.preorder_traversal(expr)))


def is_negative(place: Size) -> bool:
    """Of a number, or of what sizes make, which is on the side of zero where the example has it."""
    if isinstance(place, torch.SymInt):
        return place.node.has_hint() and int(place.node.hint) < 0
    return bool(place < 0)


def may_be_zero(size: Size) -> bool:
    """Whether nothing may be there in a run: of what is left of a size, and of what data count."""
    if not isinstance(size, torch.SymInt):
        return bool(size == 0)
    expr, ranges = size.node.expr, size.node.shape_env.var_to_range
    if expr.is_number or (expr.is_Symbol and size.node.has_hint()):
        return bool(expr == 0)
    # torch starts what varies at 2, and takes 0 and 1 for constants.
    least = {one: min(ranges[one].lower, 1) for one in expr.free_symbols if one in ranges}
    try:
        lowest = expr.xreplace(least)
    except (ZeroDivisionError, AssertionError):  # a size of 1 makes no sense to it
        return True
    return not (lowest.is_number and lowest > 0)


class Emission:
    """Emits one expression as a chain of ONNX nodes on tensors of shape [1]."""

    def __init__(self, op: Emitter) -> None:
        self.op = op

    def emit(self, expr: Expr) -> ir.Value:
        handler = _HANDLERS.get(type(expr).__name__)
        if handler is not None:
            return handler(self, expr)
        if expr.is_Integer:
            return self.op.const([int(expr)], torch.int64)
        if expr.is_number:
            return self.op.const([float(expr)], torch.float64)
        raise NotImplementedError(f"the size expression {expr} ({type(expr).__name__})")

    def arg(self, expr: Expr) -> ir.Value:
        return self.op.size_of(expr)

    def floats(self, *exprs: Expr) -> list[ir.Value]:
        return [self.op.cast(self.arg(expr), torch.float64) for expr in exprs]

    def alike(self, *exprs: Expr) -> list[ir.Value]:
        """The arguments in one dtype: float64 if any of them is a float."""
        values = [self.arg(expr) for expr in exprs]
        if any(value.dtype == ir.DataType.DOUBLE for value in values):
            return [self.op.cast(value, torch.float64) for value in values]
        return values


def _chain(name: str) -> Callable[[Emission, Expr], ir.Value]:
    def handle(self: Emission, expr: Expr) -> ir.Value:
        return functools.reduce(getattr(self.op, name), self.alike(*expr.args))

    return handle


def _binary(name: str) -> Callable[[Emission, Expr], ir.Value]:
    def handle(self: Emission, expr: Expr) -> ir.Value:
        return self.op.emit(name, *self.alike(*expr.args))

    return handle


def _float_unary(name: str) -> Callable[[Emission, Expr], ir.Value]:
    def handle(self: Emission, expr: Expr) -> ir.Value:
        return self.op.emit(name, *self.floats(expr.args[0]))

    return handle


def _rounded(name: str) -> Callable[[Emission, Expr], ir.Value]:
    def handle(self: Emission, expr: Expr) -> ir.Value:
        (value,) = self.floats(expr.args[0])
        return self.op.cast(self.op.emit(name, value), torch.int64)

    return handle


def _mul(self: Emission, expr: Expr) -> ir.Value:
    numerator, denominator = expr.as_numer_denom()
    if denominator != 1:  # a rational factor: torch only makes these where they divide evenly
        return self.op.Div(self.arg(numerator), self.arg(denominator))
    return _chain("Mul")(self, expr)


def _pow(self: Emission, expr: Expr) -> ir.Value:
    base, exponent = expr.args
    if exponent.is_Integer and 0 < int(exponent) <= 4 and base.is_integer:
        value = self.arg(base)
        return functools.reduce(self.op.Mul, [value] * int(exponent))
    return self.op.Pow(*self.floats(base, exponent))


def _pow_by_natural(self: Emission, expr: Expr) -> ir.Value:
    """Whole numbers only, and a whole number."""
    base, exponent = expr.args
    if exponent.is_Integer:
        return _pow(self, expr)
    return self.op.Pow(self.arg(base), self.arg(exponent))


def _floor_div(self: Emission, expr: Expr) -> ir.Value:
    a, b = self.alike(*expr.args)
    if a.dtype == ir.DataType.DOUBLE:
        return self.op.Floor(self.op.Div(a, b))
    if expr.args[0].is_nonnegative and expr.args[1].is_positive:
        return self.op.Div(a, b)
    # ONNX divides towards zero, Python towards minus infinity.
    return self.op.Div(self.op.Sub(a, self.op.Mod(a, b)), b)


def _mod(self: Emission, expr: Expr) -> ir.Value:
    a, b = self.alike(*expr.args)
    if a.dtype != ir.DataType.DOUBLE:
        return self.op.Mod(a, b)
    return self.op.Sub(a, self.op.Mul(self.op.Floor(self.op.Div(a, b)), b))


def _trunc(self: Emission, expr: Expr) -> ir.Value:
    return self.op.cast(self.floats(expr.args[0])[0], torch.int64)


def _to_float(self: Emission, expr: Expr) -> ir.Value:
    return self.floats(expr.args[0])[0]


def _true_div(self: Emission, expr: Expr) -> ir.Value:
    return self.op.Div(*self.floats(*expr.args))


def _identity(self: Emission, expr: Expr) -> ir.Value:
    return self.arg(expr.args[0])


def _where(self: Emission, expr: Expr) -> ir.Value:
    condition, *sides = expr.args
    return self.op.Where(self.arg(condition), *self.alike(*sides))


def _piecewise(self: Emission, expr: Expr) -> ir.Value:
    *cases, (last, _) = expr.args
    result = self.arg(last)
    for value, condition in reversed(cases):
        result = self.op.Where(self.arg(condition), self.arg(value), result)
    return result


def _not_equal(self: Emission, expr: Expr) -> ir.Value:
    return self.op.Not(self.op.Equal(*self.alike(*expr.args)))


def _not(self: Emission, expr: Expr) -> ir.Value:
    return self.op.Not(self.arg(expr.args[0]))


def _round_decimal(self: Emission, expr: Expr) -> ir.Value:
    value, digits = self.floats(*expr.args)
    scale = self.op.Pow(self.op.const([10.0], torch.float64), digits)
    return self.op.Div(self.op.emit("Round", self.op.Mul(value, scale)), scale)


def _log2(self: Emission, expr: Expr) -> ir.Value:
    return to_base(self.op, 2, *self.floats(expr.args[0]))


def _bitwise(name: str) -> Callable[[Emission, Expr], ir.Value]:
    def handle(self: Emission, expr: Expr) -> ir.Value:
        values = self.alike(*expr.args)
        truths = all(value.dtype == ir.DataType.BOOL for value in values)
        return self.op.emit(name if truths else f"Bitwise{name}", *values)

    return handle


def _shift(*, left: bool) -> Callable[[Emission, Expr], ir.Value]:
    def handle(self: Emission, expr: Expr) -> ir.Value:
        value, count = (self.arg(each) for each in expr.args)
        factor = self.op.Pow(self.op.const([2], torch.int64), count)
        if left:
            return self.op.Mul(value, factor)
        return self.op.Div(self.op.Sub(value, self.op.Mod(value, factor)), factor)

    return handle


def _boolean(value: bool) -> Callable[[Emission, Expr], ir.Value]:
    return lambda self, expr: self.op.const([value], torch.bool)


_HANDLERS: dict[str, Callable[[Emission, Expr], ir.Value]] = {
    "Add": _chain("Add"),
    "Mul": _mul,
    "Pow": _pow,
    "PowByNatural": _pow_by_natural,
    "FloatPow": lambda self, expr: self.op.Pow(*self.floats(*expr.args)),
    "FloorDiv": _floor_div,
    "CleanDiv": _floor_div,
    "Mod": _mod,
    "PythonMod": _mod,
    "Max": _chain("Max"),
    "Min": _chain("Min"),
    "ceiling": _rounded("Ceil"),
    "floor": _rounded("Floor"),
    "CeilToInt": _rounded("Ceil"),
    "FloorToInt": _rounded("Floor"),
    "RoundToInt": _rounded("Round"),
    "TruncToInt": _trunc,
    "TruncToFloat": lambda self, expr: self.op.cast(_trunc(self, expr), torch.float64),
    "ToFloat": _to_float,
    "IntTrueDiv": _true_div,
    "FloatTrueDiv": _true_div,
    "Identity": _identity,
    "Where": _where,
    "ITE": _where,  # of truths
    "Piecewise": _piecewise,
    "RoundDecimal": _round_decimal,
    "OpaqueUnaryFn_log2": _log2,
    **{
        f"OpaqueUnaryFn_{name.lower()}": _float_unary(name)
        for name in (
            *("Sqrt", "Exp", "Log", "Cos", "Sin", "Tan", "Tanh", "Cosh", "Sinh"),
            *("Acos", "Asin", "Atan", "Asinh"),
        )
    },
    "BitwiseFn_bitwise_and": _bitwise("And"),
    "BitwiseFn_bitwise_or": _bitwise("Or"),
    "BitwiseFn_bitwise_xor": _bitwise("Xor"),
    "LShift": _shift(left=True),
    "RShift": _shift(left=False),
    "Abs": lambda self, expr: self.op.Abs(self.arg(expr.args[0])),
    "Equality": _binary("Equal"),
    "Unequality": _not_equal,
    "StrictLessThan": _binary("Less"),
    "StrictGreaterThan": _binary("Greater"),
    "LessThan": _binary("LessOrEqual"),
    "GreaterThan": _binary("GreaterOrEqual"),
    "And": _chain("And"),
    "Or": _chain("Or"),
    "Not": _not,
    "BooleanTrue": _boolean(True),
    "BooleanFalse": _boolean(False),
}
