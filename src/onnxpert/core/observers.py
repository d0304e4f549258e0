"""Modules of torch.ao that measure what passes through them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

# Where they are defined; a package that was never imported has made none.
_PACKAGES = (
    "torch.ao.quantization.fake_quantize",
    "torch.ao.quantization.observer",
    "torchao.quantization.pt2e.fake_quantize",
    "torchao.quantization.pt2e.observer",
)


def observing(module: Any) -> Iterator[str]:
    """The paths of those that are on, the outer ones only."""
    if not hasattr(module, "named_modules"):
        return
    kinds = tuple(_kinds())
    inside: list[str] = []
    for name, part in module.named_modules():
        if not isinstance(part, kinds) or any(name.startswith(f"{outer}.") for outer in inside):
            continue
        inside.append(name)
        if _is_on(part):
            yield name


def _kinds() -> Iterator[type]:
    for package in _PACKAGES:
        loaded = sys.modules.get(package)
        for name in ("FakeQuantizeBase", "ObserverBase", "AffineQuantizedObserverBase"):
            kind = getattr(loaded, name, None)
            if isinstance(kind, type):
                yield kind


def _is_on(part: Any) -> bool:
    switch = getattr(part, "observer_enabled", None)
    return switch is None or bool(switch[0])
