"""Loops rolled up again: where Python iterated over a dynamic size, the trace is only right for one.

The model is recorded at several lengths; the traces are aligned, their loops folded, the numbers that
differ made functions of the length, and what comes out is run once more with the length symbolic."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import sympy
import torch
from torch import fx

from onnxpert.capture.entering import entered, tensor_names
from onnxpert.capture.flat import Flat, fed, owner
from onnxpert.capture.guards import (
    Assumption,
    about_others,
    assuming,
    environment_of,
    guards_of,
    limits,
    symbols_of,
)
from onnxpert.capture.holder import Recorded
from onnxpert.capture.reasoning import example_sizes
from onnxpert.capture.recorder import Recorder, new_fake_mode
from onnxpert.capture.rolling.alignment import align
from onnxpert.capture.rolling.fit import Doubt, Lengths, generalise
from onnxpert.capture.rolling.fold import fold
from onnxpert.capture.rolling.prune import prune
from onnxpert.capture.rolling.replay import Replay
from onnxpert.capture.rolling.scope import NestingRecorder
from onnxpert.capture.rolling.ties import Axis, frozen_axes
from onnxpert.capture.rolling.trace import Element, Trace, UnalikeError
from onnxpert.capture.rolling.ways import told_ways
from onnxpert.capture.surrounding.surroundings import recording
from onnxpert.core.size_conditions import holds
from onnxpert.core.types import Captured, DimSpec, Loaded

logger = logging.getLogger(__name__)
Record = Callable[[Loaded], Captured]
_MOST_NODES = 20_000  # of a trace: a longer one costs more than it is worth
_MOST_SIZES = 3  # that vary independently
_MOST_FURTHER = 2  # lengths, beside those that are always tried
_LONG = 32  # turns of a loop that need not be seen one by one
Tried = tuple[int, int, int]
# Even and odd, with a step of one and of two: what is floored or skips shows itself.
_TRIED: Tried = (6, 7, 9)
SHORT: Tried = (4, 5, 7)  # the same where each turn costs several runs


@dataclass(frozen=True, slots=True)
class Varying:
    """Axes that have one size: those the user tied together, or one alone."""

    # Input, axis (None: the input is the number itself), what was asked.
    axes: tuple[tuple[str, int | None, DimSpec], ...]
    lower: int
    upper: int

    def size(self, spec: DimSpec, length: int) -> int:
        return spec.scale * length + spec.offset

    def length(self, given: Mapping[str, Any]) -> Any:
        """What their size is in a run."""
        name, axis, spec = min(self.axes, key=lambda each: (each[2].scale, abs(each[2].offset)))
        size = given[name] if axis is None else given[name].shape[axis]
        return (size - spec.offset) // spec.scale if (spec.scale, spec.offset) != (1, 0) else size


class Counted(Protocol):
    """What says how often loops turn, and the axes it is read from."""

    @property
    def axes(self) -> tuple[tuple[str, int | None, DimSpec], ...]: ...

    def length(self, given: Mapping[str, Any]) -> Any: ...


class LongLoopError(BaseException):  # no Exception: what a model raises is something else
    """A run has become long and has frozen a size on the way: it may as well be rolled at once."""

    def __init__(self, axes: list[Axis], graph: fx.Graph) -> None:
        super().__init__("a dynamic size was taken for a number, and the run goes on and on")
        self.axes = axes
        self.graph = graph  # as far as it got


@contextmanager
def impatient(recorder: Recorder, loaded: Loaded) -> Iterator[None]:
    """While on, a run that unrolls a long loop is broken off with LongLoopError."""

    def look() -> None:
        axes = frozen_axes(loaded, recorder.inputs, recorder.graph)
        known = _equal_to(getattr(recorder.fake_mode.shape_env, "questions", ()))
        axes = [one for one in axes if _example(one) not in known]
        if any(_example(one) >= _LONG for one in axes):
            raise LongLoopError(axes, recorder.graph)

    recorder.watch = look
    yield


def _equal_to(questions: Iterable[Any]) -> set[int]:
    """The numbers that a run was asked about, and are sizes in it: `n == 256` is a side of one size."""
    answered = [one.condition if one.answer else ~one.condition for one in questions]
    sides = [side for one in answered if isinstance(one, sympy.Eq) for side in one.args]
    return {int(side) for side in sides if side.is_Integer}


def _example(one: Axis) -> int:
    return int(one.leaf.value if one.axis is None else one.leaf.value.shape[one.axis])


def frozen(captured: Captured) -> list[Axis]:
    """The dimensions that were to vary, and that the run took for a number."""
    if captured.loaded is None:
        return []
    return frozen_axes(captured.loaded, captured.inputs, captured.root.graph)


def rolled(
    loaded: Loaded, axes: Sequence[Axis], record: Record, tried: Tried = _TRIED
) -> Captured | None:
    """The model with its frozen sizes free again, if that is how it is made."""
    for sizes in groupings(loaded, axes):
        if not 0 < len(sizes) <= _MOST_SIZES:
            continue
        try:
            lengths = _lengths(sizes, tried)
            runs = [short(record(resized_to(loaded, sizes, at))) for at in lengths]
            elements = _told_apart(loaded, sizes, record, runs, lengths)
            found = replayed(loaded, runs[-1], elements, sizes)
            if found is None:
                return None
            return assuming(found, [*limits(runs[-1]), *_ways(loaded, sizes, lengths, found)])
        except UnalikeError as error:
            logger.debug("not rolled: %s", error)
        # The model does not take another length, or torch cannot follow a turn that has no number.
        except Exception:
            logger.debug("not rolled", exc_info=True)
    return None


def _ways(
    loaded: Loaded, sizes: Sequence[Varying], told: Sequence[Lengths], found: Captured
) -> Iterator[Assumption]:
    """How far the model goes the ways that it was told by. Raises UnalikeError if the example goes others."""
    known = example_sizes(environment_of(found))
    for condition, frames in told_ways(
        lambda at: resized_to(loaded, sizes, at), sizes, told, found
    ):
        if holds(condition, known) is False:
            raise UnalikeError("the example goes a way that no length takes which it was told by")
        yield condition, frames


def _told_apart(
    loaded: Loaded,
    sizes: Sequence[Varying],
    record: Record,
    runs: list[Captured],
    lengths: list[Lengths],
) -> list[Element]:
    """The elements of the runs; of further ones too, where a number may be several functions of a length."""
    base = lengths[0]
    for further in range(_MOST_FURTHER + 1):
        doubts: list[Doubt] = []
        elements = elements_of(runs, lengths, doubts)
        tellings = (each.telling(base, sizes[each.which].upper) for each in doubts)
        at = next((one for one in tellings if one is not None and one not in lengths), None)
        if at is None or further == _MOST_FURTHER:
            break
        try:
            run = short(record(resized_to(loaded, sizes, at)))
        except Exception:  # the model need not take that length: then the simplest has to do
            logger.debug("no further length", exc_info=True)
            break
        runs, lengths = [run, *runs], [at, *lengths]
    return elements


def short(run: Captured) -> Captured:
    if len(run.root.graph.nodes) > _MOST_NODES:
        raise UnalikeError("the trace is too long")
    return run


def elements_of(
    runs: Sequence[Captured], lengths: Sequence[Lengths], doubts: list[Doubt] | None = None
) -> list[Element]:
    traces = [Trace(run) for run in runs]
    structures = align([trace.tokens() for trace in traces])
    if structures is None:
        raise UnalikeError("the traces are not the same program")
    folded = [fold(*both) for both in zip(traces, structures, strict=True)]
    return generalise(folded, lengths, doubts)


def replayed(
    loaded: Loaded,
    run: Captured,
    elements: Sequence[Element],
    sizes: Sequence[Counted],
    *,
    with_rest: bool = False,
) -> Captured | None:
    """The program with symbolic lengths; `with_rest`: the last of them is that of a last block."""
    recorder = NestingRecorder(new_fake_mode(), tensor_names(owner(loaded.module)), loaded.whole)
    names = [leaf.name for leaf in fed(loaded)]
    given = dict(zip(names, entered(recorder, loaded), strict=True))
    weights = {entry.name: entry.tensor for entry in run.inputs if entry.tensor is not None}
    lengths = [one.length(given) for one in sizes]
    recorder.rest = lengths[-1] if with_rest else None
    with recording(recorder, owner(loaded.module) or Flat(loaded)):
        replay = Replay(recorder, lengths)
        outputs = replay.run(elements, {**weights, **given})
    recorder.give(outputs)
    root = Recorded(recorder.graph, replay.scope.bodies)
    prune(root)
    again = dataclasses.replace(
        run,
        loaded=loaded,
        root=root,
        inputs=tuple(recorder.inputs),
        guards=guards_of(recorder.fake_mode.shape_env),
        inferred=tuple(
            (name, axis) for one in sizes for name, axis, _ in one.axes if axis is not None
        ),
    )
    if frozen(again):
        return None
    assumed = list(about_others(run, _symbols(given, sizes)))
    known = example_sizes(recorder.fake_mode.shape_env)
    if any(holds(condition, known) is False for condition, _ in assumed):
        raise UnalikeError("the example is none of those that it was told by")
    return assuming(again, assumed)


def _symbols(given: Mapping[str, Any], sizes: Sequence[Counted]) -> set[Any]:
    """Of the sizes that are free again."""
    axes = [(given[name], axis) for one in sizes for name, axis, _ in one.axes]
    found = [value if axis is None else value.shape[axis] for value, axis in axes]
    return {symbol for size in found for symbol in symbols_of(size)}


def groupings(loaded: Loaded, axes: Sequence[Axis]) -> Iterator[tuple[Varying, ...]]:
    """What may be one size: as the run had it, and then whatever is as long in the example.

    A run in which a size became a number compares all others with that number, and a mask of which
    it takes so many is as good if it is longer."""
    yield (told := varying(axes))
    alike = [dataclasses.replace(one, root=_example(one)) for one in axes]
    known = {one.root for one in alike}
    seen = {(one.leaf.name, one.axis) for one in alike}
    alike += [
        Axis(leaf, axis, spec, size)
        for leaf in fed(loaded)
        for axis, spec in leaf.dims
        if (size := leaf.value.shape[axis]) in known and (leaf.name, axis) not in seen
    ]
    if len(alike) > len(axes) or len(known) < len(told):
        yield varying(alike)


def varying(axes_found: Sequence[Axis]) -> tuple[Varying, ...]:
    groups: dict[Any, list[tuple[str, int | None, DimSpec]]] = {}
    for one in axes_found:
        groups.setdefault(one.root, []).append((one.leaf.name, one.axis, one.spec))
    return tuple(
        Varying(
            tuple(axes),
            max(spec.lower or 0 for _, _, spec in axes),
            min(2**30 if spec.upper is None else spec.upper for _, _, spec in axes),
        )
        for axes in groups.values()
    )


def _lengths(sizes: Sequence[Varying], among: Tried = _TRIED) -> list[Lengths]:
    """Each size at three lengths with the others at their first, and all of them at others."""
    tried = [_within(one, among) for one in sizes]
    base = [lengths[0] for lengths in tried]
    points = [tuple(base)]
    for place, lengths in enumerate(tried):
        points += [(*base[:place], length, *base[place + 1 :]) for length in lengths[1:]]
    if len(sizes) > 1:
        points.append(tuple(lengths[1 + place % 2] for place, lengths in enumerate(tried)))
    return points


def _within(one: Varying, tried: Tried) -> Tried:
    shift = max(0, one.lower - tried[0]) - max(0, tried[-1] - one.upper)
    first, second, third = (length + shift for length in tried)
    if first < max(2, one.lower):
        raise UnalikeError("the size may not vary enough")
    return first, second, third


def resized_to(loaded: Loaded, sizes: Sequence[Varying], lengths: Lengths) -> Loaded:
    """The model with the sizes fixed at other lengths than the example's."""
    wanted = {
        (name, axis): one.size(spec, length)
        for one, length in zip(sizes, lengths, strict=True)
        for name, axis, spec in one.axes
    }
    leaves = []
    for leaf in loaded.leaves:
        fixed = {axis: size for (name, axis), size in wanted.items() if name == leaf.name}
        value = leaf.value
        for axis, size in fixed.items():
            value = size if axis is None else _stretched(value, axis, size)
        dims = tuple((axis, spec) for axis, spec in leaf.dims if axis not in fixed)
        scalar = None if None in fixed else leaf.scalar
        leaves.append(
            dataclasses.replace(leaf, value=value, dims=dims, scalar=scalar) if fixed else leaf
        )
    return dataclasses.replace(loaded, leaves=tuple(leaves))


def small(loaded: Loaded, axes: Sequence[Axis]) -> Loaded:
    """The same example where it is not long, and else a short one; the sizes vary as they did."""
    moved = {
        (one.leaf.name, one.axis): one.spec.scale * max(_TRIED[0], one.spec.lower or 0)
        + one.spec.offset
        for one in axes
        if _example(one) >= _LONG
    }
    leaves = []
    for leaf in loaded.leaves:
        value = leaf.value
        for (name, axis), size in moved.items():
            if name == leaf.name:
                value = size if axis is None else _stretched(value, axis, size)
        leaves.append(dataclasses.replace(leaf, value=value))
    return dataclasses.replace(loaded, leaves=tuple(leaves)) if moved else loaded


def _stretched(value: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    if not value.shape[axis]:
        return value.new_zeros((*value.shape[:axis], size, *value.shape[axis + 1 :]))
    return value.index_select(axis, torch.arange(size) % value.shape[axis])
