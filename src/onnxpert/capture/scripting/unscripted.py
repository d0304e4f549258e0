"""Scripted functions run as the Python they were made from, whose branches and loops can be followed.

torch keeps that Python for its own compiler, under a name that is the same in torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def scripts_as_python() -> Iterator[None]:
    """While on, a call of a scripted function is one of its Python."""
    kind: Any = torch.jit.ScriptFunction
    kept: Any = vars(kind)["__call__"]
    scripted = kind.__call__

    def call(script: Any, *args: Any, **kwargs: Any) -> Any:
        python = getattr(script, "_torchdynamo_inline", None)
        return python(*args, **kwargs) if python is not None else scripted(script, *args, **kwargs)

    kind.__call__ = call
    try:
        yield
    finally:
        kind.__call__ = kept  # as it stood there: a plain attribute of it would not be bound
