"""Where a model that is in training mode would do in evaluation mode as it does: draw random numbers,
normalise by the statistics of the batch.

The model is run once more, eagerly and switched over, and is afterwards as it was. `Tag` is torch's
own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.places import user_frames
from onnxpert.capture.state import untouched
from onnxpert.core.source import location
from onnxpert.core.types import Captured, replace


def with_lasting_chance(captured: Captured) -> Captured:
    """The capture, and which of its draws `eval()` would not stop; the same where none is in doubt."""
    loaded = captured.loaded
    module = owner(loaded.module) if loaded is not None else None
    if loaded is None or module is None or not module.training:
        return captured
    if not any(_acts(node.target) for node in captured.root.graph.nodes):
        return captured
    seen = _Draws()
    try:
        with untouched(module, buffers=True), _evaluating(module), torch.random.fork_rng([]), seen:
            Flat(loaded)(*fed_copies(loaded))
    except Exception:  # it does not run that way: nothing can be said
        return captured
    return replace(captured, lasting_chance=frozenset(seen.lines))  # type: ignore[no-any-return]


def _draws(target: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def _acts(target: Any) -> bool:
    return _draws(target) or "batch_norm" in str(target)


def _by_batch(func: Any, args: Any) -> bool:
    return "batch_norm" in str(func) and any(each is True for each in args[5:6])


class _Draws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.lines: set[tuple[str, int]] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        place = location(user_frames()) if _draws(func) or _by_batch(func, args) else None
        if place is not None:
            self.lines.add((place.file, place.line))
        return func(*args, **(kwargs or {}))


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    trained = [part for part in module.modules() if part.training]
    for part in trained:
        part.training = False
    try:
        yield
    finally:
        for part in trained:
            part.training = True
