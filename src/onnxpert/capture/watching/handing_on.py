"""Attributes by which a forward hands values on to its own later lines: every call writes them first.

Reversible normalisation keeps a mean so, from the layer that takes it off to the one that puts it back.
Nothing of it is left to the next call, whatever the attribute still holds by then."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Self
from unittest.mock import patch

import torch

from onnxpert.core.tables import Table
from onnxpert.core.types import Deed, Done, replace


class HandingOn(ExitStack):
    """While on, sees which of these attributes are written before they are read, and read."""

    def __init__(
        self, root: torch.nn.Module, names: Collection[str], tables: Sequence[Table] = ()
    ) -> None:
        """`tables` are those of the objects that the model holds."""
        super().__init__()
        self._paths = {id(vars(part)): name for name, part in root.named_modules()}
        self._kinds: dict[type, None] = {torch.nn.Module: None}
        changed = list(names)
        for table in tables:
            space = table.namespace
            pieces = table.pieces() if space is not None else []
            if space is not None and pieces:
                self._paths[id(space[0])] = table.name
                self._kinds[space[1]] = None
                changed += [piece.name for piece in pieces]
        self._attributes = {name.rpartition(".")[2] for name in changed}
        self.written: set[str] = set()
        self._read: set[str] = set()
        self._kept: set[str] = set()  # read as an earlier call, or none, has left them

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._read - self._kept)

    def __enter__(self) -> Self:
        for kind in self._kinds:
            self._watch(kind)
        return self

    def _watch(self, kind: Any) -> None:
        write, read = kind.__setattr__, kind.__getattribute__

        def writing(part: Any, name: str, value: Any) -> None:
            write(part, name, value)
            if name in self._attributes:
                self.written.add(self._path(part, name))

        def reading(part: Any, name: str) -> Any:
            if name in self._attributes:
                path = self._path(part, name)
                (self._read if path in self.written else self._kept).add(path)
            return read(part, name)

        with suppress(TypeError):  # a class of Python's own, which nothing can be put into
            self.enter_context(patch.object(kind, "__setattr__", writing))
            self.enter_context(patch.object(kind, "__getattribute__", reading))

    def _path(self, part: Any, name: str) -> str:
        path = self._paths.get(id(object.__getattribute__(part, "__dict__")))
        return f"{path}.{name}" if path else name


def marked(
    done: Iterable[Done], handed_on: Collection[str], cached: Collection[str]
) -> tuple[Done, ...]:
    """What was done, with the attributes told apart that no call leaves to the next, or that every call
    would make the same."""
    return tuple(
        replace(one, handed_on=one.what in handed_on, cached=one.what in cached)
        if one.deed in (Deed.ATTRIBUTE, Deed.GLOBAL)
        else one
        for one in done
    )
