"""Rung for models in which `torch.cond`, `torch.while_loop` or a scan stands beside branches of Python's.

`torch.export` keeps the one and stops at the other; the recorder the other way round. As Python both are
branches and loops like any."""

from __future__ import annotations

import re

from onnxpert.capture.higher_order import as_python
from onnxpert.capture.strategies.recorded import Walker
from onnxpert.capture.strategy import runs_as_python, strategy
from onnxpert.capture.watching.speech import speaks_of
from onnxpert.core.types import Captured, Loaded

_OPERATORS = re.compile(r"\b(cond|while_loop|scan)\(")


def _uses_operators(loaded: Loaded) -> bool:
    return runs_as_python(loaded) and speaks_of(loaded, _OPERATORS)


@strategy("recorder with operators as Python", rung=40, takes=_uses_operators, lines=True)
def opened(loaded: Loaded) -> Captured:
    return Walker("recorder with operators as Python", as_python).captured(loaded)
