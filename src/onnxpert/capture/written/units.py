"""Branches and loops as one call each: what they hold is recorded on pages of their own.

A loop is recorded as often as it takes until what a turn begins with holds what a turn leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxpert.capture.guards import keep_in_mind
from onnxpert.capture.places import user_frames
from onnxpert.capture.rolling.scope import written_stores
from onnxpert.capture.state import restore, snapshot
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import UNDEFINED, Seen, Sight
from onnxpert.capture.written.looks import Look
from onnxpert.capture.written.pages import (
    Page,
    PageRecorder,
    arranged,
    made_own,
    symbols,
    written_in,
)
from onnxpert.capture.written.second_names import SecondNames
from onnxpert.capture.written.slots import (
    Columns,
    FirstTurnError,
    Growing,
    Many,
    Maybe,
    One,
    Same,
    Slot,
    is_lost,
    leaves,
    retire,
)
from onnxpert.capture.written.tuples import column
from onnxpert.capture.written.widening import either, widened
from onnxpert.core.storages import storage

_COND = torch.ops.higher_order.cond
_WHILE = torch.ops.higher_order.while_loop
_MOST_PASSES = 8


@dataclass(frozen=True, slots=True)
class Variables:
    """How the variables of a function are read and written."""

    get: Callable[[], Sequence[Any]]
    set: Callable[[Sequence[Any]], None]

    def seen(self, settled: Callable[[Any], Any] = lambda value: value) -> list[Seen]:
        return list(map(Sight(settled).seen, self.get()))

    def seen_after(self, begun: Sequence[Any]) -> list[Seen]:
        """Of two names of one list, that which a turn began without is the second."""
        sight, values = Sight(), list(self.get())
        order = sorted(range(len(values)), key=lambda place: begun[place] is UNDEFINED)
        seen = {place: sight.seen(values[place]) for place in order}
        return [seen[place] for place in range(len(values))]

    def settle(self, settled: Callable[[Any], Any]) -> list[Any]:
        """Makes each what it is known to be."""
        before = list(self.get())
        after = list(map(settled, before))
        if any(a is not b for a, b in zip(before, after, strict=True)):
            self.set(after)
        return after


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn of a loop, recorded."""

    page: Page
    places: list[Any]  # of whether to go on, and of what comes in
    again: Any  # whether there is another one
    end: list[Seen]
    written: list[torch.Tensor]
    known: set[Any]  # the symbols that are there without it
    names: SecondNames


class Units:
    """Writes them into the page that is open."""

    def __init__(self, recorder: PageRecorder, root: torch.nn.Module) -> None:
        self.recorder = recorder
        self._modules = list(root.modules())
        # A module's attributes that rewritten code knows of are variables: they are put back anyway.
        self.assigned: set[tuple[int, str]] = set()

    # ---- branches --------------------------------------------------------------------------

    def branch(
        self,
        truth: Any,
        sides: Sequence[Callable[[], Any]],
        variables: Variables,
        refused: Callable[[bool, Exception], None],
    ) -> Any:
        """What either side does and gives, as one call. Where one side raises, the other is all."""
        start = variables.seen()
        known = self._symbols()
        pages: list[Page] = []
        ends: list[list[Seen]] = []
        names: list[SecondNames] = []
        absences = self.recorder.absences
        unchanged = [absences.is_none(one.value) not in (True, False) for one in start]
        for number, side in enumerate(sides):
            page = self.recorder.new_page()
            given = absences.given(truth, not number)
            try:
                apart = self.recorder.second_names.aside()
                with self.recorder.opened(page), self._kept(), given, apart as inside:
                    begun = variables.settle(absences.settled)
                    result = Sight(absences.settled).seen(side())
                    end = variables.seen(absences.settled)
                    unchanged = [
                        old and new.value is value
                        for old, new, value in zip(unchanged, end, begun, strict=True)
                    ]
                    ends.append([*end, result])
                    names.append(inside)
            except Exception as error:
                variables.set([one.restore() for one in start])
                refused(not number, error)  # raises if it is not the model that does
                return sides[1 - number]()
            finally:
                variables.set([one.restore() for one in start])
            pages.append(page)
        for inside in names:
            self.recorder.second_names.also(inside)
        slots = [
            Same(one) if same else either(a, b, known)
            for same, one, a, b in zip((*unchanged, False), (*start, None), *ends, strict=True)
        ]
        if is_lost(slots[-1]):
            raise UnwritableError("the sides give results of different kinds")
        for slot in slots:
            for part in leaves(slot):
                if isinstance(part, Maybe):
                    part.truth = truth
        return self._joined(truth, pages, ends, slots, variables)

    def _joined(
        self,
        truth: Any,
        pages: Sequence[Page],
        ends: Sequence[Sequence[Seen]],
        slots: Sequence[Slot],
        variables: Variables,
    ) -> Any:
        recorder = self.recorder
        given: list[list[Any]] = []
        ways: list[list[torch.Tensor]] = []
        for page, end, answer in zip(pages, ends, (True, False), strict=True):
            with recorder.opened(page), recorder.absences.given(truth, answer):
                tensors = _tensors(recorder, slots, end)
                given.append([recorder.reference(one) for one in tensors])
            ways.append(tensors)
        written = _distinct(one for page in pages for one in written_in(page))
        others = _distinct(one for page in pages for one in page.others)
        for page, nodes in zip(pages, given, strict=True):
            own = {id(one) for one in written_in(page)}
            copies = {id(one): made_own(recorder, page, one) for one in written if id(one) in own}
            arranged(recorder, page, (), others)
            results = [
                copies[id(one)] if id(one) in copies else page.places[id(one)] for one in written
            ]
            page.graph.output((*(_copied(node, copies, page) for node in nodes), *results))
        looks = [each for slot in slots for each in slot.looks()]
        outs = [each.made(recorder) for each in looks]
        finals = [recorder.unrecorded(one.shape, one.dtype) for one in written]
        if outs or finals:
            held = [recorder.held(page) for page in pages]
            node = recorder.write(_COND, (truth, *held, tuple(others)), {}, [*outs, *finals])
            about_data = _is_about_data(truth)
            node.meta["asked"] = (_condition(truth), user_frames(), about_data)
            if not about_data:
                keep_in_mind(truth)
        self._write_back(written, finals)
        for tensors in ways:
            recorder.second_names.tie(outs, tensors)
        taken = iter(outs)
        *values, result = [slot.taken(recorder, taken) for slot in slots]
        for slot, *both in zip(slots, *ends, strict=True):
            for one in both:
                retire(slot, one)
        variables.set(values)
        return result

    # ---- loops -----------------------------------------------------------------------------

    def loop(
        self, go: Any, turn: Callable[[], Any], variables: Variables, count: Any = None
    ) -> None:
        """Turns of what `turn` does, which gives whether there is another one; `count` says how
        many there are, where that is known before."""
        start = variables.seen()
        slots: list[Slot] = [widened(None, one, one, self._symbols()) for one in start]
        writes: set[int] = set()
        for _ in range(_MOST_PASSES):
            try:
                made = self._turn(turn, slots, variables)
            finally:
                variables.set([one.restore() for one in start])
            wider = [
                widened(slot, a, b, made.known)
                for slot, a, b in zip(slots, start, made.end, strict=True)
            ]
            if any(isinstance(part, Maybe) for slot in wider for part in leaves(slot)):
                raise FirstTurnError("a variable is None at first and something else later")
            written = {id(one) for one in made.written}
            if list(map(_form, wider)) == list(map(_form, slots)) and written <= writes:
                after = self._looped(go, made, slots, start, count)
                for slot, one in zip(slots, start, strict=True):
                    retire(slot, one)
                variables.set(after)
                return
            slots = wider
            writes |= written
        raise UnwritableError("what a loop hands on changes its shape from turn to turn")

    def _turn(self, turn: Callable[[], Any], slots: Sequence[Slot], variables: Variables) -> _Turn:
        """One turn on a page of its own, with the variables set to what the slots bring."""
        recorder = self.recorder
        known = self._symbols()
        page = recorder.new_page()
        with recorder.opened(page), self._kept(), recorder.second_names.aside() as names:
            places = [recorder.formal("go", recorder.unrecorded([], torch.bool))]
            tensors = [look.made(recorder) for slot in slots for look in slot.looks()]
            places += [recorder.formal("carried", tensor) for tensor in tensors]
            given = iter(tensors)
            begun = [slot.taken(recorder, given) for slot in slots]
            variables.set(begun)
            again = turn()
            end = variables.seen_after(begun)
        if not names.spent.keys().isdisjoint(map(storage, page.others)):
            raise UnwritableError("a turn writes a tensor that the next one reads as it was")
        return _Turn(page, places, again, end, written_in(page), known, names)

    def _looped(
        self, go: Any, turn: _Turn, slots: Sequence[Slot], start: Sequence[Seen], count: Any
    ) -> list[Any]:
        """The call that is the loop; gives what the variables are after it."""
        recorder, page, written = self.recorder, turn.page, turn.written
        with recorder.opened(page):
            tensors = _tensors(recorder, slots, turn.end)
            results = [recorder.reference(one) for one in tensors]
            again = recorder.reference(turn.again)
        starts = _tensors(recorder, slots, start)
        own = self._written_own(turn, starts, tensors)
        copies = {id(one): made_own(recorder, page, one) for one in written}
        kept = [one for one in page.others if id(one) not in copies]
        inputs = [*turn.places, *(page.places[id(one)] for one in written)]
        arranged(recorder, page, inputs, kept)
        page.graph.output(
            (again, *(own.get(n, _copied(n, copies, page)) for n in results), *copies.values())
        )
        looks = [look for slot in slots for look in slot.looks()]
        formals = [place.meta["val"] for place in turn.places[1:]]
        outs = [
            _after(look, three, count, turn.known).made(recorder)
            for look, *three in zip(looks, starts, formals, tensors, strict=True)
        ]
        finals = [recorder.unrecorded(one.shape, one.dtype) for one in written]
        pages = [recorder.held(one) for one in (self._test(page), page)]
        node = recorder.write(
            _WHILE,
            (*pages, (go, *starts, *written), tuple(kept)),
            {},
            [recorder.unrecorded([], torch.bool), *outs, *finals],
        )
        node.meta["loop"] = True
        recorder.second_names.also(turn.names)
        self._write_back(written, finals)
        # Of so many turns as a size says there is one; of others there may be none.
        open_ = count is None or bool(free_unbacked_symbols(count))
        for each in (starts, tensors) if open_ else (tensors,):
            recorder.second_names.tie(outs, each)
        taken = iter(outs)
        return [slot.taken(recorder, taken) for slot in slots]

    def _written_own(
        self, turn: _Turn, starts: Sequence[torch.Tensor], ends: Sequence[torch.Tensor]
    ) -> dict[Any, Any]:
        """What a turn is handed by the one before and writes: a copy of its own. Who else knew the
        tensor that the first turn began with is not to use it any more."""
        recorder, page = self.recorder, turn.page
        stores = written_stores(page.graph)
        places = turn.places[1:]
        found = [n for n, place in enumerate(places) if storage(place.meta["val"]) in stores]
        around = [*turn.names.listed, *map(storage, page.others)]
        for number in found:
            for tensors in (starts, ends):
                here = [*around, *map(storage, tensors)]
                if here.count(storage(tensors[number])) > 1 or recorder.is_given(tensors[number]):
                    raise UnwritableError("a tensor is written that goes by two names")
        recorder.second_names.spend(starts[number] for number in found)
        return {
            places[number]: made_own(recorder, page, places[number].meta["val"], places[number])
            for number in found
        }

    def _test(self, page: Page) -> Page:
        """What says whether there is another turn: the turn before did."""
        test = self.recorder.new_page()
        examples = [n.meta["val"] for n in page.graph.nodes if n.op == "placeholder"]
        with self.recorder.opened(test):
            nodes = [self.recorder.formal("given", example) for example in examples]
        test.graph.output((nodes[0],))
        return test

    # ---- around them -----------------------------------------------------------------------

    def _write_back(self, written: Sequence[torch.Tensor], finals: Sequence[torch.Tensor]) -> None:
        for outer, final in zip(written, finals, strict=True):
            torch.ops.aten.copy_.default(outer, final)

    def _symbols(self) -> set[Any]:
        environment: Any = self.recorder.fake_mode.shape_env
        return set(environment.var_to_range)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """What a side or a turn does to attributes of modules, beside what is known, is too much."""
        before = [(part, snapshot(part)) for part in self._modules]
        depth = len(self.recorder.modules)
        try:
            yield
            for part, attributes in before:
                changed = [
                    key for key in restore(part, attributes) if (id(part), key) not in self.assigned
                ]
                if changed:
                    raise UnwritableError(f"a branch or a loop changes the attribute {changed[0]}")
        finally:
            del self.recorder.modules[depth:]
            for part, attributes in before:
                list(restore(part, attributes))


def _tensors(
    recorder: PageRecorder, slots: Sequence[Slot], values: Sequence[Seen]
) -> list[torch.Tensor]:
    """What crosses the border; a tensor of the model's own as what stands in for it."""
    given = [one for slot, value in zip(slots, values, strict=True) for one in slot.tensors(value)]
    recorder.absences.check(given)
    for slot, value in zip(slots, values, strict=True):
        recorder.second_names.list(one.value for one in _items(slot, value))
    return list(map(recorder.stand_in, given))


def _items(slot: Slot, value: Seen) -> Iterator[Seen]:
    """What lists hold whose length changes."""
    if isinstance(slot, Growing):
        yield from value.inner or ()
    elif isinstance(slot, Columns):
        for place, part in enumerate(slot.parts):
            yield from _items(part, column(value, place))
    elif isinstance(slot, Many):
        for part, one in zip(slot.parts, value.inner or (), strict=False):
            yield from _items(part, one)


def _after(look: Look, of_turn: Sequence[torch.Tensor], count: Any, known: set[Any]) -> Look:
    """What a tensor looks like after so many turns, where each adds as much as the others."""
    if count is None:
        return look
    start, formal, end = of_turn
    sizes = list(look.sizes)
    for axis, size in enumerate(sizes):
        if size is None:
            growth = end.shape[axis] - formal.shape[axis]
            if symbols(growth) <= known:
                sizes[axis] = start.shape[axis] + growth * count
    return Look(look.dtype, tuple(sizes))


def _distinct(tensors: Iterator[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(one): one for one in tensors}.values())


def _copied(node: Any, copies: dict[int, Any], page: Page) -> Any:
    """A result that is a tensor from around which the page has a copy of."""
    owners = {page.places[number]: copy for number, copy in copies.items()}
    return owners.get(node, node)


def _condition(truth: Any) -> str:
    # `str` of the symbol itself would be a text that the model makes of a value.
    return str(truth.node.expr) if isinstance(truth, torch.SymBool) else "a tensor"


def _is_about_data(truth: Any) -> bool:
    return not isinstance(truth, torch.SymBool) or bool(free_unbacked_symbols(truth))


def _spelled(look: Look) -> tuple[Any, ...]:
    return tuple(s.node.expr if isinstance(s, torch.SymInt) else s for s in look.sizes)


def _form(slot: Slot) -> Any:
    """What two slots have in common that hold the same."""
    if isinstance(slot, One):
        return ("one", slot.look.dtype, _spelled(slot.look), slot.number)
    if isinstance(slot, Many):
        return (type(slot).__name__, *map(_form, slot.parts))
    if isinstance(slot, Growing):
        return ("growing", slot.item.dtype, _spelled(slot.item), slot.number, slot.axis)
    return type(slot).__name__
