"""What the user says of their own operators: a lowering, or a domain that keeps them as nodes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.core.bodies import FunctionCall, qualified
from onnxpert.core.source import of_exception, of_traceback
from onnxpert.core.types import Location, OpaqueBody, Overridden
from onnxpert.lower.complex_pairs import involved
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.foreign import as_node
from onnxpert.lower.lowering import Lowering


class Final(Refusal):
    """What the user asked for cannot be done: nothing else is put in its place."""


class Broken(Final):
    """The user's own lowering failed."""

    def __init__(self, name: str, why: str, place: Location | None) -> None:
        super().__init__(f"the lowering `{name}` {why}")
        self.failure = OpaqueBody(f"`{name}` {why}", place)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked of custom operators."""

    # By overload, "my::op" or function class.
    lowerings: Mapping[Any, Sequence[Lowering]] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)  # "my" or "my::op" -> their nodes'
    theirs: Mapping[Any, Any] = field(default_factory=dict)  # what onnxpert itself has

    def lowering_of(self, target: Any) -> Sequence[Lowering]:
        if isinstance(target, FunctionCall):
            return self.lowerings.get(target.function, ())
        name = qualified(target)
        return self.lowerings.get(target) or self.lowerings.get(name, ()) if name else ()

    def domain_of(self, target: Any) -> str:
        name = qualified(target)
        return self.domains.get(name) or self.domains.get(name.partition("::")[0], "")

    def knows(self, target: Any) -> bool:
        return bool(self.lowering_of(target) or self.domain_of(target))


class Custom:
    """Answers a call by the user's wishes, and remembers what came of them."""

    def __init__(self, wishes: Wishes) -> None:
        self.wishes = wishes
        self.overridden: dict[Overridden, None] = {}

    def call(
        self, op: Emitter, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
    ) -> Any:
        """NotImplemented where nothing was said."""
        wanted = self.wishes.lowering_of(target)
        reached = [one for one in wanted if one.since <= op.opset]
        if wanted and not reached:
            lowest = min(one.since for one in wanted)
            raise Refusal(f"its lowering needs opset {lowest}", lowest)
        if reached:
            if involved((tuple(args), dict(kwargs), out)):
                raise Final("your lowering of it is given a complex number")
            op.out = out
            return self._lowered(op, max(reached, key=lambda one: one.since), target, args, kwargs)
        domain = self.wishes.domain_of(target)
        if domain:
            try:
                return as_node(op, target, args, kwargs, out=out, domain=domain)
            except Refusal as refusal:
                raise Final(f"as a node of {domain}: {refusal.reason}") from refusal
        return NotImplemented

    def _lowered(
        self, op: Emitter, one: Lowering, target: Any, args: Sequence[Any], kwargs: Any
    ) -> Any:
        try:
            result = one(op, *args, **kwargs)
        except Refusal as refusal:
            if _raised_by(one.body, refusal):  # on purpose: others may know better
                raise
            raise Broken(one.name, f"cannot be: {refusal.reason}", _place(one.body)) from refusal
        except Exception as error:  # a mistake of the user's is told, at their line
            text = str(error).partition("\n")[0]
            why = f"fails with {type(error).__name__}" + (f": {text}" if text else "")
            raise Broken(one.name, why, of_exception(error) or _place(one.body)) from error
        _check(one, result, op.out)
        if self.wishes.theirs.get(target):
            name = str(target).removesuffix(".default")
            self.overridden[Overridden(name, one.name, _place(one.body))] = None
        return result


def _check(one: Lowering, result: Any, out: Any) -> None:
    many = isinstance(out, (list, tuple))
    wanted = len(out) if many else 1
    given = list(result) if isinstance(result, (list, tuple)) else [result]
    wrong = next((value for value in given if not isinstance(value, ir.Value)), None)
    place = _place(one.body)
    if wrong is not None or result is None:
        raise Broken(one.name, f"gives {_kind(wrong)}, not a value of the graph", place)
    if isinstance(out, (torch.Tensor, list, tuple)) and len(given) != wanted:
        raise Broken(one.name, f"gives {len(given)} values where torch gives {wanted}", place)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"something of type {type(value).__name__}"


def _raised_by(body: Any, error: BaseException) -> bool:
    frames = of_traceback(error.__traceback__)
    code = getattr(inspect.unwrap(body), "__code__", None)
    return bool(frames) and code is not None and frames[-1][0] == code.co_filename


def _place(body: Any) -> Location | None:
    code = getattr(inspect.unwrap(body), "__code__", None)
    if code is None:
        return None
    return Location(code.co_filename, code.co_firstlineno, function=code.co_name)
