"""What a repair is: a name, the rules it cures, how safe it is, and the change it makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from onnxpert.core.types import Finding, Loaded, Safety


@dataclass(frozen=True)
class Repair:
    """A cure for a finding, made on a copy: the user's own model is never touched."""

    name: str
    cures: tuple[str, ...]
    safety: Safety
    apply: Callable[[Loaded, Finding], Loaded]
    about: str


def repair(
    name: str, *, cures: tuple[str, ...], safety: Safety
) -> Callable[[Callable[[Loaded, Finding], Loaded]], Repair]:
    """Make a `Repair` of a function from (Loaded, Finding) to a new Loaded."""

    def decorate(apply: Callable[[Loaded, Finding], Loaded]) -> Repair:
        return Repair(name, cures, safety, apply, inspect.getdoc(apply) or "")

    return decorate
