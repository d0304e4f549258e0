"""Random numbers: drawn anew by the runtime at each run, of the right shape, dtype and distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call
from onnxpert.lower.symbols import Size, concrete, is_static

aten = torch.ops.aten


def _drawn(op: Emitter, name: str, size: Sequence[Size], dtype: torch.dtype) -> ir.Value:
    """`RandomUniform` in [0, 1) or `RandomNormal` of mean 0 and deviation 1."""
    sizes = tuple(map(concrete, size))
    real = torch.float64 if dtype is torch.float64 else torch.float32
    if op.opset >= 22:
        drawn = _of_coins(op, sizes, real) if name == "RandomUniform" else _normal(op, sizes, real)
        return op.cast(op.describe(drawn, sizes, real), dtype)
    kind = TO_ONNX[real]
    if is_static(*sizes) and sizes:
        drawn = op.emit(name, shape=list(sizes), dtype=kind)
    else:
        drawn = op.emit(f"{name}Like", op.expand(op.scalar(0.0, real), sizes), dtype=kind)
    return op.cast(op.describe(drawn, sizes, real), dtype)


def _of_coins(op: Emitter, sizes: Sequence[Size], dtype: torch.dtype) -> ir.Value:
    """A uniform number out of its binary digits, each of which a Dropout keeps or drops.

    From opset 22 on ONNX Runtime has no kernel for the random operators but this one."""
    digits = 53 if dtype is torch.float64 else 24
    ones = op.expand(op.scalar(1.0, torch.float32), (*sizes, digits))
    _, kept = op.emit("Dropout", ones, op.scalar(0.5, torch.float32), True, _outputs=2)
    values = op.const([[2.0 ** -(place + 1)] for place in range(digits)], dtype)
    coins = op.cast(op.describe(kept, (*sizes, digits), torch.bool), dtype)
    return op.reshape(op.describe(op.MatMul(coins, values), (*sizes, 1), dtype), sizes)


def _normal(op: Emitter, sizes: Sequence[Size], dtype: torch.dtype) -> ir.Value:
    """By the rule of Box and Muller, out of two uniform numbers."""
    length, turn = (_of_coins(op, sizes, torch.float64) for _ in range(2))
    radius = op.Sqrt(op.Mul(op.Log(op.Sub(1.0, length)), -2.0))
    angle = op.cast(op.Mul(turn, 2 * torch.pi), torch.float32)
    return op.cast(op.Mul(radius, op.cast(op.Cos(angle), torch.float64)), dtype)


def uniform_numbers(op: Emitter, size: Sequence[Size], dtype: torch.dtype) -> ir.Value:
    """Evenly distributed in [0, 1)."""
    return _drawn(op, "RandomUniform", size, dtype)


def normal_numbers(op: Emitter, size: Sequence[Size], dtype: torch.dtype) -> ir.Value:
    """Normally distributed, mean 0, deviation 1."""
    return _drawn(op, "RandomNormal", size, dtype)


# ---- uniform -------------------------------------------------------------------------------


@lowering(aten.rand.default, aten.rand.generator)
def rand(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return uniform_numbers(op, size, dtype or torch.get_default_dtype())


@lowering(aten.rand_like.default, aten.rand_like.generator)
def rand_like(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return uniform_numbers(op, op.shape(x), dtype or op.dtype(x))


@lowering(aten.uniform.default)
def uniform(op: Emitter, x: ir.Value, low: float = 0.0, high: float = 1.0) -> ir.Value:
    drawn = uniform_numbers(op, op.shape(x), op.dtype(x))
    return call(op, "Add", call(op, "Mul", drawn, high - low), low)


def _whole_numbers(
    op: Emitter, size: Sequence[Size], low: Any, high: Any, dtype: torch.dtype
) -> ir.Value:
    """Whole numbers of [low, high), drawn in float64 so that every one has its chance."""
    drawn = uniform_numbers(op, size, torch.float64)
    first, last = op.scalar(low, torch.float64), op.scalar(high, torch.float64)
    return op.cast(op.Floor(op.Add(op.Mul(drawn, op.Sub(last, first)), first)), dtype)


@lowering(aten.randint.default, aten.randint.generator)
def randint(
    op: Emitter, high: Size, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    return _whole_numbers(op, size, 0, high, dtype or torch.int64)


@lowering(aten.randint.low, aten.randint.low_generator)
def randint_low(
    op: Emitter, low: Size, high: Size, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    return _whole_numbers(op, size, low, high, dtype or torch.int64)


@lowering(
    aten.randint_like.default,
    aten.randint_like.generator,
    aten.randint_like.Tensor,
    aten.randint_like.Tensor_generator,
)
def randint_like(op: Emitter, x: ir.Value, high: Any, dtype: torch.dtype | None = None) -> ir.Value:
    return _whole_numbers(op, op.shape(x), 0, high, dtype or op.dtype(x))


@lowering(aten.randint_like.low_dtype, aten.randint_like.low_generator_dtype)
def randint_like_low(
    op: Emitter, x: ir.Value, low: Size, high: Size, dtype: torch.dtype | None = None
) -> ir.Value:
    return _whole_numbers(op, op.shape(x), low, high, dtype or op.dtype(x))


@lowering(aten.random.to)
def random_to(op: Emitter, x: ir.Value, to: int) -> ir.Value:
    return _whole_numbers(op, op.shape(x), 0, to, op.dtype(x))


@lowering(getattr(aten.random, "from"))
def random_from(op: Emitter, x: ir.Value, low: int, to: int | None) -> ir.Value:
    high = _past_largest(op.dtype(x)) if to is None else to
    return _whole_numbers(op, op.shape(x), low, high, op.dtype(x))


@lowering(aten.random.default)
def random(op: Emitter, x: ir.Value) -> ir.Value:
    return _whole_numbers(op, op.shape(x), 0, _past_largest(op.dtype(x)), op.dtype(x))


def _past_largest(dtype: torch.dtype) -> int:
    """One more than the largest number that torch draws for a dtype; float64 has room for 2**53."""
    digits = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
    if dtype in digits:
        return 2 ** digits[dtype] + 1
    return 2 if dtype is torch.bool else min(torch.iinfo(dtype).max + 1, 2**53)


@lowering(aten.randperm.default, aten.randperm.generator)
def randperm(op: Emitter, n: Size, dtype: torch.dtype | None = None) -> ir.Value:
    drawn = uniform_numbers(op, (n,), torch.float32)
    _, order = op.emit("TopK", drawn, op.ints([n]), _outputs=2)
    return op.cast(op.describe(order, (n,), torch.int64), dtype or torch.int64)


# ---- normal and others ---------------------------------------------------------------------


@lowering(aten.randn.default, aten.randn.generator)
def randn(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return normal_numbers(op, size, dtype or torch.get_default_dtype())


@lowering(aten.randn_like.default, aten.randn_like.generator)
def randn_like(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return normal_numbers(op, op.shape(x), dtype or op.dtype(x))


def _placed(op: Emitter, drawn: ir.Value, mean: Any, std: Any) -> ir.Value:
    return call(op, "Add", call(op, "Mul", drawn, std), mean)


@lowering(aten.normal.Tensor_float)
def normal_tensor_float(op: Emitter, mean: ir.Value, std: float = 1.0) -> ir.Value:
    return _placed(op, normal_numbers(op, op.shape(mean), op.dtype(mean)), mean, std)


@lowering(aten.normal.float_Tensor)
def normal_float_tensor(op: Emitter, mean: float, std: ir.Value) -> ir.Value:
    return _placed(op, normal_numbers(op, op.shape(std), op.dtype(std)), mean, std)


@lowering(aten.normal.Tensor_Tensor)
def normal_tensor_tensor(op: Emitter, mean: ir.Value, std: ir.Value) -> ir.Value:
    shape = op.shape(call(op, "Add", mean, std)) if op.out is None else tuple(op.out.shape)
    return _placed(op, normal_numbers(op, shape, op.dtype(mean)), mean, std)


@lowering(aten.normal.float_float)
def normal_float_float(
    op: Emitter, mean: float, std: float, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    drawn = normal_numbers(op, size, dtype or torch.get_default_dtype())
    return _placed(op, drawn, mean, std)


@lowering(aten.normal_functional.default)
def normal_functional(op: Emitter, x: ir.Value, mean: float = 0.0, std: float = 1.0) -> ir.Value:
    return _placed(op, normal_numbers(op, op.shape(x), op.dtype(x)), mean, std)


@lowering(aten.log_normal.default)
def log_normal(op: Emitter, x: ir.Value, mean: float = 1.0, std: float = 2.0) -> ir.Value:
    return call(op, "Exp", normal_functional(op, x, mean, std))


@lowering(aten.exponential.default)
def exponential(op: Emitter, x: ir.Value, lambd: float = 1.0) -> ir.Value:
    return call(op, "Div", call(op, "Neg", _log_of_uniform(op, x)), lambd)


def _log_of_uniform(op: Emitter, x: ir.Value) -> ir.Value:
    """The logarithm of a number of (0, 1], which is never minus infinity."""
    drawn = uniform_numbers(op, op.shape(x), op.dtype(x))
    return call(op, "Log", call(op, "Sub", op.scalar(1.0, op.dtype(x)), drawn))


@lowering(aten.geometric.default)
def geometric(op: Emitter, x: ir.Value, p: float) -> ir.Value:
    real = op.dtype(x) if op.dtype(x).is_floating_point else torch.float32
    failures = op.scalar(1.0 - p, real)
    drawn = _log_of_uniform(op, op.cast(x, real))
    trials = call(op, "Ceil", call(op, "Div", drawn, call(op, "Log", failures)))
    return op.cast(call(op, "Max", trials, 1.0), op.dtype(x))


@lowering(aten.cauchy.default)
def cauchy(op: Emitter, x: ir.Value, median: float = 0.0, sigma: float = 1.0) -> ir.Value:
    drawn = call(op, "Sub", uniform_numbers(op, op.shape(x), op.dtype(x)), 0.5)
    angle = op.cast(call(op, "Mul", drawn, torch.pi), torch.float32)
    return _placed(op, op.cast(op.Tan(angle), op.dtype(x)), median, sigma)


# ---- choices -------------------------------------------------------------------------------


@lowering(aten.bernoulli.default)
def bernoulli(op: Emitter, x: ir.Value) -> ir.Value:
    return _happened(op, op.shape(x), x, op.dtype(x))


@lowering(aten.bernoulli.p, aten.bernoulli.Tensor)
def bernoulli_p(op: Emitter, x: ir.Value, p: Any = 0.5) -> ir.Value:
    return _happened(op, op.shape(x), p, op.dtype(x))


def _happened(op: Emitter, size: Sequence[Size], chance: Any, dtype: torch.dtype) -> ir.Value:
    drawn = uniform_numbers(op, size, torch.float32)
    return op.cast(op.Less(drawn, op.scalar(chance, torch.float32)), dtype)


@lowering(aten.multinomial.default)
def multinomial(op: Emitter, x: ir.Value, num_samples: Size, replacement: bool = False) -> ir.Value:
    weights = op.cast(x, torch.float32)
    single = op.rank(x) == 1
    if single:
        weights = op.unsqueeze(weights, 0)
    rows = op.shape(weights)[0]
    samples = concrete(num_samples)
    if replacement and isinstance(samples, int) and op.opset < 22:
        drawn = op.Multinomial(op.Log(weights), sample_size=samples, dtype=TO_ONNX[torch.int64])
    elif replacement:
        drawn = _with_replacement(op, weights, samples)
    else:
        # The largest of weight / Exp(1) are the ones that drawing one by one would give.
        races = op.Div(weights, op.Neg(_log_of_uniform(op, weights)))
        _, drawn = op.emit("TopK", races, op.ints([samples]), axis=1, _outputs=2)
    op.describe(drawn, (rows, samples), torch.int64)
    return op.squeeze(drawn, 0) if single else drawn


def _with_replacement(op: Emitter, weights: ir.Value, samples: Size) -> ir.Value:
    """Each drawn on its own: how many of the running sums its number has passed."""
    rows, choices = op.shape(weights)
    sums = op.CumSum(weights, 1)
    whole = op.reduce("ReduceSum", weights, [1], True)
    drawn = op.Mul(uniform_numbers(op, (rows, samples), torch.float32), whole)
    passed = op.LessOrEqual(op.unsqueeze(sums, 1), op.unsqueeze(drawn, 2))
    count = op.reduce("ReduceSum", op.cast(passed, torch.int64), [2], False)
    return op.Min(count, op.scalar(choices - 1, torch.int64))
