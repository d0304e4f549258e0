"""One random model: exported as a user would, run by ONNX Runtime, compared with torch."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_ir as ir
import torch
from torch.overrides import TorchFunctionMode

import onnxpert
from conformance.drawn import imported, in_words, without_file
from conformance.mixtures.drawing import Drawn, draw, tensor
from conformance.results import Outcome
from onnxpert.targets import find
from onnxpert.verify.arrays import to_array, to_tensor
from onnxpert.verify.compare import compare
from onnxpert.verify.precision import Watch, coarsest

_OTHER_VALUES = 2
_NUDGES = 8
# Of these the standard of floating point leaves no digit open, so that a file which differs there
# is wrong. In half precision it may compute wide, and round later than torch does.
_EXACT_CALLS = """
    __getitem__ abs absolute add amax amin cat ceil chunk clamp clip clone concat contiguous div
    divide double expand flatten flip float floor fmax fmin fmod frac gather index_select
    masked_fill max maximum min minimum mul multiply narrow neg negative permute positive ravel
    relu remainder reshape roll round select sgn sign sort split sqrt squeeze stack sub subtract
    t take tile to topk transpose tril triu true_divide trunc type unbind unflatten unsqueeze
    view where
"""
_EXACT = frozenset(_EXACT_CALLS.split())
_IN_STEPS = {"alpha", "decimals", "rounding_mode"}  # with which there is more than one rounding


def attempt(seed: int) -> tuple[Outcome, str, str]:
    """How the export of a seed's model ends, why, and the model itself."""
    drawn = draw(seed)
    with tempfile.TemporaryDirectory(prefix="mixture-") as directory:
        file = Path(directory) / f"mixture_{seed}.py"
        file.write_text(drawn.source, encoding="utf-8")
        model = imported(file).Mixture().eval()
        outcome, detail = _exported(model, drawn, file)
    return outcome, detail, drawn.source


def _exported(model: torch.nn.Module, drawn: Drawn, file: Path) -> tuple[Outcome, str]:
    path = file.with_suffix(".onnx")
    without = without_file(
        lambda: onnxpert.export(
            model,
            tuple(value.clone() for value in drawn.inputs),
            path,
            dynamic_shapes="auto" if drawn.seed % 3 == 0 else None,
        ),
        path,
        lambda report: _unsaid(report, drawn, file),
    )
    return without or _judged(model, drawn, path)


def _unsaid(report: onnxpert.Report, drawn: Drawn, file: Path) -> str:
    """What a refusal leaves out, "" when it says it all: operator, dtype and the line of the call."""
    blocking = [finding for finding in report.findings if finding.blocks]
    if not blocking:
        return "refused without a reason"
    for finding in blocking:
        where = finding.location
        if where is None or Path(where.file).name != file.name or where.line < drawn.first_line:
            return f"{finding.rule} names no line of the model"
        said = " ".join((finding.message, finding.help, *finding.notes))
        if finding.rule.startswith(("OPS", "TGT", "DTY")) and not _names_dtype(said):
            return f"{finding.rule} names no dtype"
    return ""


def _names_dtype(text: str) -> bool:
    return any(
        word in text.lower()
        for word in ("float", "int8", "int16", "int32", "int64", "bool", "complex", "double")
    )


def _judged(model: torch.nn.Module, drawn: Drawn, path: Path) -> tuple[Outcome, str]:
    """The file against torch at the example and at other values, by means of its own."""
    try:
        run = find("ort-cpu").open(path)
        names = [str(value.name) for value in ir.load(path).graph.inputs]
    except Exception as error:  # whatever the runtime has to say
        return Outcome.UNLOADABLE, in_words(error)
    chance = random.Random(-1 - drawn.seed)
    others = [
        tuple(
            tensor(chance, str(value.dtype).removeprefix("torch."), tuple(value.shape))
            for value in drawn.inputs
        )
        for _ in range(_OTHER_VALUES)
    ]
    for inputs in (drawn.inputs, *others):
        try:
            with torch.no_grad(), Watch() as watch:
                wanted = model(*(value.clone() for value in inputs))
        # torch itself refuses these: whole numbers divided by zero, rows that a table does not have
        except (RuntimeError, IndexError):
            continue
        coarse = coarsest(watch.seen | {value.dtype for value in inputs})
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        read = [
            value for value, kept in zip(inputs, _kept(names, len(inputs)), strict=True) if kept
        ]
        try:
            got = run({n: to_array(_plain(v)) for n, v in zip(names, read, strict=True)})
        except Exception as error:  # the same
            return Outcome.UNLOADABLE, in_words(error)
        if len(got) != len(results):
            return Outcome.WRONG, f"{len(got)} outputs for {len(results)}"
        for index, (want, have) in enumerate(zip(results, got, strict=True)):
            problem = compare(want, have, computed_in=coarse).problem
            given = (model, inputs, index, want, to_tensor(have))
            if problem and not _is_rounding(*given) and not _jumps(*given):
                return Outcome.WRONG, problem
    return Outcome.RIGHT, ""


def _is_rounding(
    model: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    index: int,
    want: torch.Tensor,
    have: torch.Tensor,
) -> bool:
    """Whether torch itself is about as far from the same model in wider types as the file is.

    Ten random calls in a row may lose every digit that float16 has."""
    with torch.no_grad(), _wide_by_default():
        wide = model(*(value.double() if value.is_floating_point() else value for value in inputs))
    exact = (wide if isinstance(wide, tuple) else (wide,))[index]
    if not want.shape == have.shape == exact.shape or want.dtype != have.dtype:
        return False
    if not want.is_floating_point():
        return False
    finite = want.isfinite()
    if not torch.equal(finite, have.isfinite()) or not exact[finite].isfinite().all():
        return False
    own, other = ((one.double() - exact.double())[finite].abs() for one in (want, have))
    return bool((other <= 3 * own.max()).all())


@contextlib.contextmanager
def _wide_by_default() -> Iterator[None]:
    """What is made of whole numbers is wide, too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _jumps(
    model: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    index: int,
    want: torch.Tensor,
    have: torch.Tensor,
) -> bool:
    """Whether torch itself goes as far as the file does when last digits on the way are others.

    The logarithm of -1 has one angle or the other by the sign of a zero that rounding made."""
    wanted = torch.view_as_real(want) if want.is_complex() else want
    if wanted.shape != have.shape or not wanted.is_floating_point():
        return False
    reach = torch.zeros_like(wanted, dtype=torch.float64)
    for turn in range(_NUDGES):
        with torch.no_grad(), _Nudges(turn):
            moved = model(*(value.clone() for value in inputs))
        other = (moved if isinstance(moved, tuple) else (moved,))[index]
        plain = torch.view_as_real(other) if other.is_complex() else other
        apart = (plain.double() - wanted.double()).abs()
        lost = plain.isfinite() != wanted.isfinite()
        reach = reach.maximum(apart.nan_to_num(0.0).masked_fill(lost, torch.inf))
    close = compare(want, to_array(have)).rtol or 0.0
    allowed = 2 * reach + close * wanted.double().abs() + 1e-6
    near = (have.double() - wanted.double()).abs() <= allowed
    same = have == wanted  # the infinities
    return bool((near | same | (have.isnan() & wanted.isnan()) | reach.isinf()).all())


class _Nudges(TorchFunctionMode):
    """Each number that a call rounds is a digit more, a digit less, or as it was."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = torch.Generator().manual_seed(seed)
        self._flushes = bool(seed % 2)  # numbers too small to be normal, as kernels may

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not isinstance(result, torch.Tensor) or self._is_exact(func, result, args, kwargs or {}):
            return result
        return self._nudged(result)

    def _is_exact(self, func: Any, result: torch.Tensor, args: Any, kwargs: Any) -> bool:
        given = [value for value in args if isinstance(value, torch.Tensor)]
        return (
            getattr(func, "__name__", "") in _EXACT
            and not _IN_STEPS & kwargs.keys()
            and result.dtype in (torch.float32, torch.float64)
            and not any(value.is_complex() for value in given)
        )

    def _nudged(self, value: torch.Tensor) -> torch.Tensor:
        if not (value.is_complex() or value.is_floating_point()) or value.element_size() == 1:
            return value
        parts = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        steps = torch.randint(-1, 2, parts.shape, generator=self._dice)
        size = value.abs().unsqueeze(-1) if value.is_complex() else value
        digits = torch.finfo(parts.dtype)
        moved = parts + size * (steps * digits.eps).to(parts.dtype)
        if self._flushes:
            moved = moved.masked_fill(moved.abs() < digits.tiny, 0.0)
        return torch.view_as_complex(moved) if value.is_complex() else moved


def _kept(names: list[str], count: int) -> list[bool]:
    return [name in names for name in ("x", "y", "z")[:count]]


def _plain(value: torch.Tensor) -> torch.Tensor:
    """As a file has it: complex numbers are pairs of reals."""
    plain = value.resolve_conj().resolve_neg()
    return torch.view_as_real(plain) if plain.is_complex() else plain
