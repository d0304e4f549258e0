"""`while` on data, with what Python counts and collects on the way, rolled up like a loop over a size.

The model runs with the question answered so that the loop turns four, five and seven times. How often
it really turns, a tensor says: the test that ends a turn is recorded as a call."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TypeAlias

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import constrain_range
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.entering import entered, tensor_names
from onnxpert.capture.flat import Flat, fed, owner
from onnxpert.capture.forking.counting import Variable, Watch, growing, install
from onnxpert.capture.forking.emptiness import open_emptiness
from onnxpert.capture.forking.questions import Asking, Expr, Question, asking_mode
from onnxpert.capture.forking.runs import Listener
from onnxpert.capture.guards import guards_of
from onnxpert.capture.holder import Recorded
from onnxpert.capture.recorder import Recorder, new_fake_mode
from onnxpert.capture.rolling.alignment import Structure, Turns
from onnxpert.capture.rolling.few_turns import check_short
from onnxpert.capture.rolling.fit import Formula, Lengths, Power, generalise
from onnxpert.capture.rolling.fold import LoopTemplate, fold
from onnxpert.capture.rolling.prune import prune
from onnxpert.capture.rolling.replay import Replay
from onnxpert.capture.rolling.scope import NestingRecorder
from onnxpert.capture.rolling.trace import Element, Trace, UnalikeError
from onnxpert.capture.rolling.turns import Loop
from onnxpert.capture.surrounding.surroundings import recording
from onnxpert.core.loops import stopped_loop
from onnxpert.core.types import Captured, Loaded

logger = logging.getLogger(__name__)
aten: Any = torch.ops.aten
Record: TypeAlias = Callable[[Loaded, Callable[..., Recorder]], Captured]
_READS = (aten._local_scalar_dense.default, aten.item.default)
_TURNS = (4, 5, 7)
_OTHERS = (0, 1, 2, 12)  # as often, to see that nothing else is done
_RELATIONS: dict[Any, Any] = {
    sympy.Eq: (aten.eq.Scalar, aten.eq.Tensor),
    sympy.Ne: (aten.ne.Scalar, aten.ne.Tensor),
    sympy.Lt: (aten.lt.Scalar, aten.lt.Tensor),
    sympy.Le: (aten.le.Scalar, aten.le.Tensor),
    sympy.Gt: (aten.gt.Scalar, aten.gt.Tensor),
    sympy.Ge: (aten.ge.Scalar, aten.ge.Tensor),
}


def stopped(loaded: Loaded, record: Record) -> Captured | None:
    """The model with its one loop that the data stop, if that is how it is made."""
    for go in (True, False):
        try:
            return _Stopping(loaded, record, go).captured()
        except UnalikeError as error:
            logger.debug("no loop that %s goes on with: %s", go, error)
        # The model does not take so many turns, or torch cannot follow one that has no number.
        except Exception:
            logger.debug("no loop that %s goes on with", go, exc_info=True)
    return None


class _Tests(Asking):
    """Every question that the data decide is also a call, in the graph."""

    test: Callable[[FrameType, Expr], None]

    def _ask(self, asker: FrameType, expr: Expr, answer: bool, *, about_data: bool) -> None:
        if about_data:
            self.test(asker, expr)
        super()._ask(asker, expr, answer, about_data=about_data)


class _Tester(Listener):  # type: ignore[no-untyped-call]
    """Records the questions, and has counters tell."""

    def start(self, variables: frozenset[Variable], watch: Watch, go: bool) -> None:
        def test(asker: FrameType, expr: Expr) -> None:
            install(asker, variables, watch)
            answer = self._truth(expr)
            self._call(aten.clone.default if go else aten.logical_not.default, answer)

        environment = self.environment
        assert isinstance(environment, _Tests)
        environment.test = test

    def _call(self, target: Any, *args: Any) -> torch.Tensor:
        with _disable_current_modes(), self.fake_mode:
            out: torch.Tensor = target(*args)
        self.write(target, args, {}, out)
        return out

    def _truth(self, expr: Expr) -> torch.Tensor:
        """A condition as a tensor without dimensions, from those that its numbers were read of."""
        if isinstance(expr, (sympy.And, sympy.Or)):
            both = (
                aten.logical_and.default if isinstance(expr, sympy.And) else aten.logical_or.default
            )
            first, *rest = (self._truth(part) for part in expr.args)
            for other in rest:
                first = self._call(both, first, other)
            return first
        if isinstance(expr, sympy.Not):
            return self._call(aten.logical_not.default, self._truth(expr.args[0]))
        calls = _RELATIONS.get(expr.func)
        if calls is None:
            raise UnalikeError("the condition of a loop is no comparison")
        left, right = expr.args
        if left.is_number:
            calls, left, right = _RELATIONS[expr.reversed.func], right, left
        if right.is_number:
            number = int(right) if right.is_Integer else float(right)
            return self._call(calls[0], self._read(left), number)
        return self._call(calls[1], self._read(left), self._read(right))

    def _read(self, number: Expr) -> torch.Tensor:
        for node in reversed(self.graph.nodes):
            value = node.meta.get("val")
            if node.target in _READS and number in value.node.expr.free_symbols:
                tensor: Any = node.args[0]
                found: torch.Tensor = tensor.meta["val"]
                if found.dtype in (torch.float16, torch.bfloat16, torch.float32):
                    found = self._call(aten.to.dtype, found, torch.float64)  # as Python compares
                return self._call(aten.reshape.default, found, []) if found.dim() else found
        raise UnalikeError("the condition of a loop is no plain number")


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """A run with so many turns."""

    captured: Captured
    questions: tuple[Question, ...]


class _Stopping:
    """One model, and the answer that leads to another turn."""

    def __init__(self, loaded: Loaded, record: Record, go: bool) -> None:
        self._loaded = loaded
        self._record = record
        self._go = go
        self._variables: frozenset[Variable] = frozenset()

    def captured(self) -> Captured:
        first = self._run(_TURNS[0])
        states = [question.state for question in first.questions]
        self._variables = frozenset().union(
            *(growing(*pair) for pair in itertools.pairwise(states))
        )
        runs = [self._run(count) for count in _TURNS]
        lengths = [(count,) for count in _TURNS]
        traces = [Trace(run.captured) for run in runs]
        folded = [
            fold(trace, _structure(trace, run.questions))
            for trace, run in zip(traces, runs, strict=True)
        ]
        elements = generalise(folded, lengths)
        _check_order(elements)
        check_short(elements, lengths[0], self._again, _OTHERS)
        return self._replayed(runs[-1].captured, elements)

    def _again(self, at: Lengths) -> Captured:
        return self._run(at[0]).captured

    def _run(self, count: int) -> _Run:
        made: list[_Tester] = []
        watch = Watch()

        def make(_: Any, *rest: Any) -> _Tester:
            plan = (*([self._go] * count), not self._go)
            mode = asking_mode(plan, self._loaded.thorough, self._loaded.doubted, _Tests)
            made.append(_Tester(mode, owner(self._loaded.module), *rest))
            made[0].start(self._variables, watch, self._go)
            return made[0]

        try:
            with open_emptiness():
                captured = self._record(self._loaded, make)
        finally:
            for tester in made:
                tester.environment.look = None
                tester.environment.pending_fresh_unbacked_symbols.clear()
        questions = tuple(made[0].environment.questions)
        _check_questions(questions, count)
        if watch.decided:
            raise UnalikeError("Python decides something by what it has counted")
        return _Run(captured, questions)

    def _replayed(self, run: Captured, elements: Sequence[Element]) -> Captured:
        loaded = self._loaded
        mode = new_fake_mode()
        recorder = NestingRecorder(mode, tensor_names(owner(loaded.module)), loaded.whole)
        names = [leaf.name for leaf in fed(loaded)]
        given = dict(zip(names, entered(recorder, loaded), strict=True))
        weights = {entry.name: entry.tensor for entry in run.inputs if entry.tensor is not None}
        assert mode.shape_env is not None
        turns = mode.shape_env.create_unbacked_symint()
        constrain_range(turns, min=0, max=None)
        with recording(recorder, owner(loaded.module) or Flat(loaded)):
            replay = _StoppedReplay(recorder, [turns])
            outputs = replay.run(elements, {**weights, **given})
        recorder.give(outputs)
        root = Recorded(recorder.graph, replay.scope.bodies)
        prune(root)
        return dataclasses.replace(
            run,
            loaded=loaded,
            root=root,
            inputs=tuple(recorder.inputs),
            guards=guards_of(recorder.fake_mode.shape_env),
        )


def _check_questions(questions: Sequence[Question], count: int) -> None:
    if any(not question.about_data for question in questions):
        raise UnalikeError("the model also asks about sizes")
    if len(questions) != count + 1:
        raise UnalikeError(f"asked {len(questions)} times, not {count + 1}")
    places = {tuple(leaf for path, leaf in q.state if len(path) == 1) for q in questions}
    # Python compiles the test twice: the first time is asked before the loop.
    if len(places) != 1 or not all(question.in_while for question in questions[1:]):
        raise UnalikeError("the questions are not those of one `while`")


def _structure(trace: Trace, questions: Sequence[Question]) -> Structure:
    """What comes before, the turns from test to test, and what comes after."""
    places = {node: number for number, node in enumerate(trace.calls)}
    tests = [places[question.after] + 1 for question in questions]
    turns = tuple(tuple(range(*pair)) for pair in itertools.pairwise(tests))
    return (*range(tests[0]), Turns(turns), *range(tests[-1], len(trace.calls)))


def _check_order(elements: Sequence[Element]) -> None:
    """How often a loop turns is not known before it is over."""
    for element in elements:
        is_loop = isinstance(element.template, LoopTemplate)
        leaves = element.leaves[1:] if is_loop else element.leaves
        if any(
            isinstance(number, (Formula, Power)) for leaf in leaves for number in _numbers(leaf)
        ):
            raise UnalikeError("a turn depends on how many there will be")
        if is_loop:
            return


def _numbers(leaf: Any) -> Sequence[Any]:
    return getattr(leaf, "index", (leaf,))


class _StoppedReplay(Replay):
    """Runs a program with one loop that ends by a test."""

    _last: Any = None

    def element(self, scope: Any, template: Any, leaves: Sequence[Any], needs: Any) -> Any:
        if isinstance(template, LoopTemplate):
            return _StoppedLoop(self, scope, template, leaves, needs, self._last).run()
        self._last = super().element(scope, template, leaves, needs)
        return self._last


class _StoppedLoop(Loop):
    """A loop of which the last call of a turn, and the last one before, is the test."""

    def __init__(self, *args: Any) -> None:
        *rest, self._first = args
        super().__init__(*rest)

    def _given(
        self, handed: Sequence[Any], left: dict[Any, Any], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        return (values[-1], *super()._given(handed, left, values))

    def _call(self, body: Any, starts: Any, others: Any, outs: Sequence[Any]) -> None:
        turned = self.recorder.unrecorded([], torch.int64)
        node = self.recorder.write(
            stopped_loop, (body, self._first, starts, others), {}, [turned, *outs]
        )
        node.meta["loop"] = True
        self.recorder.write(aten._local_scalar_dense.default, (turned,), {}, self.count)
