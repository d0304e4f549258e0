"""Second rung: the recorder above autograd, for models that ask for gradients in their forward.

What the backward pass computes is recorded like everything else. Composite operators fall apart on
the way, so this rung is only for those that need it. `_ForceDispatchKeyGuard` is torch's own; this use
was tried on 2.13 and 2.15."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from onnxpert.capture.strategies.recorded import Walker
from onnxpert.capture.strategy import strategy
from onnxpert.capture.watching.speech import speaks_of
from onnxpert.core.types import Captured, Loaded

_ASKS = re.compile(r"autograd|\.backward\(|enable_grad|requires_grad|\bgrad\(")


def differentiates(loaded: Loaded) -> bool:
    """Whether the model's own source speaks of gradients; only asked when the first rung failed."""
    return speaks_of(loaded, _ASKS)


@strategy("recorder with gradients", rung=12, takes=differentiates)
def with_gradients(loaded: Loaded) -> Captured:
    above = above_autograd()
    return Walker("recorder with gradients", lambda _: above()).captured(loaded)


def above_autograd() -> Callable[[], AbstractContextManager[None]]:
    """A context in which the keys are excluded that are excluded now, whatever was added since."""
    outside = torch._C._dispatch_tls_local_exclude_set()

    @contextmanager
    def above() -> Iterator[None]:
        included = torch._C._dispatch_tls_local_include_set()
        with torch._C._ForceDispatchKeyGuard(included, outside):
            yield

    return above
