"""Lines that are given the example's answers, so that what lies behind them can be looked for.

What stands in the way at them is known already. While it is on, a value that is taken out of a tensor at
such a line is the one that a plain run of the model took there, and a question of Python's that it asks
of the data is answered with no."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias
from unittest.mock import patch

from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

from onnxpert.capture.places import user_frames
from onnxpert.core.source import location

Line: TypeAlias = tuple[str, int]
_MOST_RUNS = 12

_LISTED = FakeTensor.tolist
_ARRAYS = frozenset({"numpy", "__array__", "tolist"})
_NUMBERS: Mapping[str, Callable[[Any], Any]] = {
    "item": lambda value: value,
    "__bool__": bool,
    "__int__": int,
    "__index__": int,
    "__float__": float,
    "is_nonzero": bool,
}


def _line() -> Line | None:
    place = location(user_frames())
    return None if place is None else (place.file, place.line)


def _kind(name: str) -> str | None:
    return name if name in _ARRAYS else "item" if name in _NUMBERS else None


class TakesLongError(BaseException):
    """No `Exception`: it is none of the model's, which must not catch it."""


class Taken(TorchFunctionMode):
    """Notes what a plain run takes out of tensors, by line."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[Line, dict[str, list[Any]]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        kind, line = _kind(getattr(func, "__name__", "")), _line()
        if kind is not None and line is not None:
            self.values.setdefault(line, {}).setdefault(kind, []).append(out)
        return out


class _Giving(TorchFunctionMode):
    """Gives what was taken, in the order of the run; a way that goes on longer is given the last."""

    def __init__(self, values: Mapping[Line, Mapping[str, list[Any]]]) -> None:
        super().__init__()
        self._values = values
        self._next: dict[tuple[Line, str], int] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = list(self.given(getattr(func, "__name__", "")))
        return given[0] if given else func(*args, **(kwargs or {}))

    def given(self, name: str) -> Iterator[Any]:
        """What a function of that name is answered with here, if it is."""
        kind = _kind(name)
        line = None if kind is None else _line()
        if kind is None or line is None or not (values := self._values.get(line, {}).get(kind)):
            return
        turn = self._next.get((line, kind), 0)
        self._next[line, kind] = turn + 1
        value = values[min(turn, len(values) - 1)]
        yield _NUMBERS[name](value) if name in _NUMBERS else value

    def listing(self, fake: FakeTensor) -> Any:
        given = list(self.given("tolist"))
        return given[0] if given else _LISTED(fake)


class Settled:
    """The lines, and which others asked something of the data meanwhile."""

    def __init__(self, taken: Taken, lines: frozenset[Line]) -> None:
        self._values = {line: taken.values[line] for line in lines & taken.values.keys()}
        self._lines = lines
        self._runs = 0
        self.asked: set[Line] = set()

    @contextmanager
    def giving(self) -> Iterator[None]:
        """For one run of the model, of which there are not to be too many."""
        self._runs += 1
        if self._runs > _MOST_RUNS:
            raise TakesLongError("too many runs for what is only looked at")
        giving = _Giving(self._values)

        def listing(fake: FakeTensor) -> Any:
            return giving.listing(fake)

        token = _settled.set(self)
        try:
            # `FakeTensor.tolist` is torch's own, which no mode sees; tried on torch 2.13 and 2.15.
            with giving, patch.object(FakeTensor, "tolist", listing):
                yield
        finally:
            _settled.reset(token)

    def answers(self) -> bool:
        line = _line()
        if line in self._lines:
            return True
        self.asked.update((line,) if line is not None else ())
        return False


_settled: ContextVar[Settled | None] = ContextVar("settled", default=None)


def is_settled() -> bool:
    """Whether what the running line asks of the data is not to be asked."""
    settled = _settled.get()
    return settled is not None and settled.answers()
