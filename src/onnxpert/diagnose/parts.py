"""The modules that a model is made of, with the paths that lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.types import Loaded


def parts(loaded: Loaded) -> Iterator[tuple[str, Any]]:
    """The model itself under "", then everything below it; nothing for what is no module."""
    model = getattr(loaded.module, "__self__", loaded.module)
    named = getattr(model, "named_modules", None)
    if callable(named):
        yield from named()
