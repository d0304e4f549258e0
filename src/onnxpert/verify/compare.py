"""One output of the runtime against the model's own: strict on everything but the last digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxpert.core.tolerance import tolerance
from onnxpert.targets.target import Array
from onnxpert.verify.arrays import dtype_name, to_array, to_tensor

if TYPE_CHECKING:
    import torch

# The absolute part of a tolerance is meant for an output whose largest value is 1; it shrinks and
# grows with it. A small output may be the remains of a subtraction, whose noise comes from larger
# values that are no longer seen: it is allowed up to SLACK times as much, until SMALL is reached.
# So a tiny output has no free pass, and only one that is all zeros is measured against SMALL itself.
SMALL = 0.1
SLACK = 100
CHUNK = (
    1 << 18
)  # elements; the comparison is made in float64, a piece at a time, near the processor


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far an output is from what it should be; `problem` is "" when it is near enough."""

    problem: str = ""
    max_abs: float | None = None
    max_rel: float | None = None  # at the element that uses most of its tolerance
    rtol: float | None = None
    atol: float | None = None
    other_dtype: bool = False


def compare(
    want: Any, got: Array, *, computed_in: str = "", slack: float = 1.0, values: bool = True
) -> Comparison:
    """`want` is a tensor or a Python number of the model's, `got` the runtime's array.

    `computed_in` is the coarsest dtype the model works in: a float32 output of bfloat16 layers
    has the digits of a bfloat16. With `values` off, only shape and dtype are compared."""
    import torch

    try:
        answer = to_tensor(got)
    except TypeError as error:
        return Comparison(f"the file gives {getattr(got, 'dtype', type(got).__name__)}: {error}")
    expected = _as_tensor(want, answer)
    if expected.is_complex() and not answer.is_complex():
        expected = torch.view_as_real(expected.resolve_conj())
    problem = _form_problem(expected, answer)
    if problem or not values:
        return Comparison(problem, other_dtype=expected.dtype != answer.dtype)
    if not expected.is_floating_point() and not expected.is_complex():
        return _compare_exact(expected, answer)
    rtol, atol = tolerance(dtype_name(expected))
    if computed_in:
        coarse = tolerance(computed_in)
        rtol, atol = max(rtol, coarse[0]), max(atol, coarse[1])
    if expected.is_complex():
        expected, answer = torch.view_as_real(expected), torch.view_as_real(answer)
    return _compare_floats(expected, answer, rtol * slack, atol * slack)


def differs_in_signs(want: Any, got: Array) -> bool:
    """Whether each row, or each column, is the other's or its opposite, and some are that."""
    import torch

    if not isinstance(want, torch.Tensor) or not want.is_floating_point() or want.dim() < 2:
        return False
    answer = to_tensor(got)
    if _form_problem(want, answer) or not want.numel():
        return False
    answer = answer.double()  # float8 has no arithmetic of its own
    product = want.double() * answer
    turned = (product.sum(axis, keepdim=True) < 0 for axis in (-1, -2))
    return any(
        bool(t.any())
        and not compare(want, to_array(answer.where(~t, -answer).to(want.dtype))).problem
        for t in turned
    )


def _as_tensor(want: Any, answer: torch.Tensor) -> torch.Tensor:
    """A Python float has no precision of its own: it takes the file's."""
    import torch

    if isinstance(want, torch.Tensor):
        return want.detach().resolve_conj().resolve_neg().cpu()
    if isinstance(want, float) and answer.is_floating_point():
        return torch.tensor(want, dtype=answer.dtype)
    if isinstance(want, float):
        return torch.tensor(want, dtype=torch.float32)
    return torch.tensor(want)


def _form_problem(want: torch.Tensor, got: torch.Tensor) -> str:
    if want.dtype != got.dtype:
        return f"the model gives {dtype_name(want)}, the file {dtype_name(got)}"
    if want.shape != got.shape:
        return f"the model gives shape {list(want.shape)}, the file {list(got.shape)}"
    return ""


def _compare_exact(want: torch.Tensor, got: torch.Tensor) -> Comparison:
    import torch

    if torch.equal(want, got):
        return Comparison("", 0.0, 0.0, 0.0, 0.0)
    differ = (want != got).reshape(-1)
    at = int(differ.int().argmax())
    a, b = want.reshape(-1)[at].item(), got.reshape(-1)[at].item()
    distance = (want.reshape(-1)[differ].double() - got.reshape(-1)[differ].double()).abs()
    problem = (
        f"{int(differ.sum())} of {want.numel()} values differ: at {_index(want, at)} "
        f"the model gives {a}, the file {b}"
    )
    largest = float(distance.max())
    return Comparison(problem, largest, abs(a - b) / max(abs(a), 1), 0.0, 0.0)


def _scale(largest: float) -> float:
    return max(largest, min(SMALL, SLACK * largest)) if largest else SMALL


def _compare_floats(want: torch.Tensor, got: torch.Tensor, rtol: float, atol: float) -> Comparison:
    scale = _scale(_largest(want))
    flat_want, flat_got = want.reshape(-1), got.reshape(-1)
    max_abs = max_rel = worst = 0.0
    worst_at = wrong = 0
    for start in range(0, flat_want.numel(), CHUNK):
        a = flat_want[start : start + CHUNK].double()
        b = flat_got[start : start + CHUNK].double()
        distance = (a - b).abs_()
        allowed = (rtol * a).abs_().add_(atol * scale)
        if not bool(distance.isfinite().all()):
            problem = _special_problem(want, a, b, start)
            if problem:
                return Comparison(problem, math.nan, math.nan, rtol, atol)
            finite = a.isfinite()  # the others were found equal
            distance, allowed = distance.where(finite, 0.0), allowed.where(finite, 1.0)
        use = distance / allowed
        max_abs = max(max_abs, float(distance.max()))
        wrong += int((use > 1).sum())
        at = int(use.argmax())
        if float(use[at]) > worst:
            worst, worst_at = float(use[at]), start + at
            max_rel = float(distance[at]) / max(abs(float(a[at])), 1e-30)
    problem = ""
    if wrong:
        a_text, b_text = (f"{float(flat[worst_at]):.6g}" for flat in (flat_want, flat_got))
        problem = (
            f"{wrong} of {want.numel()} values are too far off: at {_index(want, worst_at)} "
            f"the model gives {a_text}, the file {b_text}"
        )
    return Comparison(problem, max_abs, max_rel, rtol, atol)


def _special_problem(whole: torch.Tensor, a: torch.Tensor, b: torch.Tensor, start: int) -> str:
    """NaN and the infinities must be in the same places, the latter with the same sign."""
    import torch

    for wrong in (a.isnan() != b.isnan(), _signs(a) != _signs(b)):
        if bool(wrong.any()):
            at = int(wrong.to(torch.uint8).argmax())
            return (
                f"{int(wrong.sum())} values are NaN or infinite on one side only: at "
                f"{_index(whole, start + at)} the model gives {float(a[at]):.6g}, "
                f"the file {float(b[at]):.6g}"
            )
    return ""


def _signs(values: torch.Tensor) -> torch.Tensor:
    """1 and -1 for the infinities, 0 for all else."""
    return values.sign().where(values.isinf(), 0.0)


def _largest(values: torch.Tensor) -> float:
    """The largest finite magnitude."""
    largest = 0.0
    flat = values.reshape(-1)
    for start in range(0, flat.numel(), CHUNK):
        piece = flat[start : start + CHUNK].double().abs()
        largest = max(largest, float(piece.where(piece.isfinite(), 0.0).max()))
    return largest


def _index(tensor: torch.Tensor, flat: int) -> list[int]:
    index: list[int] = []
    for size in reversed(tensor.shape):
        index.insert(0, flat % size)
        flat //= size
    return index
