"""What is seen while a model is on its walk: a line and a time per stage, on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

WIDTH = 9  # of the longest stage's name, and one more


class Progress(ABC):
    """Takes the engine's events: a stage starts, is done after some seconds, or has a note."""

    @abstractmethod
    def __call__(self, stage: str, event: str, seconds: float, note: str) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return


class Silent(Progress):
    """`--quiet`."""

    def __call__(self, *_: object, **__: object) -> None:
        return


class Plain(Progress):
    """For logs: a line when a stage is done, nothing that needs a terminal."""

    def __call__(self, stage: str, event: str, seconds: float, note: str) -> None:
        if event == "done":
            note = f"{_spent(seconds)}  {note}".rstrip()
        if event != "start":
            # A reader of stderr that has gone away must not stop an export.
            with contextlib.suppress(OSError):
                print(f"{stage:<{WIDTH}} {note}", file=sys.stderr, flush=True)


@dataclass(slots=True)
class _Stage:
    """One line of the live display."""

    name: str
    started: float
    seconds: float | None = None  # None: still running
    note: str = ""
    broken: bool = False


class Display(Progress):
    """For terminals: the running stage counts its seconds."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(stderr=True, highlight=False)
        self._stages: list[_Stage] = []
        self._live: Live | None = None
        symbols = "utf" in self._console.encoding.lower()
        self._done, self._broken = ("✓", "✗") if symbols else ("+", "x")
        self._spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏" if symbols else "|/-\\"

    def __call__(self, stage: str, event: str, seconds: float, note: str) -> None:
        if event == "start":
            self._stages.append(_Stage(stage, time.monotonic(), note=note))
            return
        running = self._running(stage)
        running.note = note or running.note
        if event == "done":
            running.seconds = seconds

    def _running(self, stage: str) -> _Stage:
        """The last line of that stage; a stage that never said it started gets one."""
        for known in reversed(self._stages):
            if known.name == stage and known.seconds is None:
                return known
        self._stages.append(_Stage(stage, time.monotonic()))
        return self._stages[-1]

    def __enter__(self) -> Self:
        from rich.live import Live

        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=10)
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for stage in self._stages:
            if stage.seconds is None:
                stage.seconds, stage.broken = time.monotonic() - stage.started, True
        if self._live is not None:
            self._live.stop()
            self._console.print()  # the result follows on stdout, a little apart

    def _table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(min_width=WIDTH)
        table.add_column(justify="right", min_width=6)
        table.add_column(style="dim", no_wrap=True, overflow="ellipsis")
        now = time.monotonic()
        for stage in self._stages:
            running = stage.seconds is None
            spent = now - stage.started if stage.seconds is None else stage.seconds
            name = Text(stage.name, "bold" if running else "")
            table.add_row(self._mark(stage, now), name, _spent(spent), Text(stage.note))
        return table

    def _mark(self, stage: _Stage, now: float) -> str:
        if stage.broken:
            return f"[red]{self._broken}[/red]"
        if stage.seconds is not None:
            return f"[green]{self._done}[/green]"
        return f"[cyan]{self._spinner[int(now * 10) % len(self._spinner)]}[/cyan]"


def progress(*, quiet: bool) -> Progress:
    """What suits stderr: a live display, plain lines, or nothing."""
    if quiet:
        return Silent()
    return Display() if sys.stderr.isatty() and find_spec("rich") else Plain()


def _spent(seconds: float) -> str:
    return f"{seconds:6.2f}s"
