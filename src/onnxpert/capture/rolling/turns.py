"""A loop of a rolled program written as one: its body recorded once, for a turn that has no number.

What a turn hands on must look alike in every turn, or grow by the same amount. That, and what the
body writes of the tensors around it, is only known once it ran: it runs again until it is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.experimental.symbolic_shapes import constrain_range

from onnxpert.capture.holder import Recorded
from onnxpert.capture.rolling.fold import (
    Before,
    Here,
    Key,
    LoopTemplate,
    Outside,
    Straight,
    read_within,
)
from onnxpert.capture.rolling.scope import Scope, written_stores
from onnxpert.capture.rolling.trace import Ref, UnalikeError
from onnxpert.capture.rolling.values import ALL, LAST, Handle, Rolled, same
from onnxpert.core.loops import counted_loop
from onnxpert.core.storages import storage

if TYPE_CHECKING:
    from onnxpert.capture.rolling.replay import Replay

aten: Any = torch.ops.aten
_MOST_TRIALS = 8


@dataclass
class _Carried:
    """A value that each turn takes from the one before."""

    initial: torch.Tensor
    source: Any  # what gives the next: (slot, Ref), the one it follows, or None (it is written)
    growth: list[Any] = field(default_factory=list)  # per axis, what a turn adds
    written: bool = False  # the body writes into it
    first: Any = None  # the shape after a turn from the shape that it began with
    widened: bool = False
    here: Any = None  # in the body that is being recorded

    def shape(self, turn: Any) -> list[Any]:
        sizes = list(self.initial.shape)
        return [
            size if same(step, 0) else size + step * turn
            for size, step in zip(sizes, self.growth or [0] * len(sizes), strict=True)
        ]


class Loop:
    """One loop being written into a scope."""

    def __init__(
        self,
        replay: Replay,
        scope: Scope,
        template: LoopTemplate,
        leaves: Sequence[Any],
        needs: frozenset[Key],
    ) -> None:
        self.replay = replay
        self.recorder = replay.recorder
        self.scope = scope
        self.template = template
        self.needs = sorted(needs, key=str)
        self.within = read_within(template, needs)
        given = iter(leaves)
        self.count = next(given)
        self.carried: list[_Carried] = []
        self._chains: dict[Any, list[_Carried]] = {}
        self.plans = [[self._plan(mode, given) for mode in step.modes] for step in template.body]
        self.turn: Any = None

    def run(self) -> Rolled:
        for _ in range(_MOST_TRIALS):
            # Another one each time: torch may have drawn conclusions from a try that went wrong.
            self.turn = _turn_number(self.recorder.fake_mode.shape_env)
            self.recorder.turns.add(self.turn.node.expr)
            body = Scope(self.recorder, self.scope)
            with self.recorder.turned_to(body.page):
                try:
                    values = self._body(body)
                except RuntimeError:
                    if not self._spread():
                        raise
                    continue
                handed = [self._next(body, one, values) for one in self.carried]
                left = self._left(body, values)
                right = self._settle(body, handed)
                given = self._given(handed, left, values)
                self.recorder.graph.output(tuple(map(self.recorder.reference, given)))
            if right:
                return self._written(body, left, values)
        raise UnalikeError("what a loop hands on changes its shape from turn to turn")

    # ---- where the leaves of each step come from -------------------------------------------

    def _plan(self, mode: Any, given: Iterator[Any]) -> tuple[Any, ...]:
        if isinstance(mode, Straight):
            return mode, next(given), next(given)
        if isinstance(mode, Here):
            return mode, [(next(given), next(given)) for _ in mode.ref.index]
        if isinstance(mode, Outside):
            return mode, next(given), [next(given) for _ in mode.ref.index]
        index = tuple(next(given) for _ in mode.ref.index)
        starts = [next(given).get(self.scope) for _ in range(mode.lag)]
        ref = Ref(None, mode.ref.port, index, mode.ref.pick)
        return mode, self._chain(mode.slot, ref, starts)

    def _chain(self, slot: int, ref: Ref, starts: Sequence[torch.Tensor]) -> _Carried:
        """What was `len(starts)` turns ago: that many values, each following the next."""
        key = (slot, ref.port, ref.pick, str(ref.index), *map(id, starts))
        if key not in self._chains:
            chain: list[_Carried] = []
            for start in reversed(starts):
                chain.append(_Carried(start, chain[-1] if chain else (slot, ref)))
            self._chains[key] = chain
            self.carried += chain
        return self._chains[key][-1]

    def _leaf(self, plan: tuple[Any, ...], values: Sequence[Any]) -> Any:
        mode = plan[0]
        if isinstance(mode, Straight):
            return plan[1] if same(plan[2], 0) else plan[1] + plan[2] * self.turn
        if isinstance(mode, Here):
            index = tuple(s if same(step, 0) else s + step * self.turn for s, step in plan[1])
            look = mode.ref
            return Handle(values[mode.slot], Ref(None, look.port, index, look.pick, look.axis))
        if isinstance(mode, Outside):
            return plan[1].moved(plan[2], self.turn)
        assert isinstance(mode, Before)
        return Handle(plan[1].here, Ref(None))

    # ---- the body --------------------------------------------------------------------------

    def _body(self, body: Scope) -> list[Any]:
        body.formal("turn", self.turn)
        for one in self.carried:
            formal = self.recorder.unrecorded(one.shape(self.turn), one.initial.dtype)
            body.formal("carried", formal)
            one.here = formal
        for one in self.carried:
            if one.written:
                one.here = aten.clone.default(one.here)
            if one.source is None:
                body.put(one.initial, one.here)
        values: list[Any] = []
        for slot, (step, plans) in enumerate(zip(self.template.body, self.plans, strict=True)):
            with self.replay.at(step.node):
                leaves = [self._leaf(plan, values) for plan in plans]
                needs = self.within.get(slot, frozenset())
                values.append(self.replay.element(body, step.template, leaves, needs))
        return values

    def _next(self, body: Scope, one: _Carried, values: Sequence[Any]) -> torch.Tensor:
        if one.source is None:
            return one.here  # type: ignore[no-any-return]
        if isinstance(one.source, _Carried):
            return one.source.here  # type: ignore[no-any-return]
        slot, ref = one.source
        result: torch.Tensor = Handle(values[slot], ref).get(body)
        return result

    def _left(self, body: Scope, values: Sequence[Any]) -> dict[tuple[Key, tuple[str, ...]], Any]:
        """What is read of every turn after the loop; only what looks alike can be stacked."""
        found: dict[tuple[Key, tuple[str, ...]], Any] = {}
        for key in self.needs:
            port, pick = key
            value = values[port[0]]
            if not isinstance(value, Rolled):
                found[key, ()] = Handle(value, Ref(None, pick=pick)).get(body)
                continue
            inner = (port[1:], pick)
            if inner in value.last:
                found[key, (LAST,) * (len(port) - 1)] = body.bring(value.last[inner])
            for (other, way), stacked in value.stacked.items():
                if other == inner:
                    found[key, (ALL, *way)] = body.bring(stacked)
        symbol = self.turn.node.expr
        known = {s for value in self._outer() for s in _symbols(value)}
        return {
            key: value
            for key, value in found.items()
            if isinstance(value, torch.Tensor)
            and not any(s == symbol or _is_new(s, known) for s in _symbols(value))
        }

    def _given(
        self,
        handed: Sequence[Any],
        left: dict[Any, Any],
        values: Sequence[Any],  # noqa: ARG002 - for a loop that ends by one of them
    ) -> tuple[Any, ...]:
        """What the body gives."""
        return (*handed, *left.values())

    def _outer(self) -> list[torch.Tensor]:
        return [one.initial for one in self.carried]

    def _settle(self, body: Scope, handed: Sequence[torch.Tensor]) -> bool:
        """Whether everything fits together; if not, what has to is changed for another try."""
        right = True
        written = written_stores(self.recorder.graph)
        for one, value in zip(list(self.carried), handed, strict=True):
            if not one.written and storage(one.here) in written:
                one.written, right = True, False
            elif one.written and one.source is not None and storage(value) != storage(one.here):
                raise UnalikeError("a loop writes a tensor of before it in its first turn only")
            if value.dtype != one.initial.dtype:
                with self.recorder.turned_to(self.scope.page):
                    one.initial, right = aten.to.dtype(one.initial, value.dtype), False
            right = self._grown(one, value) and right
        for outer in body.others:
            if storage(outer) in written:
                self.carried.append(_Carried(outer, None, written=True))
                right = False
        return right

    def _grown(self, one: _Carried, value: torch.Tensor) -> bool:
        if value.dim() != one.initial.dim():
            one.first = value.shape
            self._widen(one)
            return False
        expected = one.shape(self.turn + 1)
        if all(same(size, want) for size, want in zip(value.shape, expected, strict=True)):
            return True
        if one.growth and any(not same(step, 0) for step in one.growth):
            self._widen(one)
            return False
        now, one.first = one.shape(self.turn), value.shape
        one.growth = [0 if same(a, b) else b - a for a, b in zip(now, value.shape, strict=True)]
        return False

    def _spread(self) -> bool:
        """What seemed to grow was perhaps broadcast in the first turn."""
        grown = [one for one in self.carried if any(not same(step, 0) for step in one.growth)]
        for one in grown:
            self._widen(one)
        return bool(grown)

    def _widen(self, one: _Carried) -> None:
        """What it begins with, in the shape that it has after the first turn. The proof compares."""
        if one.widened or one.first is None:
            raise UnalikeError("what a loop hands on changes its shape from turn to turn")
        with self.recorder.turned_to(self.scope.page):
            one.initial = aten.expand.default(one.initial, list(one.first))
        one.growth, one.widened = [], True

    # ---- the loop itself -------------------------------------------------------------------

    def _written(self, body: Scope, left: Any, values: Sequence[Any]) -> Rolled:
        recorder = self.recorder
        holder = Recorded(body.page["graph"], body.bodies)
        name = f"loop_{len(self.scope.bodies)}"
        self.scope.bodies.append(holder)
        node = recorder.graph.create_node("get_attr", name)
        finals = [
            recorder.unrecorded(one.shape(self.count), one.initial.dtype) for one in self.carried
        ]
        stacks = [
            recorder.unrecorded([self.count, *value.shape], value.dtype) for value in left.values()
        ]
        starts = tuple(one.initial for one in self.carried)
        others = tuple(body.others)
        self._call(node, starts, others, [*finals, *stacks])
        for one, final in zip(self.carried, finals, strict=True):
            if one.written:  # what was written in place is seen by every view of it
                aten.copy_.default(one.initial, final)
        last = {
            ((one.source[0], *one.source[1].port), one.source[1].pick): final
            for one, final in zip(self.carried, finals, strict=True)
            if isinstance(one.source, tuple) and _is_end(values[one.source[0]], one.source[1])
        }
        inner = {slot: value for slot, value in enumerate(values) if isinstance(value, Rolled)}
        return Rolled(self.count, last, dict(zip(left, stacks, strict=True)), inner)

    def _call(self, body: Any, starts: Any, others: Any, outs: Sequence[Any]) -> None:
        self.recorder.write(counted_loop, (body, self.count, starts, others), {}, outs)


def _is_end(value: Any, ref: Ref) -> bool:
    """Whether a Ref means the last turn of the loops inside."""
    if not isinstance(value, Rolled):
        return True
    counts = value.counts(ref.port)
    return all(same(index, count - 1) for index, count in zip(ref.index, counts, strict=False))


def _turn_number(environment: Any) -> Any:
    turn = environment.create_unbacked_symint()
    constrain_range(turn, min=0, max=None)
    return turn


def _symbols(value: torch.Tensor) -> set[Any]:
    sizes: Sequence[Any] = value.shape
    return {
        symbol
        for size in sizes
        if isinstance(size, torch.SymInt)
        for symbol in size.node.expr.free_symbols
    }


def _is_new(symbol: Any, known: set[Any]) -> bool:
    """A size that only this turn's data know."""
    return str(symbol).startswith("u") and symbol not in known
