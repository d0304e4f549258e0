"""The runs of a model with branches: each with its answers and its sizes, none made twice."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeAlias

import sympy
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from onnxpert.capture.flat import owner
from onnxpert.capture.forking.continuation import Attributes, state
from onnxpert.capture.forking.emptiness import open_emptiness
from onnxpert.capture.forking.meeting import meet
from onnxpert.capture.forking.questions import Asking, Expr, asking_mode
from onnxpert.capture.forking.size_choice import Choice, Sizes, axes, first_sizes, resized
from onnxpert.capture.forking.softening import softened
from onnxpert.capture.forking.traces import Asked, Reading, Step, Weights
from onnxpert.capture.forking.truths import TRUTHS
from onnxpert.capture.reasoning import BUDGET_TERMS
from onnxpert.capture.recorder import Recorder
from onnxpert.core import deadline
from onnxpert.core.source import DISTRIBUTIONS, location, of_traceback, ownership
from onnxpert.core.statement import raises
from onnxpert.core.types import Captured, Loaded, Location

Record: TypeAlias = Callable[[Loaded, Callable[..., Recorder]], Captured]
_MOST_RUNS = 64
# Runs of a deep model take long before they are many: told by the calls that were recorded, which
# every machine counts alike. Where sizes are so hard to reason about that each takes long, by what was
# thought about.
_MOST_CALLS = 12_000
_MOST_TERMS = 6 * BUDGET_TERMS
_MANY_TURNS = 4  # of a loop that does not roll
_FEW_RUNS = 12  # are made in any case, however deep the model is, or slow
# Not the model's own doing: torch cannot follow what that side does.
_BEYOND_TORCH = frozenset(
    {
        "GuardOnDataDependentSymNode",
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "UnsupportedOperatorException",
        "UnsupportedFakeTensorException",
        "MissingFakeError",
        "UnreadQuantisedError",
        "NotImplementedError",
        "EndlessError",
    }
)
# What a fake tensor says when NumPy, or whoever else, wants the memory that it does not have; and what
# Python says of a number that is not there, or of its text.
_ABOUT_FAKES = re.compile(
    r"tensor subclass|FakeTensor|data pointer|data is not allocated|Can't pickle"
    r"|\bSym(?:Int|Float|Bool)\b|\bzuf\d|'[^']*\bu\d+\b[^']*'"
    r"|does not require grad"  # where a recording is below autograd
)


class TooManyPathsError(RuntimeError):
    """The branches of a model multiply; `places` says where, the worst first."""

    def __init__(self, places: tuple[tuple[Location, int], ...]) -> None:
        super().__init__(
            f"the model has branches for more than {_MOST_RUNS} runs, or they take too long"
        )
        self.places = places


class Listener(Recorder):  # type: ignore[no-untyped-call]
    """A recorder that notes what the run depends on whenever Python asks."""

    def __init__(self, mode: FakeTensorMode, module: torch.nn.Module | None, *rest: Any) -> None:
        super().__init__(mode, *rest)
        self._attributes = Attributes(module)
        self.environment.look = self.look

    @property
    def environment(self) -> Asking:
        environment = self.fake_mode.shape_env
        assert isinstance(environment, Asking)
        return environment

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        truth = TRUTHS.get(func)
        if truth is None:
            return super().__torch_dispatch__(func, types, args, kwargs)
        with self:  # torch would look at the value where nobody is recording
            return truth(*args, **(kwargs or {}))

    def look(self, asker: FrameType) -> tuple[fx.Node | None, str, Any]:
        last = next(reversed(self.graph.nodes), None)
        return last, self.modules[-1], state(asker, self._named, self._attributes)

    def _named(self, value: torch.Tensor) -> Any:
        try:
            return self.reference(value) if self._is_ours(value) else ("tensor", id(value))
        except RuntimeError:  # nothing recorded made it
            return ("tensor", id(value))


@dataclass(eq=False, slots=True)
class Run:
    """A run that came to its end: its calls, the questions between them, and what it gave."""

    captured: Captured
    sizes: Sizes
    inputs: list[Step]
    steps: list[Step]
    asked: list[Asked]
    outputs: tuple[Any, ...]
    environment: Asking
    known: dict[Expr, Expr] = field(default_factory=dict)  # sizes that are numbers in this run

    def facts(self, expr: Expr) -> Expr:
        """An expression with what this run has learnt of its symbols."""
        return self.environment.replace(expr.xreplace(self.known))

    def answers(self, start: int = 0, end: int | None = None) -> tuple[bool, ...]:
        """Those about data, between two questions: the others follow from the sizes."""
        return tuple(a.question.answer for a in self.asked[start:end] if a.question.about_data)


class Runs:
    """All the runs that were made of one model."""

    def __init__(self, loaded: Loaded, record: Record, kind: type[Asking] = Asking) -> None:
        self._loaded = loaded
        self._kind = kind
        self._record = record
        self._weights = Weights()
        self._made: dict[Any, Run | Exception] = {}
        self._recorded: list[int] = []  # calls of each run, those that came to no end too
        self._thought = 0  # the terms of what was asked about sizes
        self._axes = axes(loaded)
        self.first = first_sizes(loaded)
        self._symbols: dict[tuple[int, int | None], Expr | None] = {}
        self._homes: list[dict[str, Any]] = []  # modules where numbers stay symbols

    def all(self) -> list[Run]:
        return [run for run in self._made.values() if isinstance(run, Run)]

    def completed(
        self, plan: tuple[bool, ...], sizes: Sizes, like: Sequence[Step] = ()
    ) -> Run | Exception:
        """A run that begins with these answers and comes to its end, or what stops every such run.

        `like` are the calls that it must begin with."""
        run = self._run(plan, sizes, like)
        if isinstance(run, Run):
            return run
        answers: tuple[bool, ...] = getattr(run, "answers", plan)
        for number in range(len(answers) - 1, len(plan) - 1, -1):
            other = self.completed((*answers[:number], not answers[number]), sizes, like)
            if isinstance(other, Run):
                return other
        return run

    def _run(self, plan: tuple[bool, ...], sizes: Sizes, like: Sequence[Step]) -> Run | Exception:
        key = (plan, tuple(sorted(sizes.items(), key=str)))
        if key not in self._made:
            deadline.check()
            if self._are_enough() or len(self._made) >= _MOST_RUNS:
                raise TooManyPathsError(self.places())
            self._made[key] = self._soft(plan, sizes, like)
        return self._made[key]

    def _are_enough(self) -> bool:
        if sum(self._recorded) > self._most_calls:
            return True
        return len(self._recorded) > _FEW_RUNS and self._thought > _MOST_TERMS

    @property
    def _most_calls(self) -> int:
        return max(_MOST_CALLS, _FEW_RUNS * self.calls)

    def look_ahead(self, first: Run) -> None:
        """Ends at once what cannot end: each question about data that is no turn of a `while` has a run
        of its own in which it is answered the other way, and is as long as this one was up to there."""
        alone = list(_alone(first))
        if len(alone) >= _MOST_RUNS or sum(one.position for one in alone) > self._most_calls:
            raise TooManyPathsError(self.places())

    @property
    def calls(self) -> int:
        """That the first run recorded."""
        return self._recorded[0] if self._recorded else 0

    def _soft(self, plan: tuple[bool, ...], sizes: Sizes, like: Sequence[Step]) -> Run | Exception:
        """A run; and again, if a module turned out to want a bare number of a symbol."""
        count = len(self._homes)
        run: Run | Exception | None = None
        try:
            run = self._new(plan, sizes, like)
        except Exception:  # whatever the model raised: it may be for want of that number
            if len(self._homes) == count:
                raise
        # Out of the handler: what the next run raises begins at a line of its own.
        return (
            run if run is not None and len(self._homes) == count else self._soft(plan, sizes, like)
        )

    def _new(self, plan: tuple[bool, ...], sizes: Sizes, like: Sequence[Step]) -> Run | Exception:
        made: list[Listener] = []

        def make(_: FakeTensorMode, *rest: Any) -> Listener:
            mode = asking_mode(plan, self._loaded.thorough, self._loaded.doubted, self._kind)
            made.append(Listener(mode, owner(self._loaded.module), *rest))
            return made[0]

        changed = {key: size for key, size in sizes.items() if size != self.first[key]}
        try:
            with softened(self._homes), open_emptiness():
                captured = self._record(resized(self._loaded, changed), make)
        except Exception as error:
            if not made or is_beyond_torch(error):
                raise
            asked = made[0].environment.questions
            error.answers = tuple(q.answer for q in asked if q.about_data)  # type: ignore[attr-defined]
            return error
        finally:
            for listener in made:
                self._close(listener.environment)
            self._recorded.append(sum(len(listener.graph.nodes) for listener in made))
        return self._read(made[0], captured, sizes, like)

    def _close(self, environment: Asking) -> None:
        environment.look = None
        self._thought += getattr(environment, "spent_terms", 0)
        # Symbols that nothing took up would be laid at the door of whoever runs torch next.
        environment.pending_fresh_unbacked_symbols.clear()
        for home in environment.numbers_wanted:
            if all(home is not known for known in self._homes):
                self._homes.append(home)

    def _read(
        self, recorder: Listener, captured: Captured, sizes: Sizes, like: Sequence[Step]
    ) -> Run:
        reading = Reading(recorder, self._weights, like)
        output = next(reversed(recorder.graph.nodes))
        return Run(
            captured,
            sizes,
            reading.inputs,
            reading.steps,
            [reading.asked(question) for question in recorder.environment.questions],
            reading.value(tuple(output.args[0])),
            recorder.environment,
            self._fixed(recorder),
        )

    def _fixed(self, recorder: Listener) -> dict[Expr, Expr]:
        """The symbols of the first run that are numbers in this one."""
        found: dict[Expr, Expr] = {}
        values = [n.meta["val"] for n in recorder.graph.nodes if n.op == "placeholder"]
        for axis in self._axes:
            value = values[axis.leaf]
            size = value if axis.axis is None else value.shape[axis.axis]
            expr = size.node._expr if isinstance(size, torch.SymInt) else None
            symbol = self._symbols.setdefault((axis.leaf, axis.axis), expr)
            if expr is None and symbol is not None:
                found[symbol] = sympy.Integer(int(size))
        return found

    def symbols(self, run: Run) -> dict[Expr, int]:
        """The sizes of a run by their symbols."""
        return {
            symbol: run.sizes[key] for key, symbol in self._symbols.items() if symbol is not None
        }

    def sizes(self, run: Run, number: int) -> Sizes | None:
        """Sizes at which a question about sizes, and if it can be only that one, has another answer."""
        known = {key: symbol for key, symbol in self._symbols.items() if symbol is not None}
        asked = [
            (a.question.condition, a.question.answer)
            for a in run.asked
            if not a.question.about_data
        ]
        place = sum(not a.question.about_data for a in run.asked[:number])
        condition, answer = asked[place]
        guards = [
            (guard.expr, True)
            for guard in run.environment.guards
            if not any(guard.expr in (other, ~other) for other, _ in asked)
        ]
        wanted = [*asked[:place], (condition, not answer)]
        return Choice(self._axes, known).sizes(run.sizes, wanted, [*guards, *asked[place + 1 :]])

    def places(self) -> tuple[tuple[Location, int], ...]:
        counted: Counter[Location] = Counter()
        for run in self.all():
            for asked in run.asked:
                at = location(asked.question.frames, asked.question.module)
                if at is not None:
                    counted[at] += 1
        return tuple(counted.most_common(5))


def _alone(run: Run) -> Iterator[Asked]:
    """The questions about data that no loop of the file takes together: those outside of a `while`, and
    those that a place asks again and again without ever coming back to where it stood."""
    places: dict[Any, list[Asked]] = {}
    for asked in run.asked:
        if not asked.question.about_data:
            continue
        if not asked.question.in_while:
            yield asked
        else:
            places.setdefault(asked.question.frames, []).append(asked)
    for same in places.values():
        if len(same) >= _MANY_TURNS and not any(meet(b, a) for a, b in itertools.pairwise(same)):
            yield from same


def is_beyond_torch(error: BaseException) -> bool:
    """Whether it is the tracing that failed, and not the model."""
    if _ABOUT_FAKES.search(str(error)):
        return not _is_refusal(error)
    if not any(kind.__name__ in _BEYOND_TORCH for kind in type(error).__mro__):
        return False
    # Its own place: what was raised before, and caught, is none of its causes.
    at = location(of_traceback(error.__traceback__))
    # `raise ValueError(f"{loss.item():.2f}")` was about to raise.
    return at is None or not raises(at)


def _is_refusal(error: BaseException) -> bool:
    """Whether a `raise` of the model's, or of a distribution's that looks at what it was given, is
    where it began: then its text is about what is fake because it quotes a tensor."""
    frames = of_traceback(error.__traceback__)
    if not frames:
        return False
    file, line, _ = frames[-1]
    return bool(ownership(file) or DISTRIBUTIONS in file) and raises(Location(file, line))
