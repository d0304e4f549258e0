"""Where a child process is: the module it runs, noted where its parent still reads it after its death.

Global forward hooks are torch's public way to see every module. They are on only while a model runs
eagerly: torch.export in its strict mode refuses to read them. Tried on torch 2.13 and 2.15."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_SIZE = 4096
_LENGTH = 2  # bytes, at the start


class Board:
    """A page of memory that outlives the process that writes on it."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, _SIZE)  # shared with whatever is forked from here on

    def write(self, text: str) -> None:
        raw = text.encode(errors="replace")[: _SIZE - _LENGTH]
        self._page[_LENGTH : _LENGTH + len(raw)] = raw
        self._page[:_LENGTH] = len(raw).to_bytes(_LENGTH, "big")

    def read(self) -> str:
        length = int.from_bytes(self._page[:_LENGTH], "big")
        return self._page[_LENGTH : _LENGTH + length].decode(errors="replace")


_boards: list[Board] = []  # at most one, and only in a process that is watched


def begin(board: Board) -> None:
    """From now on, what is noted in this process is on the board."""
    _boards[:] = [board]


def note(path: str) -> None:
    """The module that runs now; "" for none."""
    for board in _boards:
        board.write(path)


@contextmanager
def followed(root: Any) -> Iterator[None]:
    """While on, every part of `root` that is called is noted; costs nothing if nobody watches."""
    if not _boards or not hasattr(root, "named_modules"):
        yield
        return
    import torch
    from torch.nn.modules.module import (
        register_module_forward_hook,
        register_module_forward_pre_hook,
    )

    paths = {id(part): name for name, part in root.named_modules()}
    trail: list[str] = []

    def enter(module: torch.nn.Module, _: Any) -> None:
        # torch.cond has its branches read instead of run, and this must stay readable.
        if not torch.compiler.is_dynamo_compiling():
            trail.append(paths.get(id(module), ""))
            note(trail[-1])

    def leave(*_: Any) -> None:
        if not torch.compiler.is_dynamo_compiling():
            trail.pop()
            note(trail[-1] if trail else "")

    before = register_module_forward_pre_hook(enter)
    after = register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        before.remove()
        after.remove()
        note("")
