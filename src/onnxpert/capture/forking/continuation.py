"""What the rest of a run depends on: the variables that Python will still read, frame by frame.

Two runs that stand at the same instructions with the same live values do the same from there on."""

from __future__ import annotations

import dis
import functools
import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeAlias

import torch

from onnxpert.capture.flat import Flat
from onnxpert.capture.forking.scripted import is_reading, standing
from onnxpert.core.source import ownership

Path: TypeAlias = tuple[Hashable, ...]
State: TypeAlias = tuple[tuple[Path, Any], ...]  # where a value is held, and which

_FAST = re.compile(r"(LOAD|STORE|DELETE)_FAST")
_ALWAYS = re.compile(r"JUMP_(?!IF)")  # `JUMP_IF_FALSE_OR_POP` may go on to the next instruction
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_DEEPEST = 6
_LAYERS = tuple(
    os.path.join("torch", "nn", *p) for p in (("modules", "container.py"), ("functional.py",))
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_SAME = (torch.nn.Module, type, FunctionType, ModuleType)  # what it is, not what is in it
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def state(frame: FrameType, known: Callable[[Any], Any], attributes: Attributes) -> State:
    """The live values from `frame` up to where the model was called; `known` names a tensor."""
    found: list[tuple[Path, Any]] = []
    readings: list[Any] = []  # the nodes that a node is within are of the same
    for depth, here in model_frames(frame):
        if is_reading(here):
            at = standing(here)
            readings.append(at.reading)
            found.append(((depth,), at.place))
            for value, held in at.live():
                found += _leaves((depth, value), held, known, _DEEPEST)
        else:
            found.append(((depth,), (here.f_code, _written(here.f_code, here.f_lasti))))
            values = dict(here.f_locals)
            for name in sorted(live(here.f_code, here.f_lasti) & values.keys()):
                if not attributes.holds(values[name]):
                    found += _leaves((depth, name), values[name], known, _DEEPEST)
    for reading in readings[:1]:  # they share what they write
        for (owner, name), value in reading.interpreter.changed.items():
            found += _leaves(("script", owner, name), value, known, _DEEPEST)
    for path, value in attributes.changed():
        found += _leaves(path, value, known, _DEEPEST)
    return tuple(found)


def model_frames(frame: FrameType) -> Iterator[tuple[int, FrameType]]:
    """The frames in which the model stands, and their numbers, from `frame` up to its call."""
    depth = 0
    readings: list[Any] = []
    here: FrameType | None = frame
    while here is not None and here.f_code is not Flat.forward.__code__:
        if is_reading(here):
            reading = standing(here).reading
            if reading not in readings:
                readings.append(reading)
                yield depth, here
                depth += 1
        elif _runs_model(here.f_code.co_filename):
            yield depth, here
            depth += 1
        here = here.f_back


def _written(code: CodeType, instruction: int) -> Hashable:
    """Where in the source an instruction stands: Python may have compiled that place twice."""
    return next(islice(code.co_positions(), instruction // 2, None), None) or instruction


def in_while(frame: FrameType) -> bool:
    """Whether the nearest loop around is one that only its condition ends."""
    here: FrameType | None = frame
    while here is not None and here.f_code is not Flat.forward.__code__:
        scripted = standing(here).in_while if is_reading(here) else None
        if scripted is not None:
            return scripted
        loops = _loops_around(here.f_code, here.f_lasti)
        if loops and _runs_model(here.f_code.co_filename):
            return not loops[-1].is_for
        here = here.f_back
    return False


def in_a_loop(frame: FrameType) -> bool:
    """Whether a loop of the model's own is under way, in this frame or in one that called it."""
    return any(
        not is_reading(here) and _loops_around(here.f_code, here.f_lasti)
        for _, here in model_frames(frame)
    )


@functools.cache
def _runs_model(file: str) -> bool:
    """The user's files and the libraries they call; of torch only its layers and their functions."""
    return bool(ownership(file)) or file.endswith(_LAYERS)


def _leaves(
    path: Path, value: Any, known: Callable[[Any], Any], depth: int
) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, torch.Tensor):
        yield path, known(value)
    elif isinstance(value, _PLAIN + _SYMBOLS):
        yield path, value
    elif isinstance(value, _SAME) or depth == 0:
        yield path, (type(value), id(value))
    elif isinstance(value, (list, tuple)):
        yield path, (type(value), len(value))
        for index, item in enumerate(value):
            yield from _leaves((*path, index), item, known, depth - 1)
    elif isinstance(value, Mapping):
        yield path, (type(value), tuple(map(repr, value.keys())))
        for key, item in value.items():
            yield from _leaves((*path, repr(key)), item, known, depth - 1)
    elif isinstance(value, (set, frozenset)):
        plain = all(isinstance(item, _PLAIN) for item in value)
        yield path, (type(value), tuple(sorted(map(repr, value))) if plain else id(value))
    else:
        yield path, type(value)
        for key, item in getattr(value, "__dict__", {}).items():
            yield from _leaves((*path, key), item, known, depth - 1)


class Attributes:
    """Which attributes of a model's parts are not what they were when the run began."""

    def __init__(self, module: torch.nn.Module | None) -> None:
        parts = () if module is None else module.named_modules()
        self._before = [
            (name, part, {key: (value, _copied(value)) for key, value in vars(part).items()})
            for name, part in parts
            if not isinstance(part, torch.jit.ScriptModule)
        ]

        self._held = {
            id(value)
            for _, _, attributes in self._before
            for value, copied in attributes.values()
            if copied is None and not isinstance(value, (torch.Tensor, *_PLAIN))
        }

    def holds(self, value: Any) -> bool:
        """A thing of the model's own, a configuration say: the same in every run."""
        return id(value) in self._held

    def changed(self) -> Iterator[tuple[Path, Any]]:
        for name, part, before in self._before:
            now = vars(part)
            for key in now.keys() | before.keys():
                value, copied = before.get(key, (_MISSING, None))
                if now.get(key, _MISSING) is not value or not _is_same(value, copied):
                    yield ("attribute", name, key), now.get(key)


_MISSING = object()


def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict, set) else None


def _is_same(value: Any, copied: Any) -> bool:
    if copied is None:
        return True
    if len(value) != len(copied):
        return False
    if isinstance(value, dict):
        return all(key in copied and value[key] is copied[key] for key in value)
    if isinstance(value, list):
        return all(a is b for a, b in zip(value, copied, strict=True))
    return bool(value == copied)


# ---- liveness ------------------------------------------------------------------------------


def live(code: CodeType, instruction: int) -> frozenset[str]:
    """The local names that may be read after the instruction at that offset, before being set."""
    after = _liveness(code)
    # Within a call Python may stand at the caches behind the instruction itself.
    at = max(offset for offset in after if offset <= instruction)
    turns = [loop.targets for loop in _loops_around(code, instruction)]
    return frozenset().union(after[at], _cells(code), *turns)


@dataclass(frozen=True, slots=True)
class _Loop:
    """From the first instruction that is run again to the jump back."""

    start: int
    end: int
    is_for: bool
    targets: frozenset[str]  # what a `for` counts with: nothing else tells how far it has come


@functools.cache
def _loops(code: CodeType) -> tuple[_Loop, ...]:
    instructions = {one.offset: one for one in dis.get_instructions(code)}
    ends: dict[int, int] = {}
    for one in instructions.values():
        if _is_jump(one) and one.argval <= one.offset:
            ends[one.argval] = max(one.offset, ends.get(one.argval, 0))
    return tuple(
        _Loop(start, end, instructions[start].opname == "FOR_ITER", _targets(code, start))
        for start, end in sorted(ends.items())
    )


def _loops_around(code: CodeType, instruction: int) -> list[_Loop]:
    """The outermost first."""
    return [loop for loop in _loops(code) if loop.start <= instruction <= loop.end]


def _targets(code: CodeType, start: int) -> frozenset[str]:
    names: set[str] = set()
    loop, *behind = (one for one in dis.get_instructions(code) if one.offset >= start)
    for one in behind if loop.opname == "FOR_ITER" else ():
        if one.opname.startswith("STORE_FAST"):
            names.update(one.argval if isinstance(one.argval, tuple) else (one.argval,))
        elif not one.opname.startswith("UNPACK"):
            break
    return frozenset(names)


def _cells(code: CodeType) -> frozenset[str]:
    """Shared with other functions, which may read them whenever they run."""
    return frozenset((*code.co_cellvars, *code.co_freevars))


@functools.cache
def _liveness(code: CodeType) -> Mapping[int, frozenset[str]]:
    """By offset, what is live after each instruction: the usual equations, from the end."""
    instructions = list(dis.get_instructions(code))
    follow = _followers(code, instructions)
    before: dict[int, frozenset[str]] = {}
    after: dict[int, frozenset[str]] = {}
    changed = True
    while changed:
        changed = False
        for one in reversed(instructions):
            out = frozenset[str]().union(*(before.get(to, ()) for to in follow[one.offset]))
            into = _needed(one, out)
            if into != before.get(one.offset) or out != after.get(one.offset):
                before[one.offset], after[one.offset] = into, out
                changed = True
    return after


def _needed(one: dis.Instruction, out: frozenset[str]) -> frozenset[str]:
    names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
    # Some instructions do two things at once; the last comes first here, since this goes backwards.
    for verb, name in reversed(list(zip(_FAST.findall(one.opname), names, strict=False))):
        out = out | {name} if verb == "LOAD" else out - {name}
    return out


def _followers(code: CodeType, instructions: list[dis.Instruction]) -> dict[int, list[int]]:
    handlers = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    follow: dict[int, list[int]] = {}
    for one, then in zip(instructions, [*instructions[1:], None], strict=True):
        places = [entry.target for entry in handlers if entry.start <= one.offset < entry.end]
        if _is_jump(one):
            places.append(one.argval)
        leaves = one.opname in _ENDS or _ALWAYS.match(one.opname)
        if then is not None and not leaves:
            places.append(then.offset)
        follow[one.offset] = places
    return follow


def _is_jump(one: dis.Instruction) -> bool:
    return one.opcode in dis.hasjrel or one.opcode in dis.hasjabs
