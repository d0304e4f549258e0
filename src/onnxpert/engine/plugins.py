"""What the user brings along: lowerings from a file, a module or an installed package."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any

from onnxpert.core.bodies import is_custom, qualified
from onnxpert.core.errors import UsageError
from onnxpert.core.types import Request
from onnxpert.load.user_code import import_file, import_module, on_path
from onnxpert.lower import catalogue
from onnxpert.lower.lowering import Lowering

GROUP = "onnxpert.plugins"
_KNOWN_FORMS = (
    "a plugin is a function with @onnxpert.lowering(...), a module, or the path of a Python file"
)


@dataclass(frozen=True, slots=True)
class Plugins:
    """The lowerings by what they lower, and the calls that must be captured whole for them."""

    lowerings: Mapping[Any, tuple[Lowering, ...]]
    whole: frozenset[Any]


def gathered(request: Request) -> Plugins:
    """What the request brings, before what installed packages bring.

    Raises UsageError for a plugin that is none, or that cannot be imported."""
    _check_domains(request.custom_domains)
    own = [one for given in request.plugins for one in _lowerings(given)]
    table: dict[Any, list[Lowering]] = {}
    for one in (*own, *_installed()):
        for key in one.overloads:
            for meant in _meant(key):
                table.setdefault(meant, []).append(one)
    return Plugins(
        {key: tuple(ones) for key, ones in table.items()},
        frozenset({*_names(table), *_own_names(), *request.custom_domains}),
    )


def _lowerings(given: Any) -> Iterator[Lowering]:
    if isinstance(given, Lowering):
        yield given
        return
    if isinstance(given, (str, PathLike)):
        given = _imported(fspath(given))
    if not isinstance(given, ModuleType):
        name = getattr(given, "__name__", repr(given))
        raise UsageError(f"{name} is not a plugin", _KNOWN_FORMS)
    found = [value for value in vars(given).values() if isinstance(value, Lowering)]
    if not found:
        where = getattr(given, "__file__", None) or given.__name__
        raise UsageError(f"there is no lowering in {where}", _KNOWN_FORMS)
    yield from found


def _imported(text: str) -> ModuleType:
    path = Path(text)
    if not text.endswith(".py"):
        return import_module(text)
    if not path.is_file():
        raise UsageError(f"there is no file `{text}`", "a plugin is the path of a Python file")
    with on_path(path.resolve().parent):
        return import_file(path.resolve())


@functools.cache
def _installed() -> tuple[Lowering, ...]:
    found: list[Lowering] = []
    for entry in entry_points(group=GROUP) if _is_there() else ():
        try:
            found += _lowerings(entry.load())
        except Exception as error:  # somebody else's package, whatever is wrong with it
            raise UsageError(
                f"the plugin `{entry.name}` ({entry.value}) cannot be used: {error}",
                f"mend or uninstall the package that brings it, {_package(entry)}",
            ) from error
    return tuple(found)


def _is_there() -> bool:
    """Whether any package speaks of the group: quicker than to have all of them parsed."""
    folders = [folder for folder in map(Path, sys.path) if folder.is_dir()]
    return any(
        GROUP.encode() in file.read_bytes()
        for folder in folders
        for kind in ("dist", "egg")
        for file in folder.glob(f"*.{kind}-info/entry_points.txt")
    )


def _package(entry: Any) -> str:
    return entry.dist.name if entry.dist is not None else "which has no name"


def _meant(key: Any) -> Iterable[Any]:
    """The operators that a name stands for now, and the name for those that are yet to come."""
    if not isinstance(key, str):
        return (key,)
    import torch

    namespace, _, rest = key.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if packet is None:
        return (key,)
    overloads = [overload] if overload else packet.overloads()
    return (key, *(getattr(packet, each) for each in overloads if hasattr(packet, each)))


@functools.cache
def _own_names() -> frozenset[Any]:
    return frozenset(_names(catalogue()))


def _names(keys: Iterable[Any]) -> Iterator[Any]:
    """How a capture knows them: operators by name, autograd functions by class."""
    for key in keys:
        if isinstance(key, type):
            yield key
        elif isinstance(key, str):
            yield key.partition(".")[0]
        elif is_custom(key):
            yield qualified(key)


def _check_domains(domains: Mapping[str, str]) -> None:
    for key, domain in domains.items():
        name, at, version = domain.partition("@")
        if not name or (at and not version.isdecimal()):
            raise UsageError(
                f"custom_domains: {domain!r} is not a domain for {key!r}",
                'write a name such as "com.example", or "com.example@2" for its version 2',
            )
        if key.partition("::")[0] in ("aten", "prims", ""):
            raise UsageError(
                f"custom_domains: {key!r} is not a namespace of custom operators",
                'write {"my": "com.example"} for torch.ops.my, or {"my::op": ...} for one of them',
            )
