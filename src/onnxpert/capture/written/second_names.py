"""Tensors that go by a second name, under which a write would have to be seen, and nobody can say it.

What a loop is handed and writes is a copy of its own: the tensor that the first turn began with is
spent, and nobody may use it any more. A list that grows holds copies: what it was given is listed, and
nobody may write it any more. What a branch or a loop gives may be a tensor from around (`b = a`, `b = a[i]`),
or what another gave that may be one: they are tied, and who writes the one spends the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch

from onnxpert.capture.unwritten import tensors
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.core.storages import storage, storage_if_any, written

# By their memory; with the tensors, so that nothing else comes to lie there.
Held: TypeAlias = dict[int, torch.Tensor]


class SecondNames:
    """Those of the way that is being recorded."""

    def __init__(self) -> None:
        self.spent: Held = {}
        self.listed: Held = {}
        self.tied: dict[int, Held] = {}  # what was made -> all that it may be
        self.made: Held = {}

    def tie(self, made: Sequence[torch.Tensor], given: Sequence[torch.Tensor]) -> None:
        """Each of what was made may be what was given in its place, in Python one memory, and so
        whatever that may be."""
        for out, value in zip(made, given, strict=True):
            if storage(value) != storage(out):
                maybe = {storage(value): value} | self.tied.get(storage(value), {})
                self.tied[storage(out)] = self.tied.get(storage(out), {}) | maybe
                self.made[storage(out)] = out

    def _shared(self, memory: int) -> Held:
        """All that may be the same memory as one."""
        maybe = self.tied.get(memory, {})
        either = {memory, *maybe}
        others = {out: self.made[out] for out, of in self.tied.items() if not either.isdisjoint(of)}
        return {one: value for one, value in (maybe | others).items() if one != memory}

    def spend(self, values: Iterable[torch.Tensor]) -> None:
        self.spent |= {storage(value): value for value in values}

    def list(self, values: Iterable[Any]) -> None:
        given = [value for value in values if isinstance(value, torch.Tensor)]
        self.listed |= {storage(value): value for value in given}

    def also(self, other: SecondNames) -> None:
        self.spent |= other.spent
        self.listed |= other.listed
        for memory, others in other.tied.items():
            self.tied[memory] = self.tied.get(memory, {}) | others
        self.made |= other.made

    @contextmanager
    def aside(self) -> Iterator[SecondNames]:
        """While a side or a turn is recorded: what becomes of a tensor there is not so elsewhere."""
        before = self.spent, self.listed, self.tied, self.made
        inside = SecondNames()
        inside.also(self)
        self.spent, self.listed = inside.spent, inside.listed
        self.tied, self.made = inside.tied, inside.made
        try:
            yield inside
        finally:
            self.spent, self.listed, self.tied, self.made = before

    def check(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
        """Raises where a call uses what is spent, or writes what is listed."""
        self.check_use((args, kwargs))
        if not self.listed and not self.tied:
            return
        for value in tensors(list(written(func, args, kwargs))):
            memory = storage_if_any(value)
            if memory in self.listed:
                raise UnwritableError("a tensor is written that a list holds, too")
            if memory is not None:
                self.spent |= self._shared(memory)

    def check_use(self, values: object) -> None:
        if self.spent and any(storage_if_any(value) in self.spent for value in tensors(values)):
            raise UnwritableError("a tensor that a loop writes is used under another name")
