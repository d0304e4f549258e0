"""What sizes that vary cost beside fixed ones, in CPU seconds of an export; writes docs/varying-sizes.md."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch import nn

import onnxpert
from benchmarks.diagnosis import platform
from benchmarks.many_ways import MANY_WAYS
from benchmarks.varying_models import CASES, Case

PAGE = Path(__file__).resolve().parent.parent / "docs" / "varying-sizes.md"
MOST = 10.0  # times the fixed one; more is a bug


@dataclass(frozen=True, slots=True)
class Row:
    case: Case
    fixed: float
    varying: float
    proven: bool

    @property
    def ratio(self) -> float:
        return self.varying / self.fixed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2, help="of which the least counts")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    warm = Case("", lambda: nn.Linear(4, 4), lambda: (torch.randn(2, 4),), ({0: "batch"},))
    measured(warm, 1)  # what is imported and set up once
    rows = []
    for case in (*CASES, *MANY_WAYS):
        if options.only in case.about:
            rows.append(measured(case, options.repeats))
            last = rows[-1]
            told = f"{last.ratio:6.2f}  {last.fixed:6.2f}  {last.varying:6.2f}  {case.about}"
            sys.stderr.write(f"{told}{'' if last.proven else '  (refused)'}\n")
    if not options.only:
        options.out.write_text(page(rows), encoding="utf-8")
    return int(any(row.ratio > MOST for row in rows))


def measured(case: Case, repeats: int) -> Row:
    fixed = [_seconds(case, varying=False) for _ in range(repeats)]
    varying = [_seconds(case, varying=True) for _ in range(repeats)]
    return Row(case, min(fixed)[0], min(varying)[0], all(proven for _, proven in varying))


def _seconds(case: Case, *, varying: bool) -> tuple[float, bool]:
    torch.manual_seed(0)
    model, inputs = case.model().eval(), case.inputs()
    shapes = case.shapes if varying else None
    silent = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(silent),
        contextlib.redirect_stderr(silent),
    ):
        start = time.process_time()
        try:
            onnxpert.export(model, inputs, Path(folder) / "model.onnx", dynamic_shapes=shapes)
        except onnxpert.ExportError:
            return time.process_time() - start, False
        return time.process_time() - start, True


def page(rows: Sequence[Row]) -> str:
    worst = sorted(rows, key=lambda row: row.ratio)
    lines = [
        f"| {row.case.about} | {row.fixed:.2f} | {row.varying:.2f} | {row.ratio:.1f} |"
        f" {'yes' if row.proven else 'no'} |"
        for row in rows
    ]
    middle = f"{worst[len(worst) // 2].ratio:.1f}" if rows else "-"
    over = sum(row.ratio > MOST for row in rows)
    most = f"{worst[-1].ratio:.1f} ({worst[-1].case.about})" if rows else "-"
    return "\n".join(
        [
            "# What sizes that vary cost",
            "",
            "CPU seconds of an export with its proof, the least of several, after a first one: all sizes fixed, and",
            "all that can vary asked to. A file with sizes that vary is proven at several of them, and a loop over one",
            "is a loop in the file. `benchmarks/varying.py` writes this page, and fails where the one takes more than",
            f"{MOST:.0f} times as long as the other: so do {over} of them.",
            "",
            f"torch {torch.__version__}, {platform()}. {len(rows)} models.",
            f"The middle ratio is {middle}, the largest {most}.",
            "",
            "| model | fixed | varying | ratio | proven |",
            "|---|---:|---:|---:|---|",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
