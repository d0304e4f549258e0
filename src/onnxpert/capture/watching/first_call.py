"""What a model makes in its first call and keeps: `if self.scales is None: self.scales = ...`.

Where that making cannot be followed, the model is captured as it is in every later call, with what
the example's call has made. Nothing of it stays with the model, and the proof tries other sizes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import torch

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.state import untouched
from onnxpert.core.types import Captured, Loaded, replace

logger = logging.getLogger(__name__)


def after_first_call(loaded: Loaded, run: Callable[[Loaded], Captured]) -> Captured | None:
    """The model as its second call finds it; None where the first one makes nothing to keep, or
    where later ones make it again."""
    module = owner(loaded.module)
    if not isinstance(module, torch.nn.Module):
        return None
    with untouched(module, buffers=True):
        unmade = _unmade(module)
        if not unmade:
            return None
        Flat(loaded)(*fed_copies(loaded))
        held = {
            name: part.__dict__[key]
            for name, part, key in unmade
            if part.__dict__.get(key) is not None
        }
        if not held or _makes_again(loaded, unmade, held):
            return None
        try:
            captured = run(loaded)
        except Exception:  # then there is more to it: what is told is what the first call met
            logger.debug("nor after a call", exc_info=True)
            return None
    if not held.keys().isdisjoint(captured.written):
        return None
    return replace(captured, written=(*captured.written, *sorted(held)))  # type: ignore[no-any-return]


def _makes_again(
    loaded: Loaded, unmade: list[tuple[str, Any, str]], held: Mapping[str, Any]
) -> bool:
    """Whether the next call puts another in the place of any, or raises: that is soon seen, and a
    capture may take long."""
    try:
        Flat(loaded)(*fed_copies(loaded))
    except Exception:  # what is told is what the first call met
        return True
    return any(part.__dict__.get(key) is not held.get(name) for name, part, key in unmade)


def _unmade(module: torch.nn.Module) -> list[tuple[str, Any, str]]:
    """The attributes that are None: their names, whose they are, and what they are called there."""
    return [
        (f"{path}.{key}" if path else key, part, key)
        for path, part in module.named_modules()
        for key, value in part.__dict__.items()
        if value is None and not key.startswith("_")
    ]
