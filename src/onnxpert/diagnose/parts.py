"""The modules that a model is made of, with the paths that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.source import Owner, ownership, written_at
from onnxpert.core.surrounding import uses
from onnxpert.core.types import Loaded, Location


def parts(loaded: Loaded) -> Iterator[tuple[str, Any]]:
    """The model itself under "", then everything below it; nothing for what is no module."""
    model = getattr(loaded.module, "__self__", loaded.module)
    named = getattr(model, "named_modules", None)
    if callable(named):
        yield from named()


def called_at(loaded: Loaded, path: str) -> Location | None:
    """The line of the user's that calls a part, or what it stands in: read, and not run."""
    modules, names = dict(parts(loaded)), path.split(".")
    for depth in reversed(range(len(names))):
        forward = getattr(type(modules[".".join(names[:depth])]), "forward", None)
        code = getattr(forward, "__code__", None)
        if code is not None and ownership(code.co_filename) == Owner.USER:
            written = written_at(code, path)
            return next(uses(written, f"{code.co_varnames[0]}.{names[depth]}"), loaded.source)
    return loaded.source
