"""A fresh interpreter for each measurement: what it answers, or how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class NoAnswerError(Exception):
    """The process ran out of time, or ended without an answer."""


def ask(module: str, arguments: Sequence[str], directory: Path, timeout_s: int) -> Any:
    """Runs `python -m benchmarks.MODULE` and reads the JSON it leaves in `directory`."""
    answer, log = directory / "answer.json", directory / "output.txt"
    answer.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments, f"--answer={answer}"]
    with log.open("wb") as output:
        try:
            status = subprocess.run(
                command,
                env=_environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"not done after {timeout_s} s") from None
    if not answer.exists():
        raise NoAnswerError(f"{_ending(status)}: {_last_line(log)}")
    return json.loads(answer.read_text(encoding="utf-8"))


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        **dict.fromkeys(THREADS, "1"),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "0",  # the order of sets, and with it the work, is the same each time
        "HF_HUB_OFFLINE": "1",  # weights are random: nothing is to be fetched
    }


def _ending(status: int) -> str:
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}"
    return f"the process ended with {status}"


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")
