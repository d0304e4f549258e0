"""Loops in blocks of which the last is shorter: `for i in range(0, n, 4): x[i : i + 4]`.

A size is so many whole blocks and a rest, which is what the last turn gets. The model is recorded at
several numbers of blocks and several rests; the last turn stays out of the loop."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from onnxpert.capture.flat import fed
from onnxpert.capture.reasoning import Frugal
from onnxpert.capture.rolling import Record, Varying, groupings, replayed, resized_to, short
from onnxpert.capture.rolling.alignment import Structure, Turns, align
from onnxpert.capture.rolling.fit import generalise
from onnxpert.capture.rolling.fold import fold
from onnxpert.capture.rolling.ties import Axis
from onnxpert.capture.rolling.trace import Element, Trace, UnalikeError
from onnxpert.core.types import Captured, DimSpec, InputKind, Loaded

logger = logging.getLogger(__name__)
aten: Any = torch.ops.aten
_LARGEST = 1024  # a block: five of them are run through
_MOST_TRIED = 2


@dataclass(frozen=True, slots=True)
class _InBlocks:
    """A size, and how wide the blocks of it are."""

    size: Varying
    width: int

    @property
    def axes(self) -> tuple[tuple[str, int | None, DimSpec], ...]:
        return self.size.axes

    def _whole(self, size: Any) -> Any:
        return (size - 1) // self.width


class _Blocks(_InBlocks):
    """How many whole blocks come before the last one, whole or not."""

    def length(self, given: Mapping[str, Any]) -> Any:
        return self._whole(self.size.length(given))


class _Rest(_InBlocks):
    """How long the last block is."""

    def length(self, given: Mapping[str, Any]) -> Any:
        size = self.size.length(given)
        return size - self._whole(size) * self.width


def with_rest(
    loaded: Loaded, axes: Sequence[Axis], graph: fx.Graph, record: Record
) -> Captured | None:
    """The model with its size in blocks free again, if that is how it is made; `graph` is what a run
    with these sizes frozen has recorded, or the beginning of it."""
    tried = [sizes[0] for sizes in groupings(loaded, axes) if len(sizes) == 1]
    widths = list(dict.fromkeys(_widths(graph)))[:_MOST_TRIED]
    for width, size in itertools.product(widths, tried):
        try:
            return _rolled(loaded, size, width, record)
        except UnalikeError as error:
            logger.debug("not in blocks of %d: %s", width, error)
        # As in the package: the model does not take that size, or torch cannot follow a turn.
        except Exception:
            logger.debug("not in blocks of %d", width, exc_info=True)
    return None


def _rolled(loaded: Loaded, size: Varying, width: int, record: Record) -> Captured | None:
    rests = (1, 2) if width == 3 else (2, 3)  # a rest of one may be something else
    points = [(2, rests[0]), (3, rests[0]), (5, rests[0]), (2, rests[1]), (3, rests[1])]
    lengths = [blocks * width + rest for blocks, rest in points]
    if width < 3 or size.lower > lengths[0] or size.upper < max(lengths):
        raise UnalikeError("the size may not vary enough")
    runs = [short(record(resized_to(loaded, (size,), (length,)))) for length in lengths]
    elements = _elements(runs, points)
    parts = (_Blocks(size, width), _Rest(size, width))
    return replayed(loaded, runs[-1], elements, parts, with_rest=True)


def _elements(runs: Sequence[Captured], points: Sequence[tuple[int, ...]]) -> list[Element]:
    traces = [Trace(run) for run in runs]
    structures = align([trace.tokens() for trace in traces])
    if structures is None:
        raise UnalikeError("the traces are not the same program")
    peeled = [
        tuple(_peeled(trace, structure))
        for trace, structure in zip(traces, structures, strict=True)
    ]
    if peeled == list(structures):
        raise UnalikeError("the last turn is like the others")
    folded = [fold(*both) for both in zip(traces, peeled, strict=True)]
    return generalise(folded, points)


def _peeled(trace: Trace, structure: Structure) -> Iterator[int | Turns]:
    """Loops without their last turn, where that is about another size; it comes after them."""
    for part in structure:
        if isinstance(part, Turns) and _looks(trace, part.turns[0]) != _looks(
            trace, part.turns[-1]
        ):
            yield Turns(part.turns[:-1])
            yield from part.turns[-1]
        else:
            yield part


def _looks(trace: Trace, turn: Structure) -> list[Any]:
    return [
        str(getattr(trace.calls[at].meta.get("val"), "shape", None))
        if isinstance(at, int)
        else None
        for at in turn
    ]


def _widths(graph: fx.Graph) -> Iterator[int]:
    """How long the blocks may be into which the run cut something."""
    for _, width in _held(graph):
        yield from _plausible(width)
    before: dict[Any, int] = {}  # a tensor and an axis -> where it was last cut
    for node in graph.nodes:
        if node.target is aten.split.Tensor and isinstance(node.args[1], int):
            yield from _plausible(node.args[1])
        if node.target is not aten.slice.Tensor or len(node.args) < 4:
            continue
        source, axis, start, end = node.args[:4]
        if not isinstance(source, fx.Node) or not all(isinstance(n, int) for n in (start, end)):
            continue
        size = _number(source.meta["val"].shape[axis])
        beyond = size is not None and size < end < 2**31  # that much was wanted
        if beyond or before.get((source, axis)) == start:
            yield from _plausible(end - start)
        before[source, axis] = end


def _number(size: Any) -> int | None:
    """A size that is known by now."""
    if isinstance(size, int):
        return size
    return int(size.node.expr) if size.node.expr.is_number else None


def _held(graph: fx.Graph) -> Iterator[tuple[Any, int]]:
    """The sizes that are no longer than one block, since a loop in steps turned but once, and how
    long that is."""
    given = (node.meta["val"] for node in graph.nodes if node.op == "placeholder")
    sizes = (size for value in given for size in getattr(value, "shape", ()))
    environment = next((one.node.shape_env for one in sizes if isinstance(one, torch.SymInt)), None)
    if isinstance(environment, Frugal):
        for expr, (_, step) in environment.in_steps.items():
            yield environment.replace(expr), step


def turns_once(captured: Captured) -> bool:
    """Whether a loop in steps turned but once, and how often it does is a matter of sizes."""
    return any(True for _ in _held(captured.root.graph))


def split_axes(captured: Captured) -> Iterator[Axis]:
    """The dimensions that were split as often as goes: the number of parts is no size to torch.

    So are those with one part, by a loop in steps."""
    graph, loaded = captured.root.graph, captured.loaded
    assert loaded is not None
    cut = {
        _expr(n) for node in graph.nodes if node.target is aten.split.Tensor for n in _along(node)
    }
    cut |= {symbol for symbol, _ in _held(graph)}
    leaves = {leaf.name: leaf for leaf in fed(loaded)}
    placeholders = (node for node in graph.nodes if node.op == "placeholder")
    for entry, node in zip(captured.inputs, placeholders, strict=True):
        leaf = leaves.get(entry.name) if entry.kind is InputKind.USER else None
        for axis, spec in () if leaf is None else leaf.dims:
            size = _expr(node.meta["val"].shape[axis])
            if size is not None and size in cut:
                yield Axis(leaf, axis, spec, spec.name or size)  # type: ignore[arg-type]


def _along(node: fx.Node) -> Iterator[Any]:
    given: Any = node.args[0]
    axis = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    yield given.meta["val"].shape[axis]


def _expr(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else None


def _plausible(width: int) -> Iterator[int]:
    if 2 < width <= _LARGEST:
        yield width
