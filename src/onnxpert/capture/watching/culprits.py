"""Which lines of the user's change a thing: a call of the model, watched line by line.

That a list, a dictionary or a variable is another one after a run can be seen; Python tells nobody when
it happens. So the model is called once more, and what is known to change is looked at after every line."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import torch

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.places import running_frames
from onnxpert.capture.state import untouched
from onnxpert.capture.unwritten import Unwritten
from onnxpert.core.belongings import of_attributes, of_code, of_model
from onnxpert.core.source import Frame, Owner, location, ownership
from onnxpert.core.tables import Table
from onnxpert.core.types import Captured, Deed, Done, Loaded, replace

_MOST = 4  # lines that are told of one thing


def with_lines(captured: Captured) -> Captured:
    """A capture whose deeds have the lines that do them, where a look at the source only guessed."""
    guessed = [done for done in captured.done if done.guessed]
    if not guessed or captured.loaded is None:
        return captured
    lost = {done.what for done in guessed if done.location is None}
    seen = _lines(captured.loaded, {done.what for done in guessed}, lost)
    done = [each for one in captured.done for each in _placed(one, seen)]
    return replace(captured, done=tuple(done))  # type: ignore[no-any-return]


def _placed(done: Done, seen: Mapping[str, list[tuple[Frame, ...]]]) -> Iterator[Done]:
    if not done.guessed or done.what not in seen:
        yield done  # on a side of the model that its example does not take, perhaps
        return
    path = done.what.rpartition(".")[0] if done.deed is Deed.ATTRIBUTE else ""
    for frames in seen[done.what][:_MOST]:
        yield replace(done, location=location(frames, path), guessed=False)


def _lines(
    loaded: Loaded, names: Collection[str], lost: Collection[str]
) -> dict[str, list[tuple[Frame, ...]]]:
    """By name; attributes of modules are watched where not even a guess is known (`vars(self)[key] = 1`)."""
    module = owner(loaded.module)
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        return {}
    with (
        untouched(module, buffers=True),
        torch.no_grad(),
        torch.random.fork_rng([]),
        Unwritten(module),
    ):
        watch = _Watch([*of_model(module), *of_code(module)], names)
        watch.add(of_attributes(module), lost)
        with suppress(Exception), watch.on():  # what it raises has been told
            Flat(loaded)(*fed_copies(loaded))
    return watch.found


class _Watch:
    """Looks at some tables after each line of the user's."""

    def __init__(self, tables: list[Table], names: Collection[str]) -> None:
        self._tables: list[tuple[Table, Collection[str] | None]]
        self._tables = [(table, None) for table in tables if _may_be(table, names)]
        self._last: tuple[Frame, ...] = ()
        self.found: dict[str, list[tuple[Frame, ...]]] = {}

    def add(self, tables: list[Table], names: Collection[str]) -> None:
        """Further ones, of which nothing but these names counts."""
        self._tables += [(table, names) for table in tables if names and _may_be(table, names)]

    @contextmanager
    def on(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)
            self._look()

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        if event != "call" or ownership(frame.f_code.co_filename) != Owner.USER:
            return None
        self._look()
        return self._ran

    def _ran(self, frame: FrameType, event: str, _: Any) -> Any:
        self._look()
        at = frame.f_back if event == "return" else frame
        while at is not None and ownership(at.f_code.co_filename) != Owner.USER:
            at = at.f_back
        self._last = _stack(at)
        return self._ran

    def _look(self) -> None:
        """What has changed since the line before was done by it."""
        for table, only in self._tables:
            for change in table.changes():
                if only is not None and change.name not in only:
                    continue
                places = self.found.setdefault(change.name, [])
                if self._last and all(self._last[-1] != known[-1] for known in places):
                    places.append(self._last)
            table.renew()


def _may_be(table: Table, names: Collection[str]) -> bool:
    """Whether one of the names is the table's own, or of something in it."""
    return not table.name or any(name.startswith(table.name) for name in names)


def _stack(frame: FrameType | None) -> tuple[Frame, ...]:
    # A line that is about to run, or has run: no instruction of it is running now.
    return tuple(
        (f.f_code.co_filename, f.f_lineno, f.f_code.co_name) for f in running_frames(frame)
    )
