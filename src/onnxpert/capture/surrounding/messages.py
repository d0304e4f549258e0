"""Messages that are written with `%`, as `logging` writes all of its own: `log.info("loss %.3f", loss)`.

`%` wants a number of Python's at once, where a format string asks the symbol how to say it. Whoever reads
the message is told that there is none. What is computed with must not be, so only messages are."""

from __future__ import annotations

import math
import opcode
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

from torch._subclasses.fake_tensor import FakeTensor

from onnxpert.capture.places import user_frames
from onnxpert.core.source import location
from onnxpert.core.statement import is_message

_NONE: dict[str, float] = {"__float__": math.nan, "__int__": 0, "__index__": 0}
_BINARY = opcode.opmap["BINARY_OP"]
_REMAINDERS = frozenset(
    place for place, (name, _) in enumerate(getattr(opcode, "_nb_ops", ())) if "REMAINDER" in name
)


def told(frame: FrameType, name: str, value: Any) -> float | None:
    """What a message says in the place of a symbol that is asked for a number by a frame: a size of the
    example's, or that there is none. None where no message is being written."""
    if name not in _NONE or not _is_at_remainder(frame):
        return None
    place = location(user_frames())
    if place is None or not is_message(place):
        return None
    hint = getattr(getattr(value, "node", None), "hint", None)
    return hint if type(hint) in (int, float) else _NONE[name]


def _is_at_remainder(frame: FrameType) -> bool:
    """Numbers that are divided by `%` are asked for nothing."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return 0 <= at < len(code) and code[at] == _BINARY and code[at + 1] in _REMAINDERS


@contextmanager
def tensors_in_messages() -> Iterator[None]:
    """While on, so it is for tensors, which a symbol would be taken out of."""

    def telling(plain: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
        def number(tensor: Any) -> Any:
            said = told(sys._getframe(1), name, tensor)
            return plain(tensor) if said is None else said

        return number

    with ExitStack() as stack:
        for name in _NONE:
            plain = getattr(FakeTensor, name)
            stack.enter_context(patch.object(FakeTensor, name, telling(plain, name)))
        yield
