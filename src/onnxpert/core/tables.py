"""A thing that a call may change, as it is now: a container, the attributes of an object or a class, the
variables of a Python module or a function, a tensor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from onnxpert.core.layouts import refill

NONE = object()  # where there is nothing


@dataclass(frozen=True, slots=True)
class Change:
    """A thing that is not as it was: what the model calls it, and whose code says so."""

    name: str  # `encoder.cache.keys`
    owner: type | None  # the class that has the attribute
    attribute: str


@dataclass(frozen=True, slots=True)
class Piece:
    """One such thing, which can be brought back without the others."""

    name: str
    before: Any  # NONE: it was not there
    now: Any
    put: Callable[[Any], None]


class Table:
    """A container, or the attributes of an object, as they are now."""

    def __init__(self, held: Any, name: str, owner: type | None, attribute: str) -> None:
        self._held = held
        self._before = held.copy()
        self.name = name
        self._owner = owner
        self._attribute = attribute  # "": the keys are attributes themselves

    def changes(self) -> list[Change]:
        if _same(self._held, self._before):
            return []
        if self._attribute:
            return [Change(self.name, self._owner, self._attribute)]
        return [Change(self._called(key), self._owner, str(key)) for key in self._changed()]

    def _changed(self) -> list[Any]:
        """The keys under which there is something else."""
        now, before = self._now(), self._before
        return [key for key in {**before, **now} if now.get(key, NONE) is not before.get(key, NONE)]

    def pieces(self) -> list[Piece]:
        """What is not as it was: the whole of a container, the attributes one by one."""
        if self._attribute:
            changed = not _same(self._held, self._before)
            return (
                [Piece(self.name, self._before, self._held.copy(), self._fill)] if changed else []
            )
        now, before = self._now(), self._before
        return [
            Piece(
                self._called(key),
                before.get(key, NONE),
                now.get(key, NONE),
                partial(self._set, key),
            )
            for key in self._changed()
        ]

    def _called(self, key: Any) -> str:
        return f"{self.name}.{key}" if self.name else str(key)

    def contents(self) -> Iterator[tuple[str, Any]]:
        """What is in it now, as the model calls it: a container as a whole, attributes one by one."""
        if self._attribute:
            yield self.name, self._held
        else:
            yield from ((self._called(key), value) for key, value in self._now().items())

    @property
    def namespace(self) -> tuple[dict[str, Any], type] | None:
        """The attributes of an object, and its class."""
        is_one = not self._attribute and type(self._held) is dict and self._owner is not None
        return (self._held, self._owner) if is_one and self._owner is not None else None

    def iterators(self) -> Iterator[tuple[str, Any]]:
        """What can be asked for the next one, which tells of no change: `itertools.count()`."""
        pairs = self._before.items() if isinstance(self._before, dict) else ()
        named = (
            (self.name if self._attribute else self._called(key), value) for key, value in pairs
        )
        yield from ((name, value) for name, value in named if isinstance(value, Iterator))

    def is_changed(self) -> bool:
        return bool(self.changes())

    def renew(self) -> None:
        """What it holds now is what it held before, from here on."""
        if self.is_changed():
            self._before = self._now().copy()

    def _now(self) -> Any:
        return self._held

    def restore(self) -> None:
        if not _same(self._held, self._before):
            self._fill(self._before)

    def _fill(self, content: Any) -> None:
        self._held.clear()
        if isinstance(self._held, (list, deque)):
            self._held.extend(content)
        else:
            self._held.update(content)

    def _set(self, key: Any, value: Any) -> None:
        if value is NONE:
            self._held.pop(key, None)
        else:
            self._held[key] = value


class ClassTable(Table):
    """The attributes of a class, which can only be set one by one."""

    def __init__(self, kind: type) -> None:
        super().__init__(variables_of_class(kind), kind.__name__, kind, "")
        self._kind = kind

    def changes(self) -> list[Change]:
        self._held = self._now()
        return super().changes()

    def _now(self) -> Any:
        return variables_of_class(self._kind)

    def restore(self) -> None:
        now = variables_of_class(self._kind)
        for key in now.keys() - self._before.keys():
            delattr(self._kind, key)
        for key, value in self._before.items():
            if now.get(key, NONE) is not value:
                setattr(self._kind, key, value)

    def _set(self, key: Any, value: Any) -> None:
        if value is NONE:
            delattr(self._kind, key)
        else:
            setattr(self._kind, key, value)


class TensorTable(Table):
    """A tensor that is written to in place: which lines do is seen while they run, so none is named."""

    def __init__(self, tensor: Any, name: str) -> None:
        self._held = tensor
        self.name = name
        self._keep()

    def _keep(self) -> None:
        self._version = self._held._version
        self._before = self._held.detach().clone()

    def changes(self) -> list[Change]:
        return []

    def pieces(self) -> list[Piece]:
        return []

    @property
    def namespace(self) -> None:
        """It has none."""

    def contents(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def iterators(self) -> Iterator[tuple[str, Any]]:
        return iter(())

    def is_changed(self) -> bool:
        return bool(self._held._version != self._version)

    def renew(self) -> None:
        if self.is_changed():
            self._keep()

    def restore(self) -> None:
        if self.is_changed():
            refill(self._held, self._before)
            self._version = self._held._version


class ModuleTable(Table):
    """The variables of a Python module that its author made; what is new was imported, or is kept."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(variables_of_module(module), "", None, "")
        self._module = module

    def changes(self) -> list[Change]:
        now, before = self._now(), self._before.items()
        return [Change(key, None, key) for key, value in before if now.get(key, NONE) is not value]

    def _changed(self) -> list[Any]:
        return [change.name for change in self.changes()]

    def restore(self) -> None:
        for change in self.changes():
            self._set(change.name, self._before[change.name])

    def _now(self) -> Any:
        return variables_of_module(self._module)

    def _set(self, name: str, value: Any) -> None:
        setattr(self._module, name, value)


class ClosureTable(ModuleTable):
    """The variables that a function has of the one it was made in: `nonlocal count`."""

    def __init__(self, function: FunctionType) -> None:
        Table.__init__(self, variables_of_closure(function), "", None, "")
        self._function = function

    def _now(self) -> Any:
        return variables_of_closure(self._function)

    def _set(self, name: str, value: Any) -> None:
        place = self._function.__code__.co_freevars.index(name)
        (self._function.__closure__ or ())[place].cell_contents = value


def variables_of_closure(function: FunctionType) -> dict[str, Any]:
    found = {}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    for name, cell in cells:
        with suppress(ValueError):  # nothing is in it yet
            found[name] = cell.cell_contents
    return found


def variables_of_module(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


_CODE = (FunctionType, staticmethod, classmethod, property)


def variables_of_class(kind: type) -> dict[str, Any]:
    return {
        key: value
        for key, value in vars(kind).items()
        if not key.startswith("__") and not isinstance(value, _CODE)
    }


def _same(held: Any, before: Any) -> bool:
    if len(held) != len(before):
        return False
    if isinstance(held, dict):
        return all(key in held and held[key] is value for key, value in before.items())
    if isinstance(held, set):
        return bool(held == before)
    return all(a is b for a, b in zip(held, before, strict=True))
