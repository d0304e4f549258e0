"""What crosses the border of a page: which variables change in there, and how each is handed over.

A slot, which is one or more tensors, is widened until it holds what every turn, or either side, gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import (
    LISTS,
    NUMBERS,
    UNDEFINED,
    Grown,
    Seen,
    as_tensor,
    joined,
    rebuilt,
    single,
)
from onnxpert.capture.written.looks import Look
from onnxpert.capture.written.pages import PageRecorder
from onnxpert.capture.written.texts import OpenText, number_of
from onnxpert.capture.written.tuples import Tuples, column


class FirstTurnError(UnwritableError):
    """What a loop begins with is nothing like what a turn leaves: the first one is its own."""


# ---- slots ---------------------------------------------------------------------------------


@dataclass
class Slot(ABC):
    """One variable, or a part of one."""

    def looks(self) -> Iterator[Look]:
        yield from ()

    @abstractmethod
    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        """The value that the tensors are, on the page that is open."""

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        """The tensors that a value is."""
        del value
        yield from ()


@dataclass
class Same(Slot):
    """What nothing changes."""

    value: Seen

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:  # noqa: ARG002
        return self.value.kept()


@dataclass
class Again(Slot):
    """A container that goes by two names: what it is under the first."""

    first: Seen

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:  # noqa: ARG002
        return UNDEFINED if self.first.made is None else self.first.made


@dataclass
class Lost(Slot):
    """What nobody can know afterwards."""

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:  # noqa: ARG002
        return UNDEFINED


@dataclass
class One(Slot):
    """A tensor, or a number that is one on the way."""

    look: Look
    number: type | None = None

    def looks(self) -> Iterator[Look]:
        yield self.look

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        tensor = next(tensors)
        return tensor if self.number is None else recorder.read(tensor)

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        given = value.value
        if given is UNDEFINED or given is None:
            given = 0
        if isinstance(given, NUMBERS) and (self.look.sizes or self.number is None):
            sizes = [0 if size is None else size for size in self.look.sizes]
            number: Any = given
            yield torch.full(sizes, number, dtype=self.look.dtype)
            return
        tensor = as_tensor(given, self.look.dtype)
        if tensor.dim() != len(self.look.sizes):
            raise UnwritableError("a tensor has another number of axes")
        yield tensor


@dataclass
class Text(Slot):
    """A text, which is a number on the way."""

    def looks(self) -> Iterator[Look]:
        yield Look(torch.int64, ())

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        return OpenText(recorder.read(next(tensors)))

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        given = value.value
        number = 0 if given is UNDEFINED else number_of(given)
        yield as_tensor(number, torch.int64)


@dataclass
class Maybe(Slot):
    """A tensor, or None."""

    one: One
    absent: bool  # what a truth is where it is None
    truth: Any = None

    def looks(self) -> Iterator[Look]:
        yield from self.one.looks()

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        tensor = self.one.taken(recorder, tensors)
        recorder.absences.note(tensor, self.truth, self.absent)
        return tensor

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        yield from self.one.tensors(value)


@dataclass
class Many(Slot):
    """A container that keeps its shape."""

    old: Seen
    parts: list[Slot]
    same: bool = False  # it is one object all along, and whoever knows it sees it change

    def looks(self) -> Iterator[Look]:
        for part in self.parts:
            yield from part.looks()

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        held = [part.taken(recorder, tensors) for part in self.parts]
        self.old.made = rebuilt(self.old, held, same=self.same)
        return self.old.made

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        inner = value.inner
        if inner is None:  # nothing yet
            inner = tuple(Seen(UNDEFINED) for _ in self.parts)
        for part, one in zip(self.parts, inner, strict=True):
            yield from part.tensors(one)


@dataclass
class Growing(Slot):
    """A list whose length changes."""

    item: Look
    number: bool
    axis: int | None = None
    rows: Look = field(init=False)
    old: Seen = field(default_factory=lambda: Seen(UNDEFINED))
    same: bool = False  # it is one list all along, and whoever knows it sees it grow
    limit: int | None = None

    def __post_init__(self) -> None:
        sizes = list(self.item.sizes)
        if self.axis is not None:
            sizes.pop(self.axis)
        if any(size is None for size in sizes):
            raise UnwritableError("the items of a list differ in more than one axis")
        self.rows = Look(self.item.dtype, (None, *sizes))

    def looks(self) -> Iterator[Look]:
        yield self.rows
        if self.axis is not None:
            yield Look(torch.int64, (None,))

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        rows = next(tensors)
        sizes = next(tensors) if self.axis is not None else None
        made = Grown(
            rows,
            number=self.number,
            axis=self.axis,
            sizes=sizes,
            limit=self.limit,
            noted=recorder.second_names.list,
        )
        if self.same:
            self.old.value.take(made)
        self.old.made = self.old.value if self.same else made
        return self.old.made

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        if isinstance(value.value, Grown):
            if value.keys != (self.axis,):
                raise UnwritableError("the items of a list differ in size")
            yield from (one.value for one in value.inner or ())
            return
        dtype = self.item.dtype
        empty = torch.zeros([0, *self.rows.sizes[1:]], dtype=dtype)
        sizes = None if self.axis is None else torch.zeros([0], dtype=torch.int64)
        whole = Grown(empty, number=self.number, axis=self.axis, sizes=sizes)
        inner = () if value.value is UNDEFINED else value.inner or ()
        pieces = [single(one.value, whole) for one in inner]
        yield from (joined(pieces) if pieces else whole).parts


@dataclass
class Columns(Many):
    """A list of tuples whose length changes: a list for each place in them."""

    kind: type = tuple

    def taken(self, recorder: PageRecorder, tensors: Iterator[torch.Tensor]) -> Any:
        made = Tuples([part.taken(recorder, tensors) for part in self.parts], self.kind)
        if self.same:
            self.old.value.take(made)
        self.old.made = self.old.value if self.same else made
        return self.old.made

    def tensors(self, value: Seen) -> Iterator[torch.Tensor]:
        for place, part in enumerate(self.parts):
            yield from part.tensors(column(value, place))


def is_lost(slot: Slot) -> bool:
    """Whether a part of it is what nobody can know."""
    return any(isinstance(part, Lost) for part in leaves(slot))


def leaves(slot: Slot) -> Iterator[Slot]:
    """What a slot is made of in the end."""
    if isinstance(slot, Many):
        for part in slot.parts:
            yield from leaves(part)
    else:
        yield slot


def retire(slot: Slot, value: Seen) -> None:
    """A list that another has taken the place of: whoever knows it by another name is not to use it."""
    if isinstance(slot, (Growing, Columns)):
        if type(value.value) in LISTS:
            value.value.clear()
            value.value.append(UNDEFINED)
    elif isinstance(slot, Many):
        for part, one in zip(slot.parts, value.inner or (), strict=False):
            retire(part, one)
