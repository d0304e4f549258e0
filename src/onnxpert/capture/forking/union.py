"""All the paths of a model written into one graph, with what was assumed, asked and done on any of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from onnxpert.capture.entering import entered
from onnxpert.capture.forking.paths import Fork, Item, Loop, Part
from onnxpert.capture.forking.runs import Run
from onnxpert.capture.forking.weaving import Loom, Scope
from onnxpert.capture.guards import guards_of
from onnxpert.capture.reasoning import example_sizes
from onnxpert.capture.recorder import Recorder, new_fake_mode
from onnxpert.capture.watching.reads import conditions_at
from onnxpert.core.source import asked_within, location
from onnxpert.core.types import Branch, Captured, Done, Loaded, Precondition, Read, replace

if TYPE_CHECKING:
    from onnxpert.capture.forking.explorer import Explorer


def woven(
    loaded: Loaded, first: Run, part: Part, explorer: Explorer, scope: type[Scope] = Scope
) -> Captured:
    runs = explorer.runs.all()
    mode = new_fake_mode()
    recorder = Recorder(mode, {}, loaded.whole)
    values = entered(recorder, loaded)
    loom = Loom(mode, scope)
    for step, value in zip(first.inputs, values, strict=False):
        loom.input(step, value)
    _learn(mode.shape_env, explorer)
    loom.top.write(part.items)
    loom.top.graph.output(tuple(map(loom.top.value, part.ends)))
    return replace(  # type: ignore[no-any-return]
        first.captured,
        root=loom.top.root,
        inputs=tuple(loom.inputs),
        guards=guards_of(mode.shape_env),
        branches=tuple(_branches(part.items)),
        preconditions=tuple(_preconditions(explorer)),
        reads=_reads(runs),
        written=tuple(dict.fromkeys(each for run in runs for each in run.captured.written)),
        done=tuple(_done(runs)),
    )


def _preconditions(explorer: Explorer) -> Iterator[Precondition]:
    """Those that every run asked about are what the model takes, whichever way it goes."""
    runs = [{asked.question.condition for asked in run.asked} for run in explorer.runs.all()]
    for (condition, answer), found in explorer.preconditions.items():
        everywhere = all(condition in asked for asked in runs)
        held = condition if answer else ~condition
        yield replace(found, condition=held if everywhere else None)


def _learn(environment: Any, explorer: Explorer) -> None:
    """What all paths assume of sizes is assumed; what one of them does is only kept in mind."""
    runs = explorer.runs.all()
    questions = {asked.question.condition for run in runs for asked in run.asked}
    guards = {guard.expr: guard for run in runs for guard in run.environment.guards}
    counts = Counter(guard for run in runs for guard in {g.expr for g in run.environment.guards})
    for run in reversed(runs[1:]):
        sizes = {symbol: int(size) for symbol, size in example_sizes(run.environment).items()}
        environment.met_at |= {guard.expr: sizes for guard in run.environment.guards}
    for guard in runs[0].environment.guards:
        environment.met_at.pop(guard.expr, None)
    for expr, guard in guards.items():
        asked = {expr, ~expr} & questions
        if counts[expr] == len(runs) and (not asked or asked & set(explorer.unexplored)):
            environment.evaluate_expr(expr)
        if all(known.expr != expr for known in environment.guards):
            environment.guards.append(guard)
    # Nobody's line makes an assumption here: it is the line that made it in the run.
    environment.guards[:] = [guards.get(known.expr, known) for known in environment.guards]


def _done(runs: Sequence[Run]) -> Iterator[Done]:
    """What Python did on any of the ways, each thing once per line."""
    seen: set[Any] = set()
    for one in (each for run in runs for each in run.captured.done):
        at = one.location
        key = (one.deed, one.what, at and (at.file, at.line))
        if key not in seen:
            seen.add(key)
            yield one


def _reads(runs: Sequence[Run]) -> tuple[Read, ...]:
    """What Python wanted to know of the data on any of the ways."""
    asked = [one.question for run in runs for one in run.asked if one.question.about_data]
    places = [location(question.frames, question.module) for question in asked]
    taken = (read for run in runs for read in run.captured.reads)
    return tuple(dict.fromkeys((*conditions_at(places), *taken)))


def _branches(items: Sequence[Item]) -> list[Branch]:
    found: list[Branch] = []
    for item in items:
        if isinstance(item, Fork):
            frames = item.question.frames
            at, called = location(frames, item.question.module), asked_within(frames)
            found.append(Branch(str(item.condition), at, item.question.about_data, called))
            found += _branches((*item.yes, *item.no))
        elif isinstance(item, Loop):
            found += _branches(item.body)
    return found
