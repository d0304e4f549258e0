"""What variables hold while a model is written down: values that are not there yet, and lists whose
length only a run of the file knows."""

from __future__ import annotations

import copy
import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.packed import part, piece, turned

SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_sym: Any = torch  # whose functions of symbols have no types
NUMBERS = (bool, int, float, *SYMBOLS)
LISTS = (list, deque)  # deques are lists that may have a limit
_OTHERS = (set,)  # containers that are only looked at: they must not change


class ByPlace(list[Any]):
    """A list to functions that ask for one: nothing is held by it, and nothing put into it."""


def is_list(value: Any) -> bool:
    return isinstance(value, LISTS) and not isinstance(value, ByPlace)


def is_record(value: Any) -> bool:
    """Whether it is an object of a dataclass, whose fields say all of it."""
    is_plain = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_plain and hasattr(value, "__dict__") and not isinstance(value, (dict, *LISTS, tuple))


class Open:
    """What compares with others as a run of the file will find."""


class Undefined:
    """A variable that has no value, or one that nobody can know."""

    def __repr__(self) -> str:
        return "undefined"

    def _read(self, *_: Any) -> NoReturn:
        raise UnwritableError("a variable is read that a loop or a branch leaves open")

    # What would else have an answer: that it is nothing that it is compared with, and in no table.
    __bool__ = __eq__ = __ne__ = __hash__ = _read


UNDEFINED = Undefined()


class Grown(list[Any]):
    """A list of tensors that all look alike, one behind the other along a new first axis; or, where
    they differ in one axis, along that one, with the size of each."""

    def __init__(
        self,
        rows: torch.Tensor,
        *,
        number: bool = False,
        axis: int | None = None,
        sizes: torch.Tensor | None = None,
        limit: int | None = None,
        noted: Callable[[Iterable[Any]], None] = lambda _: None,
    ) -> None:
        super().__init__()
        self.noted = noted  # is told what is put into it, which is copied
        self.rows = rows
        self.number = number  # its items are Python's numbers
        self.axis = axis
        self.sizes = sizes
        self.limit = limit  # of a deque: what is too many falls off at the other end

    @property
    def count(self) -> Any:
        return (self.rows if self.sizes is None else self.sizes).shape[0]

    @property
    def parts(self) -> list[torch.Tensor]:
        return [self.rows] if self.sizes is None else [self.rows, self.sizes]

    def like(self, rows: torch.Tensor, sizes: torch.Tensor | None = None) -> Grown:
        return Grown(
            rows,
            number=self.number,
            axis=self.axis,
            sizes=sizes,
            limit=self.limit,
            noted=self.noted,
        )

    def take(self, other: Grown) -> None:
        self.rows, self.sizes, self.axis = other.rows, other.sizes, other.axis

    def as_seen(self, sight: Sight) -> tuple[tuple[Any, ...], tuple[Seen, ...]]:  # noqa: ARG002
        return (self.axis,), tuple(map(Seen, self.parts))

    def put_back(self, keys: tuple[Any, ...], held: list[Any]) -> None:
        self.rows, *rest = held
        (self.axis,) = keys
        self.sizes = rest[0] if rest else None

    # ---- as Python's -----------------------------------------------------------------------

    def append(self, item: Any) -> None:
        self._fit(item)
        self.noted([item])
        self.take(joined([self, single(item, self)]))
        self.cut(last=True)

    def insert(self, place: Any, item: Any) -> None:
        if place != 0:
            raise UnwritableError("a list is written in the middle")
        self._fit(item)
        self.noted([item])
        self.take(joined([single(item, self), self]))
        self.cut(last=False)

    def appendleft(self, item: Any) -> None:
        self.insert(0, item)

    def popleft(self) -> Any:
        return self.pop(0)

    def cut(self, *, last: bool) -> None:
        """Not more than the limit: the last ones, or the first."""
        if self.limit is None:
            return
        self._even()
        length = _sym.sym_min(self.count, self.limit)
        self.rows = self.rows.narrow(0, self.count - length if last else 0, length)

    def _fit(self, item: Any) -> None:
        """An item of another size makes it a list of different ones. torch would take for granted
        that two sizes are one where it cannot know."""
        if not isinstance(item, torch.Tensor):
            return
        own = list(self.rows.shape[1:])
        if self.axis is not None:
            own.insert(self.axis, item.shape[self.axis])
        if len(own) != item.dim():
            raise UnwritableError("the items of a list differ in their number of axes")
        other = [axis for axis, size in enumerate(item.shape) if not _is_same(size, own[axis])]
        if len(other) > 1 or (other and self.axis is not None):
            raise UnwritableError("the items of a list differ in more than one axis")
        if other:
            (axis,) = other
            self.sizes = torch.full([self.count], own[axis], dtype=torch.int64)
            self.rows = self.rows.movedim(axis + 1, 1).flatten(0, 1)
            self.axis = axis

    def extend(self, items: Any) -> None:
        for item in items if not isinstance(items, Grown) else ():
            self.append(item)
        if isinstance(items, Grown):
            if items.axis != self.axis:
                raise UnwritableError("two lists differ in the size of their items")
            self.take(joined([self, items]))
            self.cut(last=True)

    def __add__(self, other: Any) -> Grown:
        result = self.copy()
        result.extend(other)
        return result

    def __radd__(self, other: Any) -> Grown:
        result = self.copy()
        for item in reversed(other):
            result.insert(0, item)
        return result

    def __iadd__(self, other: Any) -> Grown:
        self.extend(other)
        return self

    def copy(self) -> Grown:
        return self.like(self.rows, self.sizes)

    def reverse(self) -> None:
        self.take(self[::-1])

    def pop(self, place: Any = -1) -> Any:
        if place not in (0, -1):
            raise UnwritableError("a list is written in the middle")
        item = self[place]
        self.take(self[1:] if place == 0 else self[: self.count - 1])
        return item

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self._part(place)
        if isinstance(place, int) and place < 0:
            place = self.count + place
        if self.sizes is not None:
            return piece(self.rows, self.sizes, place).movedim(0, self.axis or 0)
        item = torch.select(self.rows, 0, place)
        return item.item() if self.number else item

    def _part(self, place: slice) -> Grown:
        is_turned = place.step == -1 and place.start is place.stop is None
        if self.sizes is None:
            return self.like(self.rows.flip(0) if is_turned else self.rows[place])
        if is_turned:
            return self.like(*turned(self.rows, self.sizes))
        if place.step not in (None, 1):
            raise UnwritableError("a list whose items differ in size is cut in steps")
        return self.like(*part(self.rows, self.sizes, place))

    def __setitem__(self, place: Any, item: Any) -> None:
        self._even()
        if isinstance(place, slice):
            if place.step is not None or place.stop is not None:
                raise UnwritableError("a list is written in the middle")
            self.take(self[: place.start or 0])
            self.extend(item)
            return
        self.noted([item])
        rows = self.rows.clone()
        torch.select(rows, 0, place).copy_(as_tensor(item, self.rows.dtype))
        self.rows = rows

    def _even(self) -> None:
        if self.sizes is not None:
            raise UnwritableError(
                "a list whose items differ in size is written in the middle, or has a limit"
            )

    def __len__(self) -> int:
        raise UnwritableError("the length of a list is not known")

    def __iter__(self) -> Iterator[Any]:
        raise UnwritableError("the items of a list are not known")

    def __bool__(self) -> bool:
        raise UnwritableError("the length of a list is not known")

    __hash__ = None


def _is_same(a: Any, b: Any) -> bool:
    one, other = (s.node.expr if isinstance(s, torch.SymInt) else s for s in (a, b))
    return bool(one == other)


def as_tensor(value: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value if dtype is None or value.dtype is dtype else value.to(dtype)
    if isinstance(value, (bool, torch.SymBool)):
        return torch.full([], value, dtype=torch.bool)  # type: ignore[arg-type]
    fraction = isinstance(value, (float, torch.SymFloat))
    return torch.scalar_tensor(value, dtype=dtype or (torch.float64 if fraction else torch.int64))


def single(item: Any, like: Grown) -> Grown:
    """A list of one."""
    if (
        not isinstance(item, (torch.Tensor, *NUMBERS))
        or isinstance(item, torch.Tensor) == like.number
    ):
        raise UnwritableError("a list holds tensors and other things")
    tensor = as_tensor(item, like.rows.dtype if like.number else None)
    if like.axis is None:
        return like.like(tensor.unsqueeze(0))
    size = torch.full([1], tensor.shape[like.axis], dtype=torch.int64)
    return like.like(tensor.movedim(like.axis, 0), size)


def joined(lists: list[Grown]) -> Grown:
    rows = torch.cat([one.rows for one in lists])
    sizes = [one.sizes for one in lists if one.sizes is not None]
    return lists[0].like(rows, torch.cat(sizes) if sizes else None)


# ---- containers as they were ---------------------------------------------------------------


@dataclass(slots=True)
class Seen:
    """A value as it is now, containers with what they hold."""

    value: Any
    keys: tuple[Any, ...] | None = None  # of a dictionary; what a list that grows is made of
    inner: tuple[Seen, ...] | None = None  # of a container
    first: Seen | None = None  # of a list or dictionary under a second name: the first one
    number: int = 0  # of a list or dictionary: how many were met before it
    made: Any = None  # what has taken its place

    @property
    def kind(self) -> type:
        return type(self.value)

    def restore(self) -> Any:
        """Puts back into containers what they held."""
        if self.first is not None:
            return self.value
        if isinstance(self.value, _OTHERS):
            self.value.clear()
            self.value.update(self.keys or ())
        if self.inner is None:
            return self.value
        held = [one.restore() for one in self.inner]
        if isinstance(self.value, Grown):
            self.value.put_back(self.keys or (None,), held)
        elif isinstance(self.value, LISTS):
            _refill(self.value, held)
        elif isinstance(self.value, dict):
            assert self.keys is not None
            self.value.clear()
            self.value.update(zip(self.keys, held, strict=True))
        elif is_record(self.value):
            _set_fields(self, self.value, held)
        return self.value

    def kept(self) -> Any:
        """The same, and so is whatever it holds: that may go by a name of its own."""
        value = self.restore()
        self._mark()
        return value

    def _mark(self) -> None:
        self.made = self.value
        for one in self.inner or ():
            one._mark()


class Sight:
    """Values looked at together: a container that goes by two names is met twice."""

    def __init__(self, settled: Callable[[Any], Any] = lambda value: value) -> None:
        self._met: dict[int, Seen] = {}
        self._settled = settled  # says what a value is here

    def seen(self, value: Any) -> Seen:
        value = self._settled(value)
        known_by_name = is_list(value) or isinstance(value, dict) or is_record(value)
        if known_by_name and id(value) in self._met:
            return Seen(value, first=self._met[id(value)])
        found = Seen(value, number=len(self._met))
        if known_by_name:
            self._met[id(value)] = found
        if isinstance(value, Grown):
            found.keys, found.inner = value.as_seen(self)
        elif type(value) in LISTS or (isinstance(value, tuple) and type(value) is not torch.Size):
            found.inner = tuple(map(self.seen, value))
        elif isinstance(value, dict):
            found.keys, found.inner = tuple(value), tuple(map(self.seen, value.values()))
        elif is_record(value):
            fields = vars(value)
            found.keys, found.inner = tuple(fields), tuple(map(self.seen, fields.values()))
        elif isinstance(value, _OTHERS):
            found.keys = tuple(value)
        return found


def rebuilt(old: Seen, held: list[Any], *, same: bool) -> Any:
    """The container of `old` with other things in it: the `same` object, where it is one all along;
    else what else goes by it keeps what it holds."""
    value = old.value if same or isinstance(old.value, tuple) else copy.copy(old.value)
    if isinstance(value, tuple):
        make: Callable[..., Any] = getattr(type(value), "_make", type(value))
        return make(held)
    if isinstance(value, dict):
        assert old.keys is not None
        value.clear()
        value.update(zip(old.keys, held, strict=True))
    elif is_record(value):
        _set_fields(old, value, held)
    else:
        _refill(value, held)
    return value


def _set_fields(seen: Seen, value: Any, held: list[Any]) -> None:
    """Of a frozen one, too: nobody but us sees it in between."""
    assert seen.keys is not None
    vars(value).clear()
    vars(value).update(zip(seen.keys, held, strict=True))


def _refill(value: Any, held: list[Any]) -> None:
    value.clear()
    value.extend(held)


def same_value(a: Any, b: Any) -> bool:
    """Whether two values that are no containers are one for certain."""
    if a is b:
        return True
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return False
    if isinstance(a, SYMBOLS) or isinstance(b, SYMBOLS):
        return type(a) is type(b) and bool(a.node.expr == b.node.expr)
    if type(a) is not type(b) or isinstance(a, Open):
        return False
    try:
        return bool(a == b)
    except Exception:  # of whatever class the model has it: then it is another
        return False
