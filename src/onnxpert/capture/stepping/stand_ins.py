"""What a line goes on with where the example made it raise: the thing nearest to what it was to give."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnxpert.capture.unwritten import tensors

NAME = "_ox_stand_ins"
_NOTHING_KNOWN = 1  # it multiplies, divides and counts without a trace


class StandIns:
    """Who rewritten code calls: does what it would have done, and catches the one error alone."""

    def __init__(self) -> None:
        self._stopped: set[tuple[type[BaseException], str]] = set()

    def meets(self, error: BaseException) -> None:
        """An error that is to be gone past: the same of another value is another one."""
        self._stopped.add((type(error), str(error)))

    def item(self, held: Any, key: Any) -> Any:
        return self._or_else(lambda: held[key], lambda: _any_of(held))

    def attribute(self, owner: Any, name: str) -> Any:
        return self._or_else(lambda: getattr(owner, name), lambda: _like((owner,)))

    def method(self, owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        nobody = object()
        found = self._or_else(lambda: getattr(owner, name), lambda: nobody)
        return _like((owner, args, kwargs)) if found is nobody else found(*args, **kwargs)

    def called(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self._or_else(lambda: function(*args, **kwargs), lambda: _like((args, kwargs)))

    def binary(self, name: str, left: Any, right: Any) -> Any:
        function = getattr(operator, name)
        return self._or_else(lambda: function(left, right), lambda: _like((left, right)))

    def variable(self, known: Mapping[str, Any]) -> Any:
        """What never got a value, since the line that gives it one was stepped over."""
        found = tensors(list(known.values()))
        return found[-1] if found else _NOTHING_KNOWN

    def parts(self, given: Any, count: int) -> Any:
        found = list(given) if isinstance(given, Sequence) else [given]
        return [*found, *[_NOTHING_KNOWN] * count][:count]

    def _or_else(self, compute: Callable[[], Any], instead: Callable[[], Any]) -> Any:
        try:
            return compute()
        except Exception as error:
            if (type(error), str(error)) not in self._stopped:
                raise
            return instead()


def _any_of(held: Any) -> Any:
    values = list(held.values()) if isinstance(held, Mapping) else held
    return values[-1] if isinstance(values, Sequence) and len(values) else _like((held,))


def _like(given: Any) -> Any:
    found = tensors(list(given))
    return found[0] if found else _NOTHING_KNOWN
