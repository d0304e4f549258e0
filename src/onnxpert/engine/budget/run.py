"""A walk in a child process, and a report whatever becomes of it."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from onnxpert import __version__
from onnxpert.core.errors import BugError, UsageError
from onnxpert.core.types import Request, Stopped, replace
from onnxpert.core.whereabouts import Board
from onnxpert.engine.budget.child import Work, serve
from onnxpert.engine.budget.limits import Budget
from onnxpert.engine.budget.watch import Watch
from onnxpert.engine.clock import Progress
from onnxpert.engine.installation import versions
from onnxpert.report import Action, Report

_COMMAND_LINE = "use --timeout and --max-memory of the command line, which start before torch does"


def limited(request: Request) -> tuple[Budget, Request]:
    """The limits of a request, and the request without them, for the child to fulfil."""
    budget = Budget(request.timeout, request.max_memory)
    return budget, replace(request, timeout=None, max_memory=None)


def within(
    budget: Budget,
    work: Work,
    progress: Progress | None = None,
    *,
    action: str,
    model: str = "",
    target: str = "",
    path: Path | None = None,
) -> Report:
    """What `work` reports, or a report that says where it was when it had to end.

    Raises what `work` raised, if that is the user's or the system's to mend."""
    _check()
    folder = Path(tempfile.mkdtemp(prefix="onnxpert-"))
    (folder / "temporary").mkdir()
    beside = path.resolve().parent if path is not None else None
    before = set(beside.iterdir()) if beside is not None else set()
    watch = _begin(work, folder, progress)
    try:
        with _leaving_when_told():
            stopped = watch.wait(budget)
    except BaseException:  # Ctrl-C: the child ignores it
        os.kill(watch.pid, signal.SIGKILL)
        os.waitpid(watch.pid, 0)
        raise
    finally:
        os.close(watch.pipe)
        shutil.rmtree(folder, ignore_errors=True)
        if path is not None and beside is not None:
            _drop_staged(path, set(beside.iterdir()) - before)
    if stopped is None:
        return _answer(watch)
    return _report(stopped, watch, action=Action(action), model=model, target=target)


@contextlib.contextmanager
def _leaving_when_told() -> Iterator[None]:
    """A request to end (`timeout`, a CI job that is cancelled) leaves as Ctrl-C does: with a tidy disk."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _check() -> None:
    if not hasattr(os, "fork"):
        raise UsageError(
            "timeout and max_memory need a system that can fork a process",
            "leave them out, or run it on Linux or macOS",
        )
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        raise UsageError("CUDA is in use, and does not survive in a child process", _COMMAND_LINE)


def _begin(work: Work, folder: Path, progress: Progress | None) -> Watch:
    board = Board()
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    # What is left of a runtime waits, when it goes, for its threads, and the child has none of them.
    gc.collect()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads, which the child does without.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(reading)
        serve(work, writing, board, folder)
    os.close(writing)
    return Watch(pid, reading, board, folder, progress or (lambda *_: None))


def _drop_staged(path: Path, new: set[Path]) -> None:
    """What an unfinished export keeps beside its final place."""
    hidden = [each for each in new if each.name.startswith(f".{path.name[:99]}.")]
    if not hidden:
        return
    from onnxpert.save.staging import MARK

    for each in hidden:
        if MARK in each.name:
            shutil.rmtree(each, ignore_errors=True)


def _answer(watch: Watch) -> Report:
    kind, *rest = watch.result or ("bug", "the child said nothing", "")
    match kind:
        case "report":
            return Report.from_json(rest[0])
        case "usage":
            raise UsageError(*rest)
        case "system":
            raise OSError(*rest)
    error = BugError(rest[0])
    error.add_note(rest[1])
    raise error


def _report(stopped: Stopped, watch: Watch, *, action: Action, model: str, target: str) -> Report:
    from onnxpert.diagnose import diagnose
    from onnxpert.engine import quotes

    before = Report.from_json(watch.found).findings if watch.found else ()
    findings = (*before, *diagnose(stopped))
    return Report(
        ok=False,
        findings=findings,
        timings=dict(watch.timings),
        action=action,
        model=model,
        target=target,
        versions=versions(),
        version=__version__,
        rules=quotes.notes(findings),
        checked=quotes.checked(),
        excerpts=quotes.excerpts(findings, None),
    )
