"""The last line of defence: what each exception becomes, in words and as an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from onnxpert import __version__
from onnxpert.cli import results
from onnxpert.core.errors import UsageError

MISUSE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells count


def guarded(argv: Sequence[str] | None, run: Callable[[Sequence[str] | None], int]) -> int:
    """The exit code of `run`; never an exception, never a traceback of ours on the screen."""
    results.accept_any_character()
    try:
        return _left(argv, run)
    except KeyboardInterrupt:
        _say("interrupted: nothing was written")
        return INTERRUPTED
    except Exception as error:
        return _failed(error, argv)


def _left(argv: Sequence[str] | None, run: Callable[[Sequence[str] | None], int]) -> int:
    try:
        code = run(argv)
    except SystemExit as leaving:  # argparse, after --help and --version
        code = leaving.code if isinstance(leaving.code, int) else MISUSE
    results.settle()
    return code


def _failed(error: Exception, argv: Sequence[str] | None) -> int:
    match error:
        case UsageError():
            _say(paragraph(error.message, error.help))
        case OSError():
            _say(paragraph(_system(error)))
        case MemoryError():
            help = "a smaller example input, or a machine with more memory"
            _say(paragraph("there is not enough memory", help))
        case _:
            _say(bug(error, sys.argv[1:] if argv is None else argv))
    return MISUSE


def paragraph(message: str, help: str = "") -> str:
    return f"error: {message}" + (f"\n  = help: {help}" if help else "")


def bug(error: BaseException, argv: Sequence[str]) -> str:
    """What is said of a bug of ours: enough to report it, the rest in a file."""
    kept = _keep(error, argv)
    frames = traceback.extract_tb(error.__traceback__)
    last = (
        f"\n  --> {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    )
    said = " ".join(str(error).split())
    return (
        "this is a bug in onnxpert, not in your model or your command\n"
        f"  {type(error).__name__}: {said}{last}\n"
        f"   = note: {_versions()}\n"
        f"   = help: please report it, with {kept} attached"
    )


def _keep(error: BaseException, argv: Sequence[str]) -> str:
    """Write the whole story to a file of its own, and say which."""
    story = "".join(traceback.format_exception(error))
    text = f"onnxpert {' '.join(argv)}\n{_versions()}\n\n{story}"
    try:
        handle, name = tempfile.mkstemp(prefix="onnxpert-bug-", suffix=".txt")
        os.close(handle)
        Path(name).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError:  # no room even there: the screen is all that is left
        _say(story)
        return "the traceback above"
    return name


def _versions() -> str:
    try:
        from onnxpert.engine.installation import versions

        known = {"onnxpert": __version__, **versions()}
    except Exception as error:  # the bug may well be there, and must not hide itself
        return f"onnxpert {__version__}, other versions unknown ({error})"
    return ", ".join(f"{name} {version}" for name, version in known.items())


def _system(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    return where + error.strerror.lower()


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # stderr is gone too: the exit code has to do
        return
