"""The parent's side: it listens, looks at the clock and at the memory, and ends what goes too far."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxpert.core.source import Frame, Owner, location, ownership
from onnxpert.core.types import Location, Stop, Stopped
from onnxpert.core.whereabouts import Board
from onnxpert.engine.budget.child import ASK
from onnxpert.engine.budget.limits import Budget, told_bytes
from onnxpert.engine.clock import Progress

_GLANCE_S = 0.02  # between two looks at the memory: a process fills some 100 MB meanwhile
_GRACE_S = 2.0  # between two stages files are moved, which must not be cut in half
_ANSWER_S = 0.5  # for a child to say where it is
_BEFORE = ("read", "start")  # the stages before there is a model
_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


@dataclass
class Watch:
    """One child: what it said so far."""

    pid: int
    pipe: int
    board: Board
    folder: Path
    progress: Progress
    stages: dict[str, float] = field(default_factory=dict)  # those begun and not ended, since when
    last: str = ""
    timings: dict[str, float] = field(default_factory=dict)
    result: tuple[Any, ...] | None = None
    found: str = ""  # what it had found when it last said so: a report
    _rest: bytes = b""

    def wait(self, budget: Budget) -> Stopped | None:
        """Until there is a result, or none to be had: then why."""
        start = time.monotonic()
        while True:
            over = self._listen()
            if self.result is not None:
                self._reap()
                return None
            if over:
                return self._died(self._reap())
            spent = time.monotonic() - start
            if budget.seconds is not None and spent > budget.seconds + self._grace():
                return self._ended(Stop.TIME, f"{budget.seconds:g} s")
            if budget.bytes is not None and resident(self.pid) > budget.bytes:
                return self._ended(Stop.MEMORY, told_bytes(budget.bytes))

    def _grace(self) -> float:
        return 0.0 if self.stages or not self.timings else _GRACE_S

    def _listen(self) -> bool:
        """Take in what was said; True when there is nobody to say more."""
        ready, _, _ = select.select([self.pipe], [], [], _GLANCE_S)
        if not ready:
            return False
        heard = os.read(self.pipe, 1 << 20)
        *lines, self._rest = (self._rest + heard).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))
        return not heard

    def _hear(self, message: Sequence[Any]) -> None:
        kind, *rest = message
        if kind == "found":
            self.found = rest[0]
            return
        if kind != "stage":
            self.result = (kind, *rest)
            return
        stage, event, seconds, note = rest
        if event == "start":
            self.stages[stage] = time.monotonic()
            self.last = stage
        elif event == "done":
            self.stages.pop(stage, None)
            self.timings[stage] = self.timings.get(stage, 0.0) + seconds
        self.progress(stage, event, seconds, note)

    def _ended(self, why: Stop, limit: str) -> Stopped:
        trace = self.folder / "trace"
        with contextlib.suppress(ProcessLookupError):
            if ASK is not None:
                os.kill(self.pid, ASK)
                _settled(trace)
            os.kill(self.pid, signal.SIGKILL)
        self._reap()
        return self._stopped(why, limit)

    def _died(self, status: int) -> Stopped:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        name = (
            signal.Signals(number).name
            if number
            else f"exit code {os.waitstatus_to_exitcode(status)}"
        )
        # Nothing of ours ends it without a word: that is how the system ends who takes too much.
        why = Stop.KILLED if number == signal.SIGKILL else Stop.CRASH
        return self._stopped(why, name)

    def _stopped(self, why: Stop, limit: str) -> Stopped:
        stage = self.last or "start"
        if self.stages:
            stage, since = list(self.stages.items())[-1]
            spent = time.monotonic() - since
            self.timings[stage] = self.timings.get(stage, 0.0) + spent
        # While nothing of the user's runs, a library is one that is imported for ourselves.
        least = Owner.USER if stage in _BEFORE else Owner.LIBRARY
        at = _place(self.folder / "trace", self.board.read(), least)
        return Stopped(why, limit, stage, self.board.read(), at)

    def _reap(self) -> int:
        return os.waitpid(self.pid, 0)[1]


def _settled(trace: Path) -> None:
    """Wait until the answer is there and no longer grows."""
    until, before = time.monotonic() + _ANSWER_S, -1
    while time.monotonic() < until:
        time.sleep(_GLANCE_S)
        size = trace.stat().st_size if trace.exists() else 0
        if size and size == before:
            return
        before = size


def _place(trace: Path, module: str, least: int) -> Location | None:
    """The user's own line in the first thread that was in one, or that of a library they call."""
    try:
        threads = trace.read_text(encoding="utf-8", errors="replace").split("\n\n")
    except OSError:  # it died before it could open it
        return None
    for thread in threads:
        found = _FRAME.findall(thread)  # innermost first
        frames: list[Frame] = [(file, int(line), name) for file, line, name in reversed(found)]
        if any(ownership(file) >= least for file, _, _ in frames):
            return location(
                [frame for frame in frames if ownership(frame[0]) > Owner.LAYER], module
            )
    return None


def resident(pid: int) -> int:
    """The bytes of memory that a process holds, 0 if it is gone."""
    try:
        with Path(f"/proc/{pid}/statm").open(encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        if Path("/proc/self/statm").exists():
            return 0
    said = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return int(said.stdout.strip() or 0) * 1024
