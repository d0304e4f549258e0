"""The user's own model, asked for its answers without being changed by the question."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy
import torch

from onnxpert.core.dice import dice_kept
from onnxpert.core.dress import dressed_as, undressed
from onnxpert.core.fast_paths import without_fast_paths
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.memory import Memory
from onnxpert.core.trust import nothing_on_trust
from onnxpert.core.types import Answer, Choice, Loaded
from onnxpert.core.whereabouts import followed
from onnxpert.verify.arrays import to_array
from onnxpert.verify.compare import compare
from onnxpert.verify.leeway import SLACK, TURNS, Leeway, Witness
from onnxpert.verify.messages import one_line
from onnxpert.verify.overflow import Overflow
from onnxpert.verify.patience import Limit, Patience
from onnxpert.verify.precision import Watch, coarsest
from onnxpert.verify.roundings import Jolts, rounds_by_hand
from onnxpert.verify.settling import Settling
from onnxpert.verify.tremor import Tremor

Output: TypeAlias = Any  # a tensor, or a Python number
_SPREAD = 0x9E3779B97F4A7C15  # neighbouring seeds draw alike
CHANCES = 12
FEWEST_CHANCES = 3
_FAR_MORE = 30  # times what is counted, for a slow machine too


class RefusedError(Exception):
    """The model itself does not take this input."""


@dataclass(frozen=True, slots=True)
class Character:
    """What a few calls on one input tell about a model."""

    outputs: tuple[Output, ...]
    nondeterministic: bool
    stateful: bool
    computed_in: str  # the coarsest dtype, "" when it could not be seen
    seconds: float  # that one call takes
    effort: float  # the same by what it computes, which every machine counts alike
    changed: bool = False  # it is not what it was after a call
    unseeded: bool = False  # neither the seed nor what it was brings an answer back


class Reference:
    """Calls the model on copies, with a fixed seed, and puts its buffers back after each call."""

    def __init__(self, loaded: Loaded, seed: int, unwritten: Sequence[int] = ()) -> None:
        self._unwritten = frozenset(unwritten)  # outputs of which nothing can be said
        self._loaded = loaded
        self._seed = seed
        program = isinstance(loaded.module, torch.export.ExportedProgram)
        self._model = loaded.module.module() if program else loaded.module
        self._state = Memory(self._model)
        self.patience: Limit | None = None  # of one call of the model
        self._stance, self._untried = "force_eager", True
        self._plainly = False  # attention and its layers by their parts
        self._rounds = True  # its activations to integers, as far as is known
        self._example: Sequence[Any] | None = None  # not yet asked about that
        self.took = 0.0  # seconds, of the last call

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._state.restore()

    def call(self, leaves: Sequence[Any]) -> tuple[Output, ...]:
        """The tensors and numbers of the model's answer, in order. Raises RefusedError."""
        start = time.thread_time()
        try:
            return self._outputs(leaves, self._seed)
        finally:
            self.took = time.thread_time() - start
            self._state.restore()

    def left_by(self, leaves: Sequence[Any], look: Callable[[], None]) -> None:
        """Has a look at the model after a call, before all is put back. Raises RefusedError."""
        try:
            self._outputs(leaves, self._seed)
            look()
        finally:
            self._state.restore()

    def draw(self, leaves: Sequence[Any], turn: int) -> tuple[Output, ...]:
        """An answer with a seed of its own, as far from the others as seeds can be."""
        try:
            return self._outputs(leaves, _seed_of(self._seed, turn))
        finally:
            self._state.restore()

    def jolted(self, leaves: Sequence[Any], turn: int) -> tuple[Output, ...] | None:
        """An answer with some of its roundings moved; None from a model that rounds nothing."""
        if self._example is not None:  # which tells as well: this one may take far longer
            example, self._example = self._example, None
            self.jolted(example, turn)
        if not self._rounds:
            return None
        jolts = Jolts(self._seed + turn, rounds_by_hand(self._model))
        try:
            outputs = self._outputs(leaves, self._seed, jolts)
        except RefusedError:
            return None
        finally:
            self._state.restore()
        self._rounds = jolts.met
        return outputs if jolts.met else None

    def shaken(self, leaves: Sequence[Any], turn: int) -> tuple[Output, ...] | None:
        """An answer with other last digits everywhere; None where the model does not take that."""
        try:
            return self._outputs(leaves, self._seed, Tremor(self._seed + turn))
        except RefusedError:
            return None
        finally:
            self._state.restore()

    def overflows(self, leaves: Sequence[Any], example: Sequence[Any]) -> bool:
        """Whether results inside are infinite or no numbers that are numbers at the example."""
        found: list[set[tuple[str, int]]] = []
        for given in (leaves, example):
            watch = Overflow()
            try:
                self._outputs(given, self._seed, watch)
            except RefusedError:  # some control-flow operators refuse to be watched
                return False
            finally:
                self._state.restore()
            found.append(watch.calls)
        return bool(found[0] - found[1])

    def leeway(self, leaves: Sequence[Any]) -> tuple[float, ...]:
        """How far what decides moves by itself, call by call; nothing where that cannot be told."""
        moved: list[list[float]] = []
        try:
            witness = Witness()
            self._outputs(leaves, self._seed, witness)
            for turn in range(TURNS):
                self._state.restore()
                leeway = Leeway(self._seed + turn, witness.calls)
                self._outputs(leaves, self._seed, leeway)
                moved.append(leeway.moved)
            return tuple(SLACK * max(each) for each in zip(*moved, strict=True))
        except (RefusedError, ValueError):  # it goes another way with other digits
            return ()
        finally:
            self._state.restore()

    def settled(
        self, leaves: Sequence[Any], turn: int | None = None, settling: Settling | None = None
    ) -> tuple[tuple[Output, ...], tuple[Choice, ...]]:
        """The answer with all that torch leaves open chosen as files choose, and what was chosen."""
        settling = Settling() if settling is None else settling
        seed = self._seed if turn is None else _seed_of(self._seed, turn)
        try:
            return self._outputs(leaves, seed, settling), tuple(sorted(settling.made))
        finally:
            self._state.restore()

    def varies(
        self, leaves: Sequence[Any], first: tuple[Output, ...], chances: int = CHANCES
    ) -> bool:
        """Whether the seed decides about the answer, which is `first` with ours; rare events are
        given several chances."""
        return any(not self._same(first, self.draw(leaves, turn)) for turn in range(chances))

    def examine(self, leaves: Sequence[Any], seen: Answer | None = None) -> Character:
        """Call it on one input until it is plain whether the answer is always the same; once, if it
        is what another call gave that was `seen` to draw, write and ask for nothing."""
        self._example = leaves
        start = time.thread_time()
        try:
            first = self._outputs(leaves, self._seed)
            took = time.thread_time() - start
            changed = bool(self._state.changed())
            if seen is not None and not changed and self._is(first, seen.outputs):
                computed_in = coarsest(seen.formats or self._dtypes())
                effort = _effort(seen.effort, took)
                return Character(first, False, False, computed_in, took, effort)
            # The same question in a row: a counter, a cache or a running mean shows here.
            stateful = changed and not self._same(first, self._outputs(leaves, self._seed))
            self._state.restore()
            watch = Watch()
            other = self._watched(leaves, watch)
            self._state.restore()
            if _kinds(first) != _kinds(other):
                # The fast path of attention steps aside for autocast, but does not see the CPU's;
                # what it gives there is of another dtype. Nobody who watches meets it.
                self._plainly = True
                first = self._outputs(leaves, self._seed)
                self._state.restore()
            varies, unseeded = not self._same(first, other), False
            if varies or stateful:
                # Not the seed's doing if the first seed does not bring the first answer back.
                unseeded = not self._same(first, self._outputs(leaves, self._seed))
                varies, stateful = varies and not unseeded, stateful or unseeded
        finally:
            self._state.restore()
        computed_in = coarsest(watch.seen or self._dtypes())
        effort = _effort(watch.effort.seconds, took)
        return Character(first, varies, stateful, computed_in, took, effort, changed, unseeded)

    def remembers(
        self, before: Sequence[Any], leaves: Sequence[Any], alone: tuple[Output, ...]
    ) -> bool:
        """Whether the answer, which is `alone` for a fresh model, is another one after a call `before`."""
        try:
            self._outputs(before, self._seed)
            return not self._same(alone, self._outputs(leaves, self._seed))
        except RefusedError:  # of two in a row: that no file does otherwise
            return False
        finally:
            self._state.restore()

    def _is(self, one: tuple[Output, ...], two: tuple[Output, ...]) -> bool:
        return _kinds(one) == _kinds(two) and self._same(one, two)

    def _same(self, one: tuple[Output, ...], two: tuple[Output, ...]) -> bool:
        """Up to the last digits: sums of several threads need not be repeatable."""
        if len(one) != len(two):
            return False
        return not any(
            compare(a, to_array(b if isinstance(b, torch.Tensor) else torch.tensor(b))).problem
            for index, (a, b) in enumerate(zip(one, two, strict=True))
            if index not in self._unwritten
        )

    def _watched(self, leaves: Sequence[Any], watch: Watch) -> tuple[Output, ...]:
        """With another seed, and watched; some control-flow operators refuse to be watched."""
        try:
            return self._outputs(leaves, self._seed + 1, watch)
        except RefusedError:
            self._state.restore()
            watch.seen.clear()
            return self._outputs(leaves, self._seed + 1)

    def _dtypes(self) -> set[torch.dtype]:
        if not isinstance(self._model, torch.nn.Module):
            return set()
        return {parameter.dtype for parameter in self._model.parameters()}

    def _outputs(
        self,
        leaves: Sequence[Any],
        seed: int,
        watch: Watch | Jolts | Settling | Tremor | Witness | Overflow | None = None,
    ) -> tuple[Output, ...]:
        args, kwargs = self._loaded.rebuild([self._prepared(*pair) for pair in self._pairs(leaves)])
        with (
            # Under a mode torch would give up compiling `torch.cond`, and for ever: as it is, then.
            torch.compiler.set_stance(self._stance),
            warnings.catch_warnings(action="ignore"),  # the user has met them at their own calls
            torch.random.fork_rng(),
            dice_kept(),
            torch.no_grad(),
            nothing_on_trust(),
        ):
            _sow(seed)
            try:
                waiting = nullcontext() if self.patience is None else Patience(self.patience)
                by_parts = without_fast_paths() if self._plainly else nullcontext()
                with watch or waiting, by_parts, followed(self._model):
                    answer = self._model(*args, **kwargs)
            except Exception as error:  # whatever the model raises, it is its way of saying no
                if not self._untried or watch is not None or self.patience is not None:
                    raise RefusedError(one_line(error)) from error
                refused = RefusedError(one_line(error))
            else:
                self._untried = False  # what it refuses from now on is the input
                # Its own memory may be part of the answer, and is about to be put back.
                return tuple(_copied(leaf) for _, leaf in flatten_outputs(answer))
        return self._compiled(refused, leaves, seed, watch)

    def _compiled(
        self,
        refused: RefusedError,
        leaves: Sequence[Any],
        seed: int,
        watch: Watch | Jolts | Settling | Tremor | Witness | Overflow | None,
    ) -> tuple[Output, ...]:
        """Once more, as torch would have it: `scan` of a dictionary goes wrong if it is not compiled."""
        self._state.restore()
        self._untried, self._stance = False, "default"
        try:
            return self._outputs(leaves, seed, watch)
        except RefusedError:
            self._stance = "force_eager"
            raise refused from None

    def _pairs(self, leaves: Sequence[Any]) -> zip[tuple[str, Any]]:
        return zip((leaf.name for leaf in self._loaded.leaves), leaves, strict=True)

    def _prepared(self, name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if name in self._loaded.numbers:  # the user's own model is given what the user gives it
            return value.item()
        copy = dressed_as(undressed(value).detach().clone(), value)
        cast = self._loaded.casts.get(name)
        return copy.to(getattr(torch, cast)) if cast else copy


def _kinds(outputs: tuple[Output, ...]) -> list[Any]:
    return [getattr(output, "dtype", None) for output in outputs]


def _effort(counted: float, took: float) -> float:
    """By the clock only where that is far more: of what is not torch's nothing is counted."""
    return max(counted, took / _FAR_MORE)


def _seed_of(first: int, turn: int) -> int:
    return (first + (turn + 1) * _SPREAD) % 2**63


def _sow(seed: int) -> None:
    # torch.manual_seed formats a whole stack for each kind of device that is not there.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    numpy.random.seed(seed % 2**32)


def _copied(leaf: Output) -> Output:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if leaf.dtype is torch.complex32:  # no array has it: compared as the pairs that a file gives
        return torch.view_as_real(leaf.detach().resolve_conj()).clone()
    if leaf.is_quantized:  # the file gives the numbers that its integers stand for
        return leaf.detach().dequantize()
    return leaf.detach().clone()
