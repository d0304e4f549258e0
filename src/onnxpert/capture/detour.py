"""What a detour is: functions of torch's, and what answers their calls while a model is recorded.

torch reads sizes as numbers, or memory as values, inside of some of its functions, before any operator
is called. Seen from outside they still are what they were, so that is where a detour takes over."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.overrides import TorchFunctionMode

from onnxpert.capture import detours
from onnxpert.core.collect import collect

if TYPE_CHECKING:
    from onnxpert.capture.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of torch's functions by the model, and the recording that it is part of."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    recorder: Recorder

    def plain(self) -> Any:
        """What torch makes of it."""
        return self.func(*self.args, **self.kwargs)


@dataclass(frozen=True, eq=False)
class Detour:
    """Gives the result of a call, or NotImplemented where torch's own way will do."""

    functions: tuple[Any, ...]
    take: Callable[[Call], Any]


def detour(*functions: Any) -> Callable[[Callable[[Call], Any]], Detour]:
    """Make a `Detour` of a function from a call to its result."""

    def decorate(take: Callable[[Call], Any]) -> Detour:
        return Detour(functions, take)

    return decorate


@functools.cache
def catalogue() -> Mapping[Any, tuple[Detour, ...]]:
    """The detours of each function, in the order in which they are asked."""
    found: dict[Any, tuple[Detour, ...]] = {}
    for each in collect(detours, Detour, lambda one: (one,)):
        for function in each.functions:
            found[function] = (*found.get(function, ()), each)
    return found


class Detours(TorchFunctionMode):
    """While on, calls go the way of their detours, where one takes them."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._known = catalogue()
        self._taken: list[Detour] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        for each in self._known.get(func, ()):
            if each not in self._taken:
                result = self._take(each, Call(func, args, given, self._recorder))
                if result is not NotImplemented:
                    return result
        return func(*args, **given)

    def _take(self, each: Detour, call: Call) -> Any:
        """What a detour calls itself may take any other, but not the same once more."""
        self._taken.append(each)
        try:
            with self:
                return each.take(call)
        finally:
            self._taken.pop()
