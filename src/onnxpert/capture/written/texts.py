"""A text of which only a run of the file knows which one it is: `mode = "on"` on one side of a branch.

It goes on as a number that stands for the text. Whoever compares it with a text, or looks something up by
it, asks for that number."""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Mapping
from typing import Any, NoReturn

from onnxpert.capture.written.choices import Choose, chosen_of
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import Open

_UNKNOWN = "a text is used that only a run of the file knows"
_BYTES = 6  # of a digest: what a double holds as well


class OpenText(Open):
    """The text of a number that is not there yet."""

    __slots__ = ("number",)

    def __init__(self, number: Any) -> None:
        self.number = number

    def __eq__(self, other: object) -> Any:
        return isinstance(other, TEXTS) and self.number == number_of(other)

    def __ne__(self, other: object) -> Any:
        return not isinstance(other, TEXTS) or self.number != number_of(other)

    def __hash__(self) -> int:
        raise UnwritableError(_UNKNOWN)

    def _read(self, *_: Any) -> NoReturn:
        raise UnwritableError(_UNKNOWN)

    __str__ = __repr__ = __format__ = __iter__ = __len__ = __getitem__ = _read
    __bool__ = _read
    __add__ = __radd__ = __mod__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = _read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._read()


TEXTS = (str, OpenText)


def number_of(text: Any) -> Any:
    """The same for the same text, in every run."""
    if isinstance(text, OpenText):
        return text.number
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=_BYTES).digest())


def is_asked_for(one: Any, held: Any) -> bool:
    """`one in held`, where a text that is not there would be compared with each of others."""
    return isinstance(one, OpenText) and isinstance(held, (list, tuple, set, frozenset, dict))


def entry(held: Mapping[Any, Any], text: OpenText, choose: Choose) -> Any:
    """`held[text]`: one of those that it may be, or nothing of that name is there."""
    options = [
        (functools.partial(operator.eq, text, key), one)
        for key, one in held.items()
        if isinstance(key, str)
    ]
    if not options:
        raise UnwritableError("nothing has a name like that")
    texts = [one for _, one in options]
    if all(isinstance(one, str) for one in texts):
        return functools.reduce(
            lambda rest, each: choose(each[0](), lambda: each[1], lambda: rest),
            options[:-1],
            texts[-1],
        )
    return chosen_of(options, choose)
