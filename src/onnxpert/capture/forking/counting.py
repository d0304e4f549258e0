"""What Python counts and collects while a `while` turns: kept an eye on, since no graph shows it.

A counter stays a number, of a kind that tells when Python decides something by it. Which turn that
would be in is not for a few turns to tell. `PyFrame_LocalsToFast` is how a debugger sets a variable up
to Python 3.12; from 3.13 on, `f_locals` does it by itself."""

from __future__ import annotations

import ctypes
import dis
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from onnxpert.capture.forking.continuation import State, model_frames
from onnxpert.core.source import ownership

_ARITHMETIC = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod"),
    *("truediv", "rtruediv", "pow", "rpow", "neg", "pos", "abs", "invert", "and", "rand", "or"),
    *("ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift"),
)
_DECISIONS = ("lt", "le", "eq", "ne", "gt", "ge", "bool", "int", "float", "round", "hash", "divmod")
_TESTS = ("COMPARE_OP", "CONTAINS_OP", "IS_OP", "POP_JUMP", "JUMP_IF", "TO_BOOL", "UNARY_NOT")
_KEPT = ("RETURN_VALUE", "POP_TOP", "YIELD_VALUE")  # where a value goes that no test can see


@dataclass(slots=True)
class Watch:
    """Whether Python has decided something by what it counted."""

    decided: bool = False

    def note(self, frame: FrameType) -> None:
        self.decided = self.decided or bool(ownership(frame.f_code.co_filename))


class _Counted:
    """A number of Python's own that tells; what is computed from it does so too."""

    watch: Watch


class CountedInt(_Counted, int):
    """A whole one."""


class CountedFloat(_Counted, float):
    """What a division of one gives."""


def counted(value: Any, watch: Watch) -> Any:
    if type(value) not in (int, float):
        return value
    made: Any = (CountedInt if type(value) is int else CountedFloat)(value)
    made.watch = watch
    return made


def _computed(plain: type, name: str) -> Callable[..., Any]:
    method = getattr(plain, name)

    def compute(self: Any, *others: Any) -> Any:
        return counted(method(self, *others), self.watch)

    return compute


def _decided(plain: type, name: str) -> Callable[..., Any]:
    method = getattr(plain, name)

    def decide(self: Any, *others: Any) -> Any:
        self.watch.note(sys._getframe(1))
        return method(self, *others)

    return decide


for _kind, _plain in ((CountedInt, int), (CountedFloat, float)):
    for _make, _names in ((_computed, _ARITHMETIC), (_decided, _DECISIONS)):
        for _name in (f"__{_short}__" for _short in _names):
            if hasattr(_plain, _name):
                setattr(_kind, _name, _make(_plain, _name))


class CountedList(list[Any]):
    """A list that tells when Python decides something by how long it has become."""

    watch: Watch

    def __len__(self) -> int:
        frame = sys._getframe(1)
        if _is_tested(frame.f_code, frame.f_lasti):
            self.watch.note(frame)
        return super().__len__()

    def __eq__(self, other: object) -> bool:
        self.watch.note(sys._getframe(1))
        return super().__eq__(other)

    __hash__ = None


@functools.cache
def _is_tested(code: CodeType, instruction: int) -> bool:
    """Whether what the instruction gives may be compared, now or from a variable."""
    for one in dis.get_instructions(code):
        if one.offset < instruction or (one.offset == instruction and one.opname == "CALL"):
            continue
        if one.opname.startswith((*_TESTS, "STORE_FAST", "STORE_DEREF", "STORE_ATTR")):
            return True
        if one.opname.startswith(_KEPT):
            return False
    return False


# ---- variables -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """A local name of a frame of the model's, counted from the one that asks."""

    depth: int
    name: str


class UncountableError(Exception):
    """Something changes from turn to turn that is neither a tensor, a counter nor a list."""


def growing(before: State, after: State) -> frozenset[Variable]:
    """The variables that a turn counts up, or appends to. Raises UncountableError."""
    old, new = dict(before), dict(after)
    found = {
        _variable(path)
        for path in old.keys() & new.keys()
        if _is_count(old[path], new[path]) or _is_longer(old[path], new[path])
    }
    lists = {(one.depth, one.name) for one in found}
    for path in old.keys() ^ new.keys():
        if path[:2] not in lists:
            raise UncountableError(f"{path} is not there in every turn")
    return frozenset(found)


def _variable(path: Any) -> Variable:
    if len(path) != 2 or not isinstance(path[0], int) or not isinstance(path[1], str):
        raise UncountableError(f"{path} changes")
    return Variable(*path)


def _is_count(old: Any, new: Any) -> bool:
    if not _is_plain(old) or not _is_plain(new):
        return False
    if old == new and type(old) is type(new):
        return False
    if isinstance(old, bool) or not isinstance(old, int) or not isinstance(new, int):
        raise UncountableError("a variable changes")
    return True


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes))


def _is_longer(old: Any, new: Any) -> bool:
    if not isinstance(old, tuple) or not isinstance(new, tuple) or old == new:
        return False
    if old[0] not in (list, CountedList) or new[0] not in (list, CountedList):
        raise UncountableError("a container changes")
    return bool(old[1:] != new[1:])


def install(frame: FrameType, variables: frozenset[Variable], watch: Watch) -> None:
    """Has the variables hold values that tell."""
    by_depth: dict[int, list[str]] = {}
    for one in variables:
        by_depth.setdefault(one.depth, []).append(one.name)
    for depth, here in model_frames(frame):
        meant = dict(_told(here.f_locals, by_depth.get(depth, ()), watch))
        if meant:
            _assign(here, meant)


def _told(held: Mapping[str, Any], names: Any, watch: Watch) -> Iterator[tuple[str, Any]]:
    for name in names:
        value = held.get(name)
        if type(value) is list:
            # Another name for it would be left with a list that no longer grows.
            if sys.getrefcount(value) > _OWN_REFERENCES:
                raise UncountableError(f"{name} goes by another name")
            made = CountedList(value)
            made.watch = watch
            yield name, made
        elif type(value) is int:
            yield name, counted(value, watch)


def _assign(frame: FrameType, meant: Mapping[str, Any]) -> None:
    values = frame.f_locals
    values.update(meant)
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def _references() -> int:
    """How many references a list has, seen from `_told`, that only a variable holds."""
    seen: list[int] = []

    def look(held: Mapping[str, Any], name: str) -> None:
        value = held.get(name)
        seen.append(sys.getrefcount(value))

    def own() -> None:
        variable: list[Any] = []
        look(sys._getframe().f_locals, "variable")
        del variable

    own()
    return seen[0]


_OWN_REFERENCES = _references()
