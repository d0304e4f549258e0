"""One sample: exported as a user would, run by ONNX Runtime, compared with torch."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import onnx_ir as ir
import torch

import onnxpert
from conformance.database import Call, Operator, seed
from conformance.results import Facts, Outcome
from onnxpert.capture import capture
from onnxpert.core.types import Captured, Lowered, Request
from onnxpert.load import load
from onnxpert.lower import lower
from onnxpert.optimise import optimise
from onnxpert.targets import find
from onnxpert.verify.arrays import to_array
from onnxpert.verify.compare import compare
from onnxpert.verify.settling import Settling
from onnxpert.verify.wider import distances, widened_leaves

OPSETS = range(20, 12, -1)  # the default, and down to the oldest that is written for
_SEEDS = 12  # a dropout that drops little gives the same twice by chance


def attempt(operator: Operator, call: Call, *, dynamic: bool) -> tuple[Outcome, str]:
    """How the export of a call ends, and why."""
    try:
        wanted = _eager(call, 0)
    except Exception as error:  # samples that torch itself refuses are its own affair
        return Outcome.IDLE, _line(error)
    if not wanted:
        return Outcome.IDLE, "it gives no tensor"
    fixed = not operator.by_chance and _repeats(call, wanted)
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        path = Path(directory) / "call.onnx"
        try:
            onnxpert.export(
                call,
                _copied(call),
                path,
                dynamic_shapes=_open(call) if dynamic and call.given else None,
                randomness="refuse" if fixed else "allow",
                undetermined="allow",
            )
        except onnxpert.ExportError as error:
            return Outcome.REFUSED, _reasons(error)
        except Exception as error:  # a bug of ours is a row as well
            return Outcome.FAILED, f"{type(error).__name__}: {_line(error)}"
        return _judged(path, call, wanted, fixed)


def survey(operator: Operator, call: Call) -> Facts | None:
    """Who says a call in ONNX, and the lowest opset at which the file is right."""
    captured = capture(load(Request(call, _copied(call))))
    if not isinstance(captured, Captured):
        return None
    wanted = _eager(call, 0)
    fixed = not operator.by_chance and _repeats(call, wanted)
    facts: Facts | None = None
    with tempfile.TemporaryDirectory(prefix="conformance-") as directory:
        for opset in OPSETS:
            lowered = optimise(lower(captured, opset=opset))
            path = Path(directory) / f"{opset}.onnx"
            if lowered.unsupported or not _is_right(lowered, path, call, wanted, fixed):
                break
            sources = facts.sources if facts else tuple({str(s): None for _, s in lowered.sources})
            facts = Facts(operator.name, sources, opset)
    return facts


def _is_right(
    lowered: Lowered, path: Path, call: Call, wanted: Sequence[torch.Tensor], fixed: bool
) -> bool:
    ir.save(lowered.model, path)
    return _judged(path, call, wanted, fixed)[0] is Outcome.RIGHT


def _judged(
    path: Path, call: Call, wanted: Sequence[torch.Tensor], fixed: bool
) -> tuple[Outcome, str]:
    try:
        run = find("ort-cpu").open(path)
        names = [str(value.name) for value in ir.load(path).graph.inputs]
        given = [to_array(_plain(tensor)) for tensor in _copied(call)]
        got = run(dict(zip(names, given, strict=True)))
    except Exception as error:  # whatever the runtime has to say
        return Outcome.UNLOADABLE, _line(error)
    if len(got) != len(wanted):
        return Outcome.WRONG, f"{len(got)} outputs for {len(wanted)}"
    problem = _problem(wanted, got, fixed)
    if problem and fixed:
        problem = _problem(_eager(call, 0, settled=True), got, fixed)
    if problem and fixed and _is_nearer(call, wanted, got):
        problem = ""
    return (Outcome.WRONG, problem) if problem else (Outcome.RIGHT, "")


def _problem(wanted: Sequence[torch.Tensor], got: Sequence[Any], fixed: bool) -> str:
    problems = (
        compare(want, have, values=fixed).problem for want, have in zip(wanted, got, strict=True)
    )
    return next(filter(None, problems), "")


def _is_nearer(call: Call, wanted: Sequence[torch.Tensor], got: Sequence[Any]) -> bool:
    """Whether torch's own half precision is further from its float32 than the file is."""
    if not any(tensor.dtype is torch.float16 for tensor in call.given):
        return False
    with torch.no_grad():
        exact = call(*widened_leaves(_copied(call)))
    found = [distances(*three) for three in zip(wanted, got, exact, strict=True)]
    return all(one is not None and one.is_nearer for one in found)


def _copied(call: Call) -> tuple[torch.Tensor, ...]:
    """Copies with their strides, as `as_strided` reads them."""
    return tuple(
        copy.deepcopy(tensor) if tensor.layout is torch.strided else tensor.clone()
        for tensor in call.given
    )


def _eager(call: Call, number: int, *, settled: bool = False) -> tuple[torch.Tensor, ...]:
    """torch's results; those with `settled` have its free choices made as files make them."""
    seed(0x9E3779B9 * (number + 1) % 2**32)  # neighbouring seeds are alike
    with torch.no_grad(), Settling() if settled else nullcontext():
        return tuple(result.detach() for result in call(*_copied(call)))


def _repeats(call: Call, wanted: Sequence[torch.Tensor]) -> bool:
    """Whether a call gives the same every time."""
    for number in range(1, _SEEDS):
        for first, again in zip(wanted, _eager(call, number), strict=True):
            # Sums may come in another order; sizes may be random as well.
            if first.shape != again.shape or not torch.allclose(
                _plain(first), _plain(again), rtol=1e-6, atol=1e-7, equal_nan=True
            ):
                return False
    return True


def _open(call: Call) -> Any:
    return (
        tuple(dict.fromkeys(range(t.dim()), torch.export.Dim.AUTO) for t in call.given),
    )  # one parameter, `*tensors`


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """As a file has it: complex numbers are pairs of reals."""
    plain = tensor.resolve_conj().resolve_neg()
    return torch.view_as_real(plain) if plain.is_complex() else plain


def _reasons(error: onnxpert.ExportError) -> str:
    blocking = [finding for finding in error.report.findings if finding.blocks]
    return "; ".join(f"{finding.rule}: {finding.message}" for finding in blocking[:3])


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return (text or type(error).__name__)[:300]
