"""Lists of tuples whose length only a run of the file knows: `found.append((box, score))`.

They are kept as one list for each place in the tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import LISTS, UNDEFINED, Grown, Seen, Sight
from onnxpert.capture.written.sequences import zipped


class Tuples(Grown):
    """A list of tuples that all look alike."""

    def __init__(self, columns: Sequence[Grown], kind: type = tuple) -> None:
        list.__init__(self)
        self.columns = list(columns)
        self.kind = kind  # of the tuples, which may have names for their places
        self.number, self.axis, self.sizes, self.limit = False, None, None, None

    @property
    def count(self) -> Any:
        return self.columns[0].count

    @property
    def parts(self) -> list[torch.Tensor]:
        return [part for column in self.columns for part in column.parts]

    def take(self, other: Grown) -> None:
        assert isinstance(other, Tuples)
        self.columns = other.columns

    def copy(self) -> Tuples:
        return Tuples([column.copy() for column in self.columns], self.kind)

    def append(self, item: Any) -> None:
        for column, part in self._beside(item):
            column.append(part)

    def insert(self, place: Any, item: Any) -> None:
        for column, part in self._beside(item):
            column.insert(place, part)

    def extend(self, items: Any) -> None:
        if not isinstance(items, Tuples):
            for item in items:
                self.append(item)
            return
        for column, other in zip(self.columns, items.columns, strict=True):
            column.extend(other)

    def pop(self, place: Any = -1) -> Any:
        return self._tuple([column.pop(place) for column in self.columns])

    def __getitem__(self, place: Any) -> Any:
        parts = [column[place] for column in self.columns]
        return Tuples(parts, self.kind) if isinstance(place, slice) else self._tuple(parts)

    def __setitem__(self, place: Any, item: Any) -> None:
        for column, part in self._beside(item):
            column[place] = part

    def as_seen(self, sight: Sight) -> tuple[tuple[Any, ...], tuple[Seen, ...]]:
        return (self.kind,), tuple(map(sight.seen, self.columns))

    def put_back(self, keys: tuple[Any, ...], held: list[Any]) -> None:
        (self.kind,), self.columns = keys, held

    def _tuple(self, parts: Sequence[Any]) -> Any:
        make: Callable[[Sequence[Any]], Any] = getattr(self.kind, "_make", self.kind)
        return make(parts)

    def _beside(self, item: tuple[Any, ...]) -> Iterator[tuple[Grown, Any]]:
        if type(item) is not self.kind or len(tuple(item)) != len(self.columns):
            raise UnwritableError("a list holds tuples and other things")
        return zip(self.columns, tuple(item), strict=True)


def unzipped(rows: Any) -> Any:
    """`zip(*rows)`."""
    return tuple(rows.copy().columns) if isinstance(rows, Tuples) else zipped(*rows)


def kind_of(*lists: Seen) -> tuple[type, int] | None:
    """What the tuples are of which the lists are, and how many parts each has; None for other lists."""
    found = {form for one in lists for form in _forms(one)}
    if not any(issubclass(kind, tuple) for kind, _ in found):
        return None
    if len(found) > 1:
        raise UnwritableError("a list holds tuples and other things")
    return found.pop()


def _forms(one: Seen) -> list[tuple[type, int]]:
    if isinstance(one.value, Tuples):
        return [(one.value.kind, len(one.value.columns))]
    if isinstance(one.value, Grown):
        return [(torch.Tensor, 0)]
    items = () if one.value is UNDEFINED else one.inner or ()
    return [(item.kind, len(item.inner) if item.inner is not None else 0) for item in items]


def column(rows: Seen, place: int) -> Seen:
    """The list of what stands at one place of the tuples."""
    if rows.value is UNDEFINED:
        return rows
    if isinstance(rows.value, Tuples):
        assert rows.inner is not None
        return rows.inner[place]
    if type(rows.value) not in LISTS or getattr(rows.value, "maxlen", None) is not None:
        raise UnwritableError("a queue of tuples")
    parts = tuple(item.inner[place] for item in rows.inner or () if item.inner is not None)
    return Seen([part.value for part in parts], inner=parts)
