"""The user's model left as it was: attributes and buffers that a run changes are put back, and named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from onnxpert.core import belongings
from onnxpert.core.dice import dice_kept
from onnxpert.core.layouts import refill
from onnxpert.core.storages import storage
from onnxpert.core.tables import Table


class Changes:
    """Which attributes a run wrote (`layer.cache`); filled in when the run is over."""

    def __init__(self) -> None:
        self.attributes: list[str] = []
        self.tables: list[Table] = []  # what the model and its code hold, as it was before
        # Of what the model's objects hold: the class, and what it calls it.
        self.owners: dict[str, tuple[type | None, str]] = {}


@contextmanager
def untouched(module: object, *, buffers: bool = False, code: bool = True) -> Iterator[Changes]:
    """Whatever the block does to the module's attributes is undone; so is, unless somebody else sees
    to it, what it does to the variables of the user's code and, on request, to buffers."""
    changes = Changes()
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        with dice_kept():
            yield changes
        return
    before = [(name, part, snapshot(part)) for name, part in module.named_modules()]
    held = belongings.of_model(module)
    variables = belongings.of_code(module) if code else []
    changes.tables = [*held, *variables]
    kinds = (*module.buffers(), *(tensor for _, tensor in belongings.plain_tensors(module)))
    # Quantised ones cannot all be copied, and nothing writes to them.
    plain = [b for b in kinds if not b.is_quantized] if buffers else []
    kept = [(b, b._version, b.detach().clone()) for b in plain]
    # `weight.data = ...` leaves the tensor and changes what is in it, which its storage tells.
    held_by = (*module.parameters(), *module.buffers())
    contents = [(t, t.data) for t in held_by if t.layout is torch.strided]
    try:
        with dice_kept():  # runs that are compared have to draw the same
            yield changes
    finally:
        for name, part, seen in before:
            for key in restore(part, seen):
                changes.attributes.append(f"{name}.{key}" if name else key)
        for table in held:
            for change in table.changes():
                changes.attributes.append(change.name)
                changes.owners[change.name] = (change.owner, change.attribute)
            table.restore()
        for table in variables:
            table.restore()
        for tensor, content in contents:
            if storage(tensor) != storage(content):
                tensor.data = content
        for buffer, version, value in kept:
            if buffer._version != version or _differs(buffer, value):
                refill(buffer, value)


def _differs(buffer: torch.Tensor, value: torch.Tensor) -> bool:
    """A version does not tell of batch norm, which writes where its schema says nothing."""
    real = type(buffer) is torch.Tensor and buffer.layout is torch.strided and not buffer.is_meta
    return real and not torch.equal(buffer, value)


_TABLES = ("_parameters", "_buffers", "_modules")
_BESIDE = "_non_persistent_buffers_set"  # names of buffers, which are told by themselves


def snapshot(part: Any) -> dict[str, Any]:
    """The attributes as they are; containers one level deep, since those are changed in place."""
    return {
        key: (value, value.copy() if type(value) in (dict, list, set) else None)
        for key, value in part.__dict__.items()
        if key != "__builtins__"  # every module has Python's own, and nobody's to put back
    }


def restore(part: Any, before: dict[str, Any]) -> Iterator[str]:
    """Puts the attributes back, and names those that had changed."""
    now = part.__dict__
    for key in [key for key in now if key not in before and key != "__builtins__"]:
        del now[key]
        yield key
    for key, (value, copied) in before.items():
        if (found := now.get(key, _MISSING)) is not value:
            now[key] = value
            if not _alike(found, value if copied is None else copied):
                yield key
        if copied is not None and not _same(value, copied):
            names = _rewritten(value, copied) if key in _TABLES else [key]
            _refill(value, copied)
            yield from (name for name in names if name != _BESIDE)


def _rewritten(value: dict[str, Any], copied: dict[str, Any]) -> list[str]:
    return [key for key in value if key not in copied or value[key] is not copied[key]]


def _same(value: Any, copied: Any) -> bool:
    if len(value) != len(copied):
        return False
    if isinstance(value, dict):
        return all(key in copied and value[key] is copied[key] for key in value)
    if isinstance(value, list):
        return all(a is b for a, b in zip(value, copied, strict=True))
    return bool(value == copied)


def _alike(found: Any, value: Any) -> bool:
    """Whether it is the same, or holds the same: torch.export puts copies of containers back."""
    if found is value or type(found) is not type(value):
        return found is value
    if isinstance(value, (list, tuple)) and len(found) == len(value):
        return all(map(_alike, found, value))
    if isinstance(value, dict) and found.keys() == value.keys():
        return all(_alike(found[key], value[key]) for key in value)
    return False


def _refill(value: Any, copied: Any) -> None:
    value.clear()
    if isinstance(value, list):
        value.extend(copied)
    else:
        value.update(copied)


_MISSING = object()
