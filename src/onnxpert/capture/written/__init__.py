"""A model written down as its source says: each `if`, `for` and `while` as one unit, whatever is inside.

A run of a model shows one way through it. Where there are too many ways to follow one by one, or a loop
cannot be told by its turns, the functions that the model runs are rewritten for one more run, in which
branches and loops are calls: those that the data or a size decide are recorded whole, both sides of the
one and a turn of the other."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FunctionType
from typing import Any, TypeAlias

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.forking.emptiness import open_emptiness
from onnxpert.capture.forking.softening import softened
from onnxpert.capture.higher_order import as_python
from onnxpert.capture.recorder import Recorder
from onnxpert.capture.state import untouched
from onnxpert.capture.written.attention import open_causes
from onnxpert.capture.written.equality import WrittenTruths
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.flow import Flow
from onnxpert.capture.written.lists import WrittenLists
from onnxpert.capture.written.pages import PageRecorder
from onnxpert.capture.written.swapping import asker, replacements, running, swapped
from onnxpert.core.source import asked_within, location, of_exception
from onnxpert.core.types import Branch, Captured, Loaded, Location, Unwritten

logger = logging.getLogger(__name__)
Around: TypeAlias = Callable[[Recorder], AbstractContextManager[None]]
_MOST_ROUNDS = 6
_TOLD: dict[type[Exception], str] = {
    GuardOnDataDependentSymNode: "Python itself needs a number that only a run of the file knows",
    RecursionError: "a function calls itself, and only a run of the file knows how often",
}
Record: TypeAlias = Callable[[Loaded, Around, Callable[..., Recorder]], Captured]


def written(
    loaded: Loaded,
    record: Record,
    told: Callable[[Unwritten], None] = lambda _: None,
    deciding: Iterable[Location | None] = (),
) -> Captured | None:
    """The model with its branches and loops as units, if all of it can be said so; else why not.
    `deciding`: places where a run took a number for a size."""
    handled = sys.exception()  # what the strategy before this one came to
    try:
        return _written(loaded, record, deciding)
    except UnwritableError as error:
        logger.debug("not written as it stands: %s", error)
        told(Unwritten(str(error), of_exception(error, before=handled)))
    # The model's own, or of torch, which cannot follow a number that is not there.
    except Exception as error:
        logger.debug("not written as it stands", exc_info=True)
        for kind, text in _TOLD.items():
            if isinstance(error, kind):
                told(Unwritten(text, of_exception(error, before=handled)))
    return None


def _written(loaded: Loaded, record: Record, deciding: Iterable[Location | None]) -> Captured:
    module = owner(loaded.module)
    if isinstance(module, torch.jit.ScriptModule):
        raise UnwritableError("TorchScript has no Python to rewrite")
    with untouched(module, buffers=True), running() as ran:
        Flat(loaded)(*fed_copies(loaded))
    codes, found = ran.first() | ran.at(deciding), None
    for _ in range(_MOST_ROUNDS):
        try:
            found = _rewritten(loaded, record, replacements(codes))
            # Of many functions that decide something, those that do by a size show only now.
            more = ran.at(guard.location for guard in found.guards) - codes
        except (GuardOnDataDependentSymNode, UnwritableError) as error:
            # What one function finds out, another one may ask about; and of the functions on the side
            # of a branch that the example does not take, none was seen to run.
            one = asker(error)
            more = set() if one is None else {one} - codes
            if not more and found is None:
                raise
            logger.debug("written but for what decides by a size", exc_info=True)
        if not more:
            break
        codes |= more
    if found is None:
        raise UnwritableError("many functions ask what only the data know")
    return found


def _rewritten(loaded: Loaded, record: Record, new: Mapping[FunctionType, CodeType]) -> Captured:
    module = owner(loaded.module)
    if not new:
        raise UnwritableError("no function of the model's decides anything")
    made: list[Flow] = []

    @contextmanager
    def around(recorder: Recorder) -> Iterator[None]:
        assert isinstance(recorder, PageRecorder)
        made.append(Flow(recorder, module or torch.nn.Module()))
        operators = as_python(recorder, made[0].cond, made[0].while_loop)
        homes = [function.__globals__ for function in new]
        lists, truths, empty = (
            WrittenLists(made[0].collected),
            WrittenTruths(),
            open_emptiness(lambda _: True),
        )
        with swapped(new, made[0]), operators, lists, truths, softened(homes), empty, open_causes():
            yield

    captured = record(loaded, around, PageRecorder)
    flow = made[0]
    for number, body in enumerate(flow.recorder.top.bodies):
        setattr(captured.root, f"loop_{number}", body)
    return dataclasses.replace(
        captured,
        branches=tuple(_branches(captured.root)),
        preconditions=tuple(flow.preconditions),
    )


def _branches(root: Any) -> Iterator[Branch]:
    """Every branch of the graph, which is given its number."""
    number = 0
    for node in _nodes(root):
        if "asked" in node.meta:
            condition, frames, about_data = node.meta.pop("asked")
            node.meta["branch"] = number
            number += 1
            at = location(frames, node.meta.get("module") or "")
            yield Branch(condition, at, about_data, asked_within(frames))


def _nodes(root: Any) -> Iterator[Any]:
    for node in root.graph.nodes:
        yield node
        if node.op == "get_attr":
            yield from _nodes(getattr(root, node.target))
