"""The child's side: it works, and tells its parent how far it is, and what came of it."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from onnxpert.core.errors import ExportError, UsageError
from onnxpert.core.types import Finding
from onnxpert.core.whereabouts import Board, begin
from onnxpert.engine.clock import Progress, hearer
from onnxpert.report import Report

Work: TypeAlias = Callable[[Progress], Report]

ASK = signal.SIGUSR2 if hasattr(signal, "SIGUSR2") else None  # "where are you?"
_PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux


def serve(work: Work, pipe: int, board: Board, folder: Path) -> None:
    """Do the work and leave the process; what happened is written to the pipe, a line each."""
    code = 1
    try:
        _settle(folder)
        message = _result(work, pipe, board)
        _tell(pipe, *message)
        code = 0
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)  # what the parent registered to run at its exit is not ours to run


def _settle(folder: Path) -> None:
    """A process of its own: its temporary files, its traces, and no life after the parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    tempfile.tempdir = str(folder / "temporary")
    os.environ["TMPDIR"] = tempfile.tempdir
    # Stays open as long as the process lives: a crash has no time to open it.
    trace = (folder / "trace").open("w", encoding="utf-8")
    faulthandler.enable(trace, all_threads=True)
    if ASK is not None:
        faulthandler.register(ASK, trace, all_threads=True)
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)
    if "torch" in sys.modules:
        # The parent's threads are not here; torch would wait for them.
        sys.modules["torch"].set_num_threads(1)


def _result(work: Work, pipe: int, board: Board) -> tuple[Any, ...]:
    begin(board)

    def told(stage: str, event: str, seconds: float, note: str) -> None:
        _tell(pipe, "stage", stage, event, seconds, note)

    def heard(findings: tuple[Finding, ...]) -> None:
        _tell(pipe, "found", Report(ok=False, findings=findings).to_json())

    hearer.set(heard)
    try:
        return "report", work(told).to_json(graph=True)
    except ExportError as error:
        return "report", error.report.to_json(graph=True)
    except UsageError as error:
        return "usage", error.message, error.help
    except OSError as error:
        name = os.fsdecode(error.filename) if error.filename is not None else None
        return "system", error.errno, error.strerror or str(error), name
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
        return "bug", said, "".join(traceback.format_exception(error))


def _tell(pipe: int, *message: Any) -> None:
    line = json.dumps(message).encode() + b"\n"
    with contextlib.suppress(BrokenPipeError):
        while line:
            line = line[os.write(pipe, line) :]
