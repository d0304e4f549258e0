"""Frozen values to JSON and back, driven by their type hints."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import numbers
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from onnxpert.core.errors import UsageError

T = TypeVar("T")


def dumps(value: Any) -> str:
    """JSON that any parser reads: infinities and NaN, which JSON lacks, are written as strings."""
    return json.dumps(encode(value), indent=2, allow_nan=False)


def loads(kind: type[T], text: str, *, schema: str = "") -> T:
    """The value of type `kind` that `dumps` wrote. Raises UsageError for any other text.

    With `schema`, any version of the same major number: what a newer minor one added is left out."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise UsageError(f"this is not JSON: {error}") from error
    if not isinstance(plain, dict):
        raise UsageError(f"this is not a {kind.__name__}: {_shown(plain)}")
    newer = bool(schema) and _newer(plain.get("schema"), schema, kind.__name__)
    return typing.cast(T, decode(kind, plain, kind.__name__, newer))


def _newer(found: Any, ours: str, what: str) -> bool:
    """Whether the text has a later minor version than ours. Raises UsageError for another major."""
    try:
        (major, minor), (our_major, our_minor) = (
            map(int, str(version).split(".")) for version in (found, ours)
        )
    except ValueError:
        major, minor, our_major, our_minor = -1, 0, 0, 0
    if major != our_major:
        raise UsageError(
            f"this {what} has schema {_shown(found)}, not {ours}",
            "read it with the version of onnxpert that wrote it",
        )
    return minor > our_minor


def encode(value: Any) -> Any:
    """The value in the words of JSON: None, bool, int, float, str, list and dict."""
    for kind, encoder in _ENCODERS:
        if isinstance(value, kind):
            return encoder(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # What does not count when two values are compared is no part of the value.
        fields = [each for each in dataclasses.fields(value) if each.compare]
        return {each.name: encode(getattr(value, each.name)) for each in fields}
    raise TypeError(f"a {type(value).__name__} has no place in a report")


def field_names(kind: type[Any]) -> list[str]:
    """The fields that are part of a value; what it is not compared by is not."""
    return [each.name for each in dataclasses.fields(kind) if each.compare]


def _real(value: Any) -> float | str:
    number = float(value)
    return number if math.isfinite(number) else str(number)


# The first that fits is taken: a bool is an int too, and a StrEnum a str. numpy's numbers are
# registered with `numbers`, so they come out as Python's own.
_ENCODERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((bool, type(None)), lambda value: value),
    (Enum, lambda value: encode(value.value)),
    ((str, Path), str),
    (numbers.Integral, int),
    (numbers.Real, _real),
    (Mapping, lambda value: {str(key): encode(item) for key, item in value.items()}),
    ((tuple, list), lambda value: [encode(item) for item in value]),
)


def decode(hint: Any, plain: Any, where: str, newer: bool = False) -> Any:
    """The value of type `hint` that `encode` turned into `plain`; `where` is for the message.

    `newer`: it was written by a later version, so that a field we do not know is no mistake."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _optional(inner, plain, where, newer)
    if origin is tuple:
        return _tuple(inner, _checked(list, plain, where), where, newer)
    if origin is Mapping:
        items = _checked(dict, plain, where).items()
        return {key: decode(inner[1], item, f"{where}.{key}", newer) for key, item in items}
    return _whole(hint, plain, where, newer)


def _whole(kind: type[Any], plain: Any, where: str, newer: bool) -> Any:
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, _checked(dict, plain, where), where, newer)
    if issubclass(kind, Enum):
        return _enum(kind, plain, where)
    if issubclass(kind, Path):
        return kind(_checked(str, plain, where))
    return _float(plain, where) if kind is float else _checked(kind, plain, where)


def _optional(inner: tuple[Any, ...], plain: Any, where: str, newer: bool) -> Any:
    (kind,) = (each for each in inner if each is not type(None))
    return None if plain is None else decode(kind, plain, where, newer)


def _tuple(inner: tuple[Any, ...], plain: list[Any], where: str, newer: bool) -> tuple[Any, ...]:
    kinds = [inner[0]] * len(plain) if len(inner) == 2 and inner[1] is Ellipsis else list(inner)
    if len(kinds) != len(plain):
        raise UsageError(f"{where} must have {len(kinds)} items, not {len(plain)}")
    pairs = zip(kinds, plain, strict=True)
    return tuple(
        decode(kind, item, f"{where}[{at}]", newer) for at, (kind, item) in enumerate(pairs)
    )


@functools.cache
def hints(kind: type[Any]) -> Mapping[str, Any]:
    """The type of each field that is part of a value; resolved once, for a graph has thousands."""
    known = typing.get_type_hints(kind)
    return {name: known[name] for name in field_names(kind)}


def _dataclass(kind: type[Any], plain: dict[str, Any], where: str, newer: bool) -> Any:
    known = hints(kind)  # type: ignore[arg-type]  # a class is hashable, whatever mypy says of Any
    if (unknown := sorted(set(plain) - set(known))) and not newer:
        raise UsageError(f"{where} has no field {unknown[0]!r}")
    values = {
        name: decode(known[name], item, f"{where}.{name}", newer)
        for name, item in plain.items()
        if name in known
    }
    try:
        return kind(**values)
    except TypeError as error:  # a field without a default was left out
        raise UsageError(f"{where} is not whole: {error}") from error


def _enum(kind: type[Enum], plain: Any, where: str) -> Enum:
    try:
        return kind(plain)
    except ValueError as error:
        known = ", ".join(str(each.value) for each in kind)
        raise UsageError(f"{where} is {_shown(plain)}, not one of {known}") from error


def _float(plain: Any, where: str) -> float:
    if plain in ("inf", "-inf", "nan"):
        return float(plain)
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise UsageError(f"{where} is {_shown(plain)}, not a number")
    return float(plain)


def _checked(kind: type[T], plain: Any, where: str) -> T:
    if not isinstance(plain, kind) or (isinstance(plain, bool) and kind is not bool):
        raise UsageError(f"{where} is {_shown(plain)}, not of type {kind.__name__}")
    return plain


def _shown(plain: Any) -> str:
    text = json.dumps(plain)
    return text if len(text) <= 60 else text[:57] + "..."
