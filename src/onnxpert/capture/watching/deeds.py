"""What a forward does beside computing: seen while it runs, undone where it can be."""

from __future__ import annotations

import builtins
import datetime
import io
import logging
import os
import platform
import random
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch

from onnxpert.capture.places import user_frames
from onnxpert.capture.surrounding.forgetting import forgetting
from onnxpert.capture.surrounding.one_time import Asking
from onnxpert.core.belongings import of_attributes, of_code, of_model, user_modules
from onnxpert.core.source import Owner, location, ownership
from onnxpert.core.statement import write_of
from onnxpert.core.tables import Table
from onnxpert.core.types import Deed, Done, Location

_CHANCE = (
    "random", "randint", "randrange", "uniform", "triangular", "gauss", "normalvariate",
    "lognormvariate", "vonmisesvariate", "gammavariate", "betavariate", "expovariate",
    "paretovariate", "weibullvariate", "choice", "choices", "sample", "shuffle", "getrandbits",
    "randbytes",
)  # fmt: skip
_KEPT_STILL = frozenset(
    {"seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator"}
)
_SYSTEMS_CHANCE = "os.urandom"
_MAKERS = ("default_rng", "RandomState")
_CLOCK = (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "process_time", "localtime",
    "gmtime", "strftime", "ctime",
)  # fmt: skip
_DATES = ("now", "today", "utcnow")
_NUMPY_FILES = ("load", "save", "loadtxt", "savetxt", "genfromtxt", "fromfile")
_FILES: tuple[tuple[Any, str, str], ...] = (
    (io, "open", "open"),
    (torch, "load", "torch.load"),
    (os, "listdir", "os.listdir"),
    (os, "scandir", "os.scandir"),
    (os.path, "exists", "os.path.exists"),
    (os.path, "isfile", "os.path.isfile"),
    (os.path, "isdir", "os.path.isdir"),
)
_SURROUNDINGS = (
    (os, "getpid", "the number of its process"),
    (os, "getcwd", "the working folder"),
    (os, "uname", "the name of the machine"),
    (os, "cpu_count", "the number of processors"),
    (socket, "gethostname", "the name of the machine"),
    (platform, "node", "the name of the machine"),
    (platform, "system", "the name of the system"),
    (threading, "get_ident", "the number of its thread"),
)
# `os.getenv` and `os.environ.get`, which ask for it themselves.
_ASKING_FOR_THEM = ("os", "_collections_abc", "collections.abc")
_QUESTIONS = (
    (torch.onnx, "is_in_onnx_export", "torch.onnx.is_in_onnx_export"),
    (torch.compiler, "is_exporting", "torch.compiler.is_exporting"),
    (torch.compiler, "is_compiling", "torch.compiler.is_compiling"),
    (torch.jit, "is_tracing", "torch.jit.is_tracing"),
    (torch.jit, "is_scripting", "torch.jit.is_scripting"),
)
Owners = Mapping[str, tuple[type | None, str]]
_NOBODYS: Owners = {}


def _watched() -> Iterator[tuple[Any, str, Deed, str]]:
    """What is looked out for: where it is found, its name there, and what it is to the user."""
    yield builtins, "print", Deed.PRINT, "print"
    for stream in ("stdout", "stderr"):
        yield getattr(sys, stream), "write", Deed.PRINT, f"sys.{stream}.write"
    yield warnings, "warn", Deed.PRINT, "warnings.warn"
    yield builtins, "open", Deed.FILE, "open"
    for home, name, what in _FILES:
        yield home, name, Deed.FILE, what
    yield subprocess.Popen, "__init__", Deed.OUTSIDE, "another process"
    yield socket.socket, "connect", Deed.OUTSIDE, "the network"
    yield socket, "getaddrinfo", Deed.OUTSIDE, "the network"
    yield os, "urandom", Deed.CHANCE, _SYSTEMS_CHANCE
    yield random, "_urandom", Deed.CHANCE, _SYSTEMS_CHANCE
    for name in _CHANCE:
        yield random, name, Deed.CHANCE, f"random.{name}"
        if name in dir(random.Random):
            yield random.Random, name, Deed.CHANCE, f"random.Random.{name}"
    numpy = sys.modules.get("numpy.random")
    for name in _NUMPY_FILES if numpy is not None else ():
        yield sys.modules["numpy"], name, Deed.FILE, f"numpy.{name}"
    for name in (*dir(numpy.RandomState), *_MAKERS) if numpy is not None else ():
        if not name.startswith("_") and name not in _KEPT_STILL:
            yield numpy, name, Deed.CHANCE, f"numpy.random.{name}"
    for name in _CLOCK:
        yield time, name, Deed.CLOCK, f"time.{name}"
    for home, name, what in _QUESTIONS:
        yield home, name, Deed.QUESTION, what
    yield type(os.environ), "__getitem__", Deed.ENVIRONMENT, "an environment variable"
    for home, name, what in _SURROUNDINGS:
        yield home, name, Deed.ENVIRONMENT, what
    # Which is called of what is not filtered out.
    yield logging.Logger, "_log", Deed.PRINT, "a logger"


class Deeds:
    """What was seen so far, each thing once per line."""

    def __init__(self, root: torch.nn.Module, running: Callable[[], str] = str) -> None:
        self._root = root
        self._running = running  # which part of the model is at work
        self._asking = Asking()
        self._paths = {id(part): name for name, part in root.named_modules()}
        self._seen: dict[tuple[Deed, str, str, int], Done] = {}
        self._assigned: dict[str, Location] = {}  # where it was given what it had at the end
        self._advanced: dict[str, Location | None] = {}  # iterators that were asked for the next
        self._deaf = False
        self._generator: Callable[[Any], Any] = _as_it_is  # what is given for a new one of NumPy's
        self._iterators: dict[int, tuple[Deed, str]] = {}
        self._begun: set[str] = set()  # what was given an empty container, for others to fill

    @property
    def assigned(self) -> Collection[str]:
        """The attributes of modules that were given a value."""
        return self._assigned.keys()

    def note(self, deed: Deed, what: str, at: Location | None, *, guessed: bool = False) -> None:
        if self._deaf:
            return
        key = (deed, what, at.file if at else "", at.line if at else 0)
        self._seen.setdefault(key, Done(deed, what, at, guessed))

    def done(self, written: list[str], owners: Owners = _NOBODYS) -> tuple[Done, ...]:
        """All of it; `written` names the attributes that were found to have changed, `owners` the
        classes of those that are not the modules' own."""
        attributes = [self._attribute(name, owners) for name in written]
        advanced = [Done(Deed.ATTRIBUTE, name, at) for name, at in self._advanced.items()]
        return (*self._seen.values(), *attributes, *advanced)

    @property
    def advanced(self) -> tuple[str, ...]:
        """The attributes that are iterators, and were asked for what comes next."""
        return tuple(self._advanced)

    def _attribute(self, name: str, owners: Owners) -> Done:
        """Where an attribute was assigned; where a container is changed, the source has to tell."""
        assigned = self._assigned.get(name)
        if assigned is not None and name not in self._begun:
            return Done(Deed.ATTRIBUTE, name, assigned)
        return Done(Deed.ATTRIBUTE, name, self._place(name, assigned, owners), guessed=True)

    def _place(self, name: str, assigned: Location | None, owners: Owners) -> Location | None:
        path, _, attribute = name.rpartition(".")
        part = next((p for n, p in self._root.named_modules() if n == path), None)
        kind, attribute = owners.get(name, (type(part) if part is not None else None, attribute))
        found = _written_by(kind, attribute, path, filled=True)
        if found is None and assigned is None:
            found = _written_by(kind, attribute, path)
        if found is None and assigned is None:
            files = [str(module.__file__) for module in user_modules(self._root)]
            others = (write_of(file, attribute, path, attribute=True) for file in files)
            found = next((place for place in others if place is not None), None)
        return found or assigned

    @contextmanager
    def watching(self, *, closely: bool = False) -> Iterator[None]:
        """While on, everything of the kind is noted, and does what it always does; `closely` puts
        others in the place of what strict torch.export, which reads bytecode, has to know."""
        modules = user_modules(self._root)
        held = of_code(self._root)
        self._iterators = dict(self._found_iterators(held)) if closely else {}
        with ExitStack() as stack:
            stack.callback(self._look_back, held)  # last of all, when nothing is watched any more
            stack.enter_context(forgetting(modules))
            if closely:  # before the types that it knows are watched themselves
                stack.enter_context(self._drawing(modules))
            self._watch_calls(stack, modules)
            self._dated(stack, modules)
            if closely:
                stack.enter_context(patch.object(builtins, "next", self._advancing()))
            stack.enter_context(patch.object(torch.nn.Module, "__setattr__", self._assigning()))
            yield

    def _watch_calls(self, stack: ExitStack, modules: list[ModuleType]) -> None:
        aliases: dict[int, list[tuple[ModuleType, str]]] = {}  # `from time import time`
        for module in modules:
            for alias, value in vars(module).items():
                aliases.setdefault(id(value), []).append((module, alias))
        for home, name, deed, what in _watched():
            plain = getattr(home, name, None)
            if plain is None or not hasattr(home, "__dict__"):
                continue
            known = aliases.get(id(plain), [])
            names = {name, *(alias for _, alias in known)}
            makes = name in _MAKERS
            seen = self._making(plain) if makes else self._calling(plain, deed, what, names)
            stack.enter_context(patch.object(home, name, seen))
            for module, alias in known:
                if module is not home:
                    stack.enter_context(patch.object(module, alias, seen))

    def _dated(self, stack: ExitStack, modules: list[ModuleType]) -> None:
        """`datetime.now()`: a method of a type that nothing can be put into."""
        for plain in (datetime.datetime, datetime.date):
            seen = self._dating(plain)
            for home in (datetime, *modules):
                for alias, value in list(vars(home).items()):
                    if value is plain:
                        stack.enter_context(patch.object(home, alias, seen))

    def _dating(self, plain: type) -> type:
        methods = {
            name: staticmethod(self._calling(found, Deed.CLOCK, f"{plain.__name__}.{name}", {name}))
            for name in _DATES
            if (found := getattr(plain, name, None)) is not None
        }
        # An instance of the plain one is one of these too, as far as anybody asks.
        kind: Any = type(
            "type", (type,), {"__instancecheck__": lambda _, one: isinstance(one, plain)}
        )
        seen: type = kind(plain.__name__, (plain,), methods)
        return seen

    def _calling(
        self, plain: Callable[..., Any], deed: Deed, what: str, names: Set[str]
    ) -> Callable[..., Any]:
        def seen(*args: Any, **kwargs: Any) -> Any:
            # The library's own look at the clock (a log has the time in it) decides nothing.
            # `random.uniform` asks for a `Random.random` itself.
            directly = deed in (Deed.CLOCK, Deed.ENVIRONMENT) or what.startswith("random.Random")
            by = _ASKING_FOR_THEM if deed is Deed.ENVIRONMENT else ()
            # A scripted function asks torch's own questions itself, where no line says so.
            unsaid = deed is Deed.QUESTION and names.isdisjoint(sys._getframe(1).f_code.co_names)
            if not unsaid and _asked_by_user(directly=directly, by=by):
                self.note(deed, what, location(user_frames(), self._running()))
                if deed is Deed.CLOCK or what == _SYSTEMS_CHANCE:
                    return self._asking.told(what, (args, kwargs), lambda: plain(*args, **kwargs))
            return plain(*args, **kwargs)

        return seen

    @contextmanager
    def _drawing(self, modules: list[ModuleType]) -> Iterator[None]:
        """NumPy's generators, whose methods cannot be replaced: others in their place, on the same bits."""
        numpy: Any = sys.modules.get("numpy.random")
        if numpy is None:
            yield
            return
        holders = [vars(part) for part in self._root.modules()] + [vars(one) for one in modules]
        kinds = {
            plain: type(plain.__name__, (plain,), {"__getattribute__": self._looking_up(plain)})
            for plain in (numpy.Generator, numpy.RandomState)
        }
        kept = [
            (holder, name, value)
            for holder in holders
            for name, value in list(holder.items())
            if type(value) in kinds
        ]
        self._generator = lambda plain: kinds[type(plain)](_bits(plain))
        for holder, name, value in kept:
            holder[name] = self._generator(value)
        try:
            yield
        finally:
            self._generator = _as_it_is
            for holder, name, value in kept:
                if isinstance(holder.get(name), tuple(kinds.values())):
                    holder[name] = value

    def _making(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """`default_rng()` in forward draws where it is asked to; with a seed, the same every time."""

        def make(*seed: Any, **named: Any) -> Any:
            is_chance = not (seed or named) and _asked_by_user()
            self._deaf = True  # to where it gets its first bits from
            try:
                made = plain(*seed, **named)
            finally:
                self._deaf = False
            return self._generator(made) if is_chance else made

        return _as_a_type(make, plain) if isinstance(plain, type) else make

    def _looking_up(self, kind: type) -> Callable[..., Any]:
        def look_up(generator: Any, name: str) -> Any:
            if not name.startswith("_") and name != "bit_generator" and _asked_by_user():
                place = location(user_frames(), self._running())
                self.note(Deed.CHANCE, f"numpy.random.{kind.__name__}", place)
            return object.__getattribute__(generator, name)

        return look_up

    def _advancing(self) -> Callable[..., Any]:
        """`next(self.steps)`: a counter that goes on from call to call."""
        plain = builtins.next

        def advance(iterator: Any, *default: Any) -> Any:
            if _asked_by_user(directly=True):
                self._stepped(iterator)
            return plain(iterator, *default)

        return advance

    def _found_iterators(self, code: list[Table]) -> Iterator[tuple[int, tuple[Deed, str]]]:
        """Those of the variables, and of the model's own attributes and objects."""
        tables = [(Deed.GLOBAL, each) for each in code]
        own = (*of_model(self._root), *of_attributes(self._root))
        tables += [(Deed.ATTRIBUTE, each) for each in own]
        for deed, table in tables:
            yield from ((id(value), (deed, name)) for name, value in table.iterators())

    def _stepped(self, iterator: Any) -> None:
        deed, name = self._iterators.get(id(iterator), (None, ""))
        at = location(user_frames(), self._running())
        if deed is Deed.ATTRIBUTE:
            self._advanced[name] = at
        elif deed is not None:
            self.note(deed, name, at)

    def _assigning(self) -> Callable[..., None]:
        plain = torch.nn.Module.__setattr__

        def assign(part: torch.nn.Module, name: str, value: Any) -> None:
            plain(part, name, value)
            path = self._paths.get(id(part))
            at = location(user_frames(), path or "") if path is not None else None
            if at is not None:
                full = f"{path}.{name}" if path else name
                self._assigned[full] = at
                empty = isinstance(value, (dict, list, set)) and not value
                (self._begun.add if empty else self._begun.discard)(full)

        return assign

    def _look_back(self, held: list[Table]) -> None:
        """A variable may be met where it is imported, and is written where it is made."""
        files = [str(module.__file__) for module in user_modules(self._root)]
        for table in held:
            for change in table.changes():
                at = _written_by(change.owner, change.attribute, "")
                # A line that gives the name something new may do so before anything is called.
                places = (
                    write_of(file, change.attribute, filled=filled)
                    for filled in (True, False)
                    for file in files
                )
                at = at or next((found for found in places if found is not None), None)
                self.note(Deed.GLOBAL, change.name, at, guessed=True)
            table.restore()


def _as_it_is(thing: Any) -> Any:
    return thing


def _bits(generator: Any) -> Any:
    return getattr(generator, "bit_generator", None) or generator._bit_generator


def _as_a_type(make: Callable[..., Any], plain: type) -> type:
    """What makes such things, and still says of the others whether they are such."""

    def is_such(_: type, thing: Any) -> bool:
        return isinstance(thing, plain)

    # Static: a call of it comes from the user, with nothing of ours between.
    made: Any = type(
        "Made", (type,), {"__call__": staticmethod(make), "__instancecheck__": is_such}
    )
    named: type = type.__call__(made, plain.__name__, (plain,), {})
    return named


def _written_by(
    kind: type | None, attribute: str, path: str, *, filled: bool = False
) -> Location | None:
    """The line of a class, or of one that it is made of, which writes an attribute."""
    for each in kind.__mro__ if kind is not None else ():
        file = getattr(sys.modules.get(each.__module__), "__file__", None)
        if file and ownership(file):
            found = write_of(file, attribute, path, each.__qualname__, filled=filled)
            if found is not None:
                return found
    return None


def _asked_by_user(*, directly: bool = False, by: Collection[str] = ()) -> bool:
    """Whether the call comes from the user's own code, by way of the standard library at most, or of
    these modules of it."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        owner = ownership(file)
        if directly and frame.f_globals.get("__name__") not in by:
            return owner == Owner.USER
        if owner:
            return owner == Owner.USER
        if f"{os.sep}torch{os.sep}" in file or "onnxpert" in file:
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return False
