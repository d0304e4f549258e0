"""What was asked of the weights: to be left out, or to stay in a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxpert.core.errors import UsageError
from onnxpert.core.types import (
    Captured,
    CaptureFailed,
    Filling,
    Finding,
    InputKind,
    Loaded,
    Lowered,
    Request,
    Unfilled,
    replace,
)
from onnxpert.save.checkpoint import Checkpoint
from onnxpert.save.fakes import has_no_values
from onnxpert.save.filling import fill_module
from onnxpert.save.pointing import Pointing, locations, point

LATER = "later"
_FAKE = "CAP003"


@dataclass(frozen=True)
class Wish:
    """The option `weights`, opened."""

    later: bool = False
    checkpoint: Checkpoint | None = None
    locations: Mapping[Path, str] = field(default_factory=dict)  # empty: nothing is kept

    def __bool__(self) -> bool:
        return self.later or self.checkpoint is not None


def wished(request: Request, keep: bool) -> Wish:
    """Raises UsageError where it cannot be met; said before anything is captured."""
    if not request.weights:
        return Wish()
    if request.weights == (LATER,):
        _check_later(request)
        return Wish(later=True)
    checkpoint = Checkpoint(request.weights)
    if not keep or request.path is None:
        return Wish(checkpoint=checkpoint)
    if not checkpoint.files and all(isinstance(each, Mapping) for each in request.weights):
        return Wish(checkpoint=checkpoint)  # values for a fake model, and no file to point at
    return Wish(checkpoint=checkpoint, locations=locations(checkpoint, request.path.parent))


def _check_later(request: Request) -> None:
    for name in ("precision", "quantize"):
        if getattr(request, name, ""):
            raise UsageError(
                f'weights="later" and {name}={getattr(request, name)!r} exclude each other: '
                "what to turn is found by running the model",
                "export with the weights, or leave one of them out",
            )


def with_values(loaded: Loaded, wish: Wish) -> tuple[Loaded, Filling | None]:
    """A fake model with the values of the checkpoint; one that has values of its own as it is."""
    import torch

    if wish.checkpoint is None or not isinstance(loaded.module, torch.nn.Module):
        return loaded, None
    tensors = (*loaded.module.parameters(), *loaded.module.buffers())
    if not any(has_no_values(tensor) for tensor in tensors):
        return loaded, None
    module, filling = fill_module(loaded.module, wish.checkpoint)
    if filling.missing or filling.misfits:
        return loaded, filling
    return replace(loaded, module=module), filling


def awaited(
    findings: Iterable[Finding], captured: Captured | CaptureFailed | None, wish: Wish
) -> list[Finding]:
    """Without what is said of fake weights, where it is known that they come later.

    Of a module with a checkpoint it is said key by key which ones it does not have."""
    import torch

    kept = list(findings)
    if not wish or not isinstance(captured, Captured):
        return kept
    module = captured.loaded.module if captured.loaded else None
    if not wish.later and not isinstance(module, torch.nn.Module):
        return kept
    nameless = any(
        entry.kind is InputKind.CONSTANT and entry.tensor is not None
        for entry in captured.inputs
        if entry.tensor is not None and has_no_values(entry.tensor)
    )
    # A tensor that is no parameter and no buffer has no key to be filled by.
    return kept if nameless else [finding for finding in kept if finding.rule != _FAKE]


def unfilled(captured: Captured | CaptureFailed | None) -> Unfilled | None:
    """What a file written now is going to lack."""
    if not isinstance(captured, Captured):
        return None
    fake = [
        entry
        for entry in captured.inputs
        if entry.tensor is not None and has_no_values(entry.tensor)
    ]
    if not fake:
        return None
    module: Any = captured.loaded.module if captured.loaded else None
    known = getattr(module, "state_dict", None)  # a method of a module, a mapping of a program
    keys = None if known is None else set(known(keep_vars=True) if callable(known) else known)
    outside = [entry.name for entry in fake if keys is not None and entry.name not in keys]
    total = sum(entry.tensor.numel() * entry.tensor.element_size() for entry in fake)
    source = captured.loaded.source if captured.loaded else None
    return Unfilled(len(fake), total, tuple(outside), source)


def pointing(lowered: Lowered, wish: Wish) -> Pointing | None:
    """Where the weights of the finished model lie in the checkpoint; None where none is meant."""
    if wish.checkpoint is None or not wish.checkpoint.files:
        return None
    return point(lowered.model, wish.checkpoint, wish.locations)
