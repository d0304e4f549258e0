"""A script tried out: how it fails, in a process of its own or, while it is made smaller, in this one."""

from __future__ import annotations

import contextlib
import copy
import io
import linecache
import logging
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

_SECONDS = 300  # a few, but on a machine that does many other things
_NUMBERS = re.compile(r"\d+|0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a script failed: the exception and the first line of its message."""

    kind: str
    message: str
    line: str = ""  # of the script, where it is known
    number: int = 0

    @property
    def mark(self) -> tuple[str, str]:
        """What two outcomes share that are the same failure; numbers and symbols differ."""
        return self.kind, _NUMBERS.sub("#", self.message)[:80]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def traced(script: str) -> Outcome | None:
    """How torch.export fails on the model of a script; None if it does not."""
    import torch

    head = _head(script)
    try:
        with _defined(head) as held:
            torch.export.export(
                held["Model"]().eval(),
                held["args"],
                held.get("kwargs"),
                dynamic_shapes=held.get("dynamic_shapes"),
                strict=False,
            )
    except Exception as error:
        return Outcome(type(error).__name__, _first(str(error)), *_line(error, head))
    return None


class Called(NamedTuple):
    """What a model does that is called more than once."""

    remembers: bool = False  # it gives something else the second time, the same numbers drawn
    draws: bool = False  # ... and the first time, when others are


def called(script: str) -> Called:
    """How the model of a script answers a second call."""
    import torch

    def answer(model: Any, seed: int) -> Any:
        torch.manual_seed(seed)
        return model(*held["args"], **held.get("kwargs", {})).clone()

    try:
        with _defined(_head(script)) as held, torch.random.fork_rng([]), torch.no_grad():
            model = held["Model"]().eval()
            fresh = copy.deepcopy(model)
            first = answer(model, 0)
            again, drawn = answer(model, 0), answer(fresh, 1)
            return Called(not torch.equal(first, again), not torch.equal(first, drawn))
    except Exception:  # it has been cut too short, or has other results than one tensor
        return Called()


def _head(script: str) -> str:
    return script.rpartition("torch.onnx.export(")[0]


@contextlib.contextmanager
def _defined(head: str) -> Iterator[dict[str, Any]]:
    """What a script defines, for as long as nothing that it prints or logs is to be heard."""
    held: dict[str, Any] = {"__name__": "repro"}
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            linecache.cache["<repro>"] = (len(head), None, head.splitlines(True), "<repro>")
            exec(compile(head, "<repro>", "exec"), held)  # the user's own lines
            yield held
    finally:
        logging.disable(before)
        linecache.cache.pop("<repro>", None)


def _line(error: BaseException, head: str) -> tuple[str, int]:
    """The innermost line of the script that an exception came through."""
    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
               if frame.filename == "<repro>" and frame.lineno]  # fmt: skip
    return (head.splitlines()[numbers[-1] - 1].strip(), numbers[-1]) if numbers else ("", 0)


def run(script: str) -> Outcome | None:
    """How the whole script fails, run as a user would; None if it does not."""
    with tempfile.TemporaryDirectory(prefix="onnxpert-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", script],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:  # a machine that is busy shows no failure of torch's
            return None
    if done.returncode == 0:
        return None
    return _said(done.stderr) or Outcome("Exit", str(done.returncode))


def _said(stderr: str) -> Outcome | None:
    """The exception that was raised first: torch wraps it in one of its own."""
    found = re.findall(
        # A first line that ends with a colon says nothing without the second.
        r"^([A-Za-z_][\w.]*(?:Error|Exception|Node|Failure|Unsupported)\w*): (.*(?:(?<=:)\n.+)?)$",
        stderr,
        re.M,
    )
    if not found:
        return None
    kind, message = found[0]
    return Outcome(kind.rpartition(".")[2], " ".join(message.split()))


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
