"""What a capture assumed about sizes, read from torch's shape environment with the user's line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Any, TypeAlias

from sympy import Ge, Gt, Le, Lt, Not
from torch import SymBool, SymInt
from torch._guards import ShapeGuard

from onnxpert.capture.places import Place, user_frames
from onnxpert.capture.reasoning import Frugal, symbols_in, worded
from onnxpert.core.source import Frame, location
from onnxpert.core.types import Captured, Guard, Location, replace

Assumption: TypeAlias = tuple[Any, tuple[Frame, ...]]  # a condition, and where it was met


def guards_of(environment: Any) -> tuple[Guard, ...]:
    """Every assumption on sizes that the run recorded, in its order."""
    if environment is None:
        return ()
    found = []
    if isinstance(environment, Frugal) and environment.definitions:
        environment.guards[:] = map(environment.spelled_out_guard, environment.guards)
    for guard in environment.guards:
        symbols = tuple(sorted(map(str, symbols_in(guard.expr))))
        found.append(Guard(worded(guard.expr), symbols, line_of(guard)))
    return tuple(found)


def assuming(captured: Captured, assumptions: Iterable[Assumption]) -> Captured:
    """The capture with more that is assumed of its sizes; the graph's own environment keeps it."""
    environment = environment_of(captured)
    if environment is None:
        return captured
    for condition, frames in assumptions:
        environment.evaluate_expr(condition)  # it narrows the range, too
        place = Place(None, None, frames)
        told = ShapeGuard(condition, place, size_oblivious=False)
        environment.guards[:] = [g for g in environment.guards if g.expr != condition] + [told]
    return replace(captured, guards=guards_of(environment))  # type: ignore[no-any-return]


def keep_in_mind(truth: SymBool) -> None:
    """Notes what sizes decide, as it is at the example's, and assumes nothing: a proof wants sizes at
    which it is otherwise."""
    environment: Any = truth.node.shape_env
    held = truth.node.expr if truth.node.hint else Not(truth.node.expr)
    if all(known.expr != held for known in environment.guards):
        place = Place(None, None, user_frames())
        environment.guards.append(ShapeGuard(held, place, size_oblivious=False))
    if hasattr(environment, "kept_in_mind"):
        environment.kept_in_mind.append((held, user_frames()))


def limits(captured: Captured) -> Iterator[Assumption]:
    """How far a size may go by what was assumed of it: `if n > 512` went one way."""
    for guard in _placed(captured):
        if isinstance(guard.expr, (Lt, Le, Gt, Ge)) and len(guard.expr.free_symbols) == 1:
            yield guard.expr, guard.sloc.frames


def about_others(captured: Captured, symbols: Set[Any]) -> Iterator[Assumption]:
    """What was assumed of sizes beside these, be it by comparing them with these, and that did not
    become numbers."""
    environment = environment_of(captured)
    for guard in _placed(captured):
        own = guard.expr.free_symbols
        if own - symbols and all(environment.replace(one).free_symbols for one in own):
            yield guard.expr, guard.sloc.frames


def _placed(captured: Captured) -> Iterator[Any]:
    guards = getattr(environment_of(captured), "guards", ())
    return (guard for guard in guards if isinstance(guard.sloc, Place))


def environment_of(captured: Captured) -> Any:
    values = [
        node.meta.get("val") for node in captured.root.graph.nodes if node.op == "placeholder"
    ]
    sizes = [size for value in values for size in (value, *getattr(value, "shape", ()))]
    return next((one.node.shape_env for one in sizes if isinstance(one, SymInt)), None)


def line_of(guard: ShapeGuard) -> Location | None:
    sloc: Any = guard.sloc
    if isinstance(sloc, Place):
        return location(sloc.frames)
    frame: Any = getattr(sloc, "framework_loc", None)  # a program made elsewhere
    if not hasattr(frame, "filename"):
        return None
    return location([(frame.filename, frame.lineno, frame.name)])


def sizes_named(text: str, inputs: Iterable[tuple[str, Any]]) -> tuple[tuple[str, int], ...]:
    """(input, axis) of the sizes whose symbols a message of torch's speaks of: of those that it names
    by themselves, if there are any, since a whole shape has more in it than what is wrong with it."""
    alone = re.findall(r"\bs\d+\b", re.sub(r"\[[^]]*\]", "", text))
    words = set(alone or re.findall(r"\bs\d+\b", text))
    return tuple(
        (name, axis)
        for name, value in inputs
        for axis, size in enumerate(getattr(value, "shape", ()))
        if words & {str(symbol) for symbol in symbols_of(size)}
    )


def symbols_of(size: Any) -> frozenset[Any]:
    """None of them, if it is a number."""
    node = getattr(size, "node", None)
    return frozenset() if node is None else frozenset(node.expr.free_symbols)
