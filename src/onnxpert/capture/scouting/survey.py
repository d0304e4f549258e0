"""A model surveyed: what a scout meets on the example's way, and on the other sides of its branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from onnxpert.capture.flat import owner
from onnxpert.capture.forking.softening import softened
from onnxpert.capture.guards import guards_of
from onnxpert.capture.holder import Recorded
from onnxpert.capture.identities import own_identities
from onnxpert.capture.kinds import own_types
from onnxpert.capture.open_sizes.numbers import Numbers, SizeTakenError
from onnxpert.capture.recorder import Recorder
from onnxpert.capture.scouting.giving import Given, GivenUpError
from onnxpert.capture.scouting.hurrying import HurriedError
from onnxpert.capture.scouting.scout import Scout
from onnxpert.capture.scouting.stumbling import is_at, is_read_at, same
from onnxpert.capture.scouting.witness import densely
from onnxpert.capture.state import untouched
from onnxpert.capture.strategies.gradient import above_autograd, differentiates
from onnxpert.capture.strategies.recorded import record
from onnxpert.capture.strategy import runs_as_python
from onnxpert.capture.watching.reads import condition, numbers_at, texts_at
from onnxpert.core.belongings import user_modules
from onnxpert.core.types import Asked, Blocker, Captured, Loaded, Location, replace

# How much is run for the other sides of branches: a scout is as slow as the model is long.
_MOST_SIDES = 8
_MOST_NODES = 1500
_TAKEN = frozenset({Asked.NUMBER, Asked.NUMPY})


class Scouted(NamedTuple):
    """Everything in the way of a capture, the graph behind it as far as it was reached, and what it
    is where a branch goes the other way than the example's."""

    blockers: tuple[Blocker, ...] = ()
    captured: Captured | None = None
    sides: tuple[Captured, ...] = ()


def scout(
    loaded: Loaded, stopped: Sequence[Location] = (), refused: Location | None = None
) -> Scouted:
    """What stands in the way; `stopped` is where a capture ended, `refused` where the model itself does."""
    if not runs_as_python(loaded) or isinstance(loaded.module, torch.jit.ScriptModule):
        return Scouted()
    within: Callable[[], AbstractContextManager[None]] = nullcontext
    given = Given()
    seen, captured = _run(loaded, within, {}, given, refused)
    if captured is None and differentiates(loaded):
        within = above_autograd()
        above, captured = _run(loaded, within, {}, given)
        seen = above if captured is not None else seen
    if seen is None:
        return Scouted()
    texts = [
        Blocker(Asked.NUMBER, "a text is made of a number", read.location)
        for read in texts_at(seen.texts)
    ]
    blockers = _distinct(seen.blockers, (*seen.implied, *texts), stopped)
    if captured is None:
        return Scouted(blockers, _beside(_as_far(seen, loaded), blockers))
    sides = []
    for other, graph in _other_sides(loaded, within, seen, given):
        new = [one for one in other.blockers if not any(same(one, known) for known in blockers)]
        blockers = _distinct((*blockers, *new), (), ())
        sides.append(_beside(graph, blockers))
        _note_reads(captured, graph)
    return Scouted(blockers, _beside(captured, blockers), tuple(sides))


def _as_far(seen: Scout, loaded: Loaded) -> Captured:
    """The graph until nothing helped: it has no outputs."""
    seen.graph.output(())
    return Captured(
        root=Recorded(seen.graph),
        inputs=tuple(seen.inputs),
        strategy="scout",
        guards=guards_of(seen.fake_mode.shape_env),
        loaded=loaded,
        cut_short=True,
        reads=(*numbers_at(seen.reads), *texts_at(seen.texts)),
    )


def _other_sides(
    loaded: Loaded, within: Callable[[], AbstractContextManager[None]], first: Scout, given: Given
) -> Iterator[tuple[Scout, Captured]]:
    """The model once more for each branch that went one way, as it is on the other."""
    runs = min(_MOST_SIDES, _MOST_NODES // max(len(first.graph.nodes), 1))
    known = set(first.answers)
    waiting = [{place: answer} for place, answer in first.other_sides().items()]
    while waiting and runs > 0:
        runs -= 1
        turned = waiting.pop(0)
        other, graph = _run(loaded, within, turned, given)
        if other is None or graph is None:
            continue
        sides = other.other_sides().items()
        waiting += [{**turned, place: answer} for place, answer in sides if place not in known]
        known |= set(other.answers)
        yield other, graph


def _note_reads(captured: Captured, side: Captured) -> None:
    """An input that is read on another side of a branch is no unread one."""
    read = {name for name, node in _placeholders(side) if node.users or "taken_out" in node.meta}
    for name, node in _placeholders(captured):
        if name in read:
            node.meta["taken_out"] = True


def _placeholders(captured: Captured) -> Iterator[tuple[str, Any]]:
    nodes = (node for node in captured.root.graph.nodes if node.op == "placeholder")
    yield from ((entry.name, node) for entry, node in zip(captured.inputs, nodes, strict=True))


def _run(
    loaded: Loaded,
    within: Callable[[], AbstractContextManager[None]],
    turned: Mapping[tuple[str, int], bool],
    given: Given,
    refused: Location | None = None,
) -> tuple[Scout | None, Captured | None]:
    made: list[Scout] = []
    patient = False

    def make(_: FakeTensorMode, *rest: Any) -> Scout:
        made.append(Scout(*rest))
        made[0].turned, made[0].hurry.patient, made[0].given = turned, patient, given
        made[0].refused = refused
        return made[0]

    @contextmanager
    def watching(_: Recorder) -> Iterator[None]:
        with within(), made[0].watching():
            yield

    root = owner(loaded.module)
    homes = [vars(module) for module in user_modules(root)] if root is not None else []
    try:
        with own_types(root), own_identities(root), Numbers().watching(), softened(homes):
            while True:
                made.clear()
                try:
                    with untouched(root, buffers=True, code=False):
                        captured = record(loaded, "scout", watching, make)
                except HurriedError:
                    patient = True
                    continue
                except GivenUpError:
                    continue
                except SizeTakenError:  # a number that can stay a symbol, as in any capture
                    continue
                break
    except Exception:  # not even the example's values helped: what was found until then counts
        return made[0] if made else None, None
    return made[0], captured


def _distinct(
    blockers: Sequence[Blocker], implied: Sequence[Blocker], stopped: Sequence[Location]
) -> tuple[Blocker, ...]:
    """That a line cannot be followed goes without saying where it is known why; and what operators
    ask about their sizes matters only where a capture ended for it, or where nothing else does."""
    for one in implied:
        at = one.needed or one.location
        ended = at is not None and any((at.file, at.line) == (s.file, s.line) for s in stopped)
        if (ended or not blockers) and not any(same(one, other) for other in blockers):
            blockers = (*blockers, one)
    left = [_of_one_kind(one, blockers) for one in blockers if not _follows(one, blockers)]
    # A line that asks again and again in one layer asks one thing; in another layer it is another.
    return tuple({_question(one): one for one in reversed(left)}.values())[::-1]


def _question(one: Blocker) -> object:
    at, there = one.location, one.needed
    if at is None:
        return one
    return one.asked, _line(at), at.module, _line(there) if there is not None else None


def _of_one_kind(one: Blocker, blockers: Sequence[Blocker]) -> Blocker:
    """A list of numbers is one thing, whether it is made a list or its numbers are Python's own."""
    at = one.location
    if at is None or one.asked not in _TAKEN:
        return one
    first = next(other for other in blockers if other.asked in _TAKEN and is_at(at, other))
    return replace(one, asked=first.asked)  # type: ignore[no-any-return]


def _follows(one: Blocker, blockers: Sequence[Blocker]) -> bool:
    """Whether another blocker says already why its line is in the way."""
    at = one.location
    if at is None or one.asked in (*_TAKEN, Asked.LOOP):
        return False
    if one.asked is Asked.CALL:
        return any(is_at(at, other) for other in blockers if other.asked is not Asked.CALL)
    # Whether two keys of a dictionary are the same, or whether there is anything to go through.
    asking = (other for other in blockers if other.asked in (Asked.NUMBER, Asked.LOOP))
    lines = [_line(other.needed) for other in asking if other.needed]
    return condition(at) is None and _line(at) in lines


def _line(place: Location) -> tuple[str, int]:
    return place.file, place.line


def _beside(captured: Captured, blockers: Sequence[Blocker]) -> Captured:
    """A graph of which the values that nothing could go on without are told as blockers alone, with
    constants as a graph could hold them."""
    free = [read for read in captured.reads if not any(is_read_at(read, one) for one in blockers)]
    held = [
        replace(entry, tensor=densely(entry.tensor))
        if isinstance(entry.tensor, torch.Tensor)
        else entry
        for entry in captured.inputs
    ]
    return replace(captured, reads=tuple(free), inputs=tuple(held))  # type: ignore[no-any-return]
