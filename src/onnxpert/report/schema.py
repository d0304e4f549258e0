"""The JSON schema of a report, from the types of its fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from onnxpert.report.json import hints
from onnxpert.report.report import SCHEMA, Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN = {type(None): "null", bool: "boolean", int: "integer", str: "string", Path: "string"}


def schema() -> dict[str, Any]:
    """What `Report.to_json` writes; a newer minor version may add fields, so others are allowed."""
    named: dict[str, Any] = {}
    whole = _dataclass(Report, named)
    major = SCHEMA.split(".", maxsplit=1)[0]
    whole["properties"]["schema"] = {"type": "string", "pattern": rf"^{major}\.\d+$"}
    whole["required"] = [*whole["required"], "schema"]
    return {
        "$schema": DIALECT,
        "title": f"onnxpert report {SCHEMA}",
        **whole,
        "$defs": dict(sorted(named.items())),
    }


def _dataclass(kind: type[Any], named: dict[str, Any]) -> dict[str, Any]:
    known = {each.name: each for each in dataclasses.fields(kind)}
    fields = hints(kind)  # type: ignore[arg-type]  # a class is hashable, whatever mypy says of Any
    needed = [
        name
        for name in fields
        if known[name].default is dataclasses.MISSING
        and known[name].default_factory is dataclasses.MISSING
    ]
    return {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").split()),
        "properties": {name: _type(hint, named) for name, hint in fields.items()},
        "required": needed,
    }


def _type(hint: Any, named: dict[str, Any]) -> dict[str, Any]:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_type(each, named) for each in inner]}
    if origin is tuple:
        return _tuple(inner, named)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _type(inner[1], named)}
    if hint is float:  # JSON has no infinities
        return {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    return _named(hint, named)


def _tuple(inner: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return {"type": "array", "items": _type(inner[0], named)}
    items = [_type(each, named) for each in inner]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _named(hint: Any, named: dict[str, Any]) -> dict[str, Any]:
    """An enum or a value of its own, written once and referred to."""
    if hint.__name__ not in named:
        named[hint.__name__] = {}  # it may hold itself
        if issubclass(hint, Enum):
            named[hint.__name__] = {
                "description": " ".join((hint.__doc__ or "").split()),
                "enum": [each.value for each in hint],
            }
        else:
            named[hint.__name__] = _dataclass(hint, named)
    return {"$ref": f"#/$defs/{hint.__name__}"}
