"""Second rung: the recorder above autograd, for models that ask for gradients in their forward.

What the backward pass computes is recorded like everything else. Composite operators fall apart on
the way, so this rung is only for those that need it. `_ForceDispatchKeyGuard` is torch's own; this use
was tried on 2.13 and 2.15."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from onnxpert.capture.flat import owner
from onnxpert.capture.strategies.recorded import record
from onnxpert.capture.strategy import strategy
from onnxpert.core.source import ownership
from onnxpert.core.types import Captured, Loaded

_ASKS = re.compile(r"autograd|\.backward\(|enable_grad|requires_grad|\bgrad\(")


def differentiates(loaded: Loaded) -> bool:
    """Whether the model's own source speaks of gradients; only asked when the first rung failed."""
    module = owner(loaded.module)
    kinds = {type(part) for part in module.modules()} if module is not None else set()
    homes = {kind.__module__ for kind in kinds} | {getattr(loaded.module, "__module__", "")}
    files = [getattr(sys.modules.get(str(home)), "__file__", None) for home in homes]
    return any(_speaks_of_gradients(file) for file in files if file and ownership(file) > 1) or any(
        _defined_here(kind) for kind in kinds
    )


def _speaks_of_gradients(file: str) -> bool:
    with open(file, encoding="utf-8", errors="replace") as text:
        return bool(_ASKS.search(text.read()))


def _defined_here(kind: type) -> bool:
    """A class of a notebook or a session, which has no file."""
    if getattr(sys.modules.get(kind.__module__), "__file__", None):
        return False
    try:
        return bool(_ASKS.search(inspect.getsource(kind)))
    except (OSError, TypeError):
        return True  # nothing can be read: the rung itself will tell


@strategy("recorder with gradients", rung=12, takes=differentiates)
def with_gradients(loaded: Loaded) -> Captured:
    above = above_autograd()
    return record(loaded, "recorder with gradients", lambda _: above())


def above_autograd() -> Callable[[], AbstractContextManager[None]]:
    """A context in which the keys are excluded that are excluded now, whatever was added since."""
    outside = torch._C._dispatch_tls_local_exclude_set()

    @contextmanager
    def above() -> Iterator[None]:
        included = torch._C._dispatch_tls_local_include_set()
        with torch._C._ForceDispatchKeyGuard(included, outside):
            yield

    return above
