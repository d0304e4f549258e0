"""Where the model itself raises when a size that was to vary does.

A run that took such a size for a number only knows the first line that wanted one. The model, called
with another size, tells which line cannot do without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from onnxpert.capture.flat import Flat, fed, fed_copies, owner
from onnxpert.capture.rolling.ties import Axis, frozen_axes
from onnxpert.capture.state import untouched
from onnxpert.capture.unwritten import Unwritten
from onnxpert.core.source import of_exception, ownership
from onnxpert.core.types import Captured, Loaded, Location, Sight, Sighting

_USER = 3


def refusals(captured: Captured) -> Iterator[Sighting]:
    """A sighting for each dimension that was asked to vary and was frozen, if the model refuses."""
    loaded = captured.loaded
    axes = [] if loaded is None else frozen_axes(loaded, captured.inputs, captured.root.graph)
    axes = [one for one in axes if one.spec.asked and one.axis is not None]
    for root in dict.fromkeys(one.root for one in axes):
        group = [one for one in axes if one.root == root]
        at = _refusal(loaded, group) if loaded is not None else None
        if at is not None and ownership(at.file) == _USER:
            for one in group:
                yield Sighting(Sight.REFUSAL, f"{one.leaf.name}.{one.axis}", at)


def _refusal(loaded: Loaded, group: list[Axis]) -> Location | None:
    module = owner(loaded.module)
    if module is None or isinstance(module, torch.jit.ScriptModule):
        return None
    values = dict(zip((leaf.name for leaf in fed(loaded)), fed_copies(loaded), strict=True))
    for one in group:
        values[one.leaf.name] = _resized(values[one.leaf.name], one)
    with (
        untouched(module, buffers=True),
        torch.no_grad(),
        torch.random.fork_rng([]),
        Unwritten(module),
    ):
        try:
            Flat(loaded)(*values.values())
        except Exception as error:
            return of_exception(error)
    return None


def _resized(value: Any, one: Axis) -> Any:
    """One more than in the example; one less where that is beyond what was asked for."""
    assert one.axis is not None
    size = value.shape[one.axis]
    if one.spec.upper is None or size < one.spec.upper:
        return torch.cat([value, value.narrow(one.axis, size - 1, 1)], one.axis)
    return value.narrow(one.axis, 0, size - 1)
