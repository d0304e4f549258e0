"""A walk that was ended, or died, in words: how, in which stage, in which module."""

from __future__ import annotations

from onnxpert.core.types import Hit, Stopped

# A command says this one before there is anything to walk with.
_NAMES = {"read": "reading the source of the model", "start": "the start of the process"}


def ended(stopped: Stopped, how: str, help: str) -> Hit:
    stage = _NAMES.get(stopped.stage, f"the stage `{stopped.stage}`")
    where = f", in the module `{stopped.module}`" if stopped.module else ""
    return Hit(f"{stage} {how}{where}", at=stopped.location, help=help)
