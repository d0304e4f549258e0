"""Attributes by which a forward hands values on to its own later lines: every call writes them first.

Reversible normalisation keeps a mean so, from the layer that takes it off to the one that puts it back.
Nothing of it is left to the next call, whatever the attribute still holds by then."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from typing import Any, Self
from unittest.mock import patch

import torch

from onnxpert.core.types import Deed, Done, replace


class HandingOn(ExitStack):
    """While on, sees which of these attributes are written before they are read, and read."""

    def __init__(self, root: torch.nn.Module, names: Collection[str]) -> None:
        super().__init__()
        self._paths = {id(part): name for name, part in root.named_modules()}
        self._attributes = {name.rpartition(".")[2] for name in names}
        self.written: set[str] = set()
        self._read: set[str] = set()
        self._kept: set[str] = set()  # read as an earlier call, or none, has left them

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._read - self._kept)

    def __enter__(self) -> Self:
        kind: Any = torch.nn.Module
        write, read = kind.__setattr__, kind.__getattribute__

        def writing(part: torch.nn.Module, name: str, value: Any) -> None:
            write(part, name, value)
            if name in self._attributes:
                self.written.add(self._path(part, name))

        def reading(part: torch.nn.Module, name: str) -> Any:
            if name in self._attributes:
                path = self._path(part, name)
                (self._read if path in self.written else self._kept).add(path)
            return read(part, name)

        self.enter_context(patch.object(kind, "__setattr__", writing))
        self.enter_context(patch.object(kind, "__getattribute__", reading))
        return self

    def _path(self, part: torch.nn.Module, name: str) -> str:
        path = self._paths.get(id(part))
        return f"{path}.{name}" if path else name


def marked(
    done: Iterable[Done], handed_on: Collection[str], cached: Collection[str]
) -> tuple[Done, ...]:
    """What was done, with the attributes told apart that no call leaves to the next, or that every call
    would make the same."""
    return tuple(
        replace(one, handed_on=one.what in handed_on, cached=one.what in cached)
        if one.deed is Deed.ATTRIBUTE
        else one
        for one in done
    )
