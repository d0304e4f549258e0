"""What a diagnosis costs beside an export, torch's and our own, in CPU seconds; writes docs/diagnosis.md.

A model with blockers has no export: it is set against that of the same model without them."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy
import torch
from torch import Tensor, nn

import onnxpert
from benchmarks.blocked_models import KINDS, Blocked

PAGE = Path(__file__).resolve().parent.parent / "docs" / "diagnosis.md"


class Block(nn.Module):
    """A convolution and an attention, with what is asked for in its way."""

    def __init__(self, blocked: bool) -> None:
        super().__init__()
        self.blocked = blocked
        self.conv = nn.Conv1d(32, 32, 3, padding=1)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(self.conv(x.transpose(1, 2)).transpose(1, 2))
        if not self.blocked:
            return x
        self.calls += 1
        if x.mean() > 0:
            x = x + 1
        x = x + torch.from_numpy(numpy.unwrap(x.numpy()))
        return x * [1.0, 2.0][int(x.argmax()) % 2]


class Stack(nn.Module):
    def __init__(self, depth: int, blocked: int = 0) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(index < blocked) for index in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class Refuses(Stack):
    """Raises on what is no plain tensor, in the body that all the rest is called from."""

    def forward(self, x: Tensor) -> Tensor:
        if type(x) is not Tensor:
            raise TypeError("plain tensors only")
        return super().forward(x)


@dataclass(frozen=True, slots=True)
class Case:
    about: str
    model: Callable[[], nn.Module]
    plain: Callable[[], nn.Module]  # what can be exported of it
    example: tuple[int, ...] = (2, 16, 32)
    same: str = ""  # those that are one plain model


@dataclass(frozen=True, slots=True)
class Row:
    case: Case
    findings: int
    theirs: float  # torch.onnx.export of the plain one
    ours: float  # onnxpert.export of the same
    diagnosis: float


CASES = (
    Case("multilayer perceptron", lambda: mlp(8), lambda: mlp(8), (4, 64)),
    Case("4 blocks, nothing in the way", lambda: Stack(4), lambda: Stack(4)),
    Case("12 blocks, nothing in the way", lambda: Stack(12), lambda: Stack(12)),
    Case("4 blocks, one with 4 blockers", lambda: Stack(4, 1), lambda: Stack(4)),
    Case("4 blocks, all with 4 blockers", lambda: Stack(4, 4), lambda: Stack(4)),
    Case("12 blocks, one with 4 blockers", lambda: Stack(12, 1), lambda: Stack(12)),
    Case("12 blocks, all with 4 blockers", lambda: Stack(12, 12), lambda: Stack(12)),
    Case("12 blocks below a body that raises", lambda: Refuses(12, 1), lambda: Stack(12)),
    *(
        Case(about, partial(Blocked, depth, parts), partial(Blocked, depth), same=f"{depth} layers")
        for about, depth, parts in KINDS
    ),
)


def mlp(depth: int) -> nn.Module:
    return nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(depth)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="of which the least counts")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    linear = partial(nn.Linear, 4, 4)
    measured(Case("", linear, linear, (1, 4)), 1)  # what is imported and set up once
    rows: list[Row] = []
    for case in CASES:
        same = next((row for row in rows if case.same and row.case.same == case.same), None)
        rows.append(measured(case, options.repeats, same))
        last = rows[-1]
        told = f"{last.theirs:6.2f}  {last.ours:6.2f}  {last.diagnosis:6.2f}  {case.about}"
        sys.stderr.write(f"{told}\n")
    options.out.write_text(page(rows, options.repeats), encoding="utf-8")
    return 0


def measured(case: Case, repeats: int, same: Row | None = None) -> Row:
    """All three in turn, so that a machine that slows down slows down all of them; but for the exports
    of a plain model that was measured in a row before."""
    theirs = [] if same is None else [same.theirs]
    ours = [] if same is None else [same.ours]
    diagnoses, told = [], [0]
    for _ in range(repeats):
        if same is None:
            theirs.append(_seconds(partial(_export, *_made(case.plain, case.example))))
            ours.append(_seconds(partial(_own_export, *_made(case.plain, case.example))))
        told.clear()
        diagnoses.append(_seconds(partial(_diagnose, *_made(case.model, case.example), told)))
    return Row(case, told[0], min(theirs), min(ours), min(diagnoses))


def _made(make: Callable[[], nn.Module], sizes: tuple[int, ...]) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    return make().eval(), torch.randn(sizes)


def _seconds(work: Callable[[], Any]) -> float:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        start = time.process_time()
        work()
        return time.process_time() - start


def _export(model: nn.Module, example: Tensor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.onnx")
        torch.onnx.export(model, (example,), path, dynamo=True, verbose=False)


def _own_export(model: nn.Module, example: Tensor) -> None:
    with tempfile.TemporaryDirectory() as folder:
        onnxpert.export(model, (example,), Path(folder) / "model.onnx")


def _diagnose(model: nn.Module, example: Tensor, told: list[int]) -> None:
    report = onnxpert.diagnose(model, (example,))
    told.append(sum(finding.count for finding in report.findings))


def page(rows: Sequence[Row], repeats: int) -> str:
    lines = [
        f"| {row.case.about} | {row.findings} | {row.theirs:.2f} | {row.ours:.2f} |"
        f" {row.diagnosis:.2f} | {row.diagnosis / row.theirs:.2f} | {row.diagnosis / row.ours:.1f} |"
        for row in rows
    ]
    head = "| model | findings | `torch.onnx.export` | `onnxpert.export` | `onnxpert.diagnose` |"
    head += " of torch's | of our own |"
    blocked = [row for row in rows if row.findings]
    within = sum(row.diagnosis <= 2 * row.theirs for row in blocked)
    own = sum(row.diagnosis <= 2 * row.ours for row in blocked)
    return "\n".join(
        [
            "# What a diagnosis costs",
            "",
            f"CPU seconds of one process, the least of {repeats}, after a first call of each. A diagnosis is the",
            "whole walk with its proof; where a model has blockers, it is set against the export of the same",
            "model without them, since with them there is none: torch's plain one, and our own with its proof.",
            "`benchmarks/diagnosis.py` writes this page.",
            "",
            f"torch {torch.__version__}, {platform()}.",
            f"At most twice as long as torch's export: {within} of {len(blocked)} models with findings;",
            f"as our own: {own} of {len(blocked)}.",
            "",
            head,
            "|---|---:|---:|---:|---:|---:|---:|",
            *lines,
            "",
        ]
    )


def platform() -> str:
    import platform as here

    return f"Python {here.python_version()}, {here.machine()}"


if __name__ == "__main__":
    sys.exit(main())
