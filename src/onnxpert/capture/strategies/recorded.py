"""First rung: our own recorder over fake tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxpert.capture.announcing import Audience
from onnxpert.capture.entering import entered, tensor_names
from onnxpert.capture.flat import Flat, owner
from onnxpert.capture.forking import asked_once, flat, forked
from onnxpert.capture.forking.joining import SidesDifferError
from onnxpert.capture.forking.questions import EndlessError
from onnxpert.capture.forking.runs import TooManyPathsError
from onnxpert.capture.forking.traces import UnlikeError
from onnxpert.capture.guards import assuming, guards_of
from onnxpert.capture.holder import Recorded
from onnxpert.capture.recorder import Recorder, new_fake_mode
from onnxpert.capture.rolling import (
    SHORT,
    LongLoopError,
    frozen,
    impatient,
    rolled,
    small,
)
from onnxpert.capture.rolling.blocks import (
    asked_of_one,
    holds_blocks,
    in_blocks,
    turning,
    with_several,
)
from onnxpert.capture.rolling.remainders import split_axes, turns_once, with_rest
from onnxpert.capture.rolling.stopping import stopped
from onnxpert.capture.rolling.ties import Axis, without
from onnxpert.capture.state import untouched
from onnxpert.capture.strategy import strategy
from onnxpert.capture.surrounding.surroundings import naming_errors, recording
from onnxpert.capture.uncaught import catches, uncatchable
from onnxpert.capture.watching.deeds import Deeds
from onnxpert.capture.watching.reads import numbers_at, texts_at
from onnxpert.capture.watching.size_refusals import Offers
from onnxpert.capture.written import written
from onnxpert.capture.written.wordings import is_about_text
from onnxpert.core.types import Captured, Loaded, Location, Unwritten

# Paths that cannot be told apart, or put together again.
_TANGLED = (TooManyPathsError, SidesDifferError, UnlikeError, EndlessError)
Around: TypeAlias = Callable[[Recorder], AbstractContextManager[None]]


class NotWrittenError(Exception):
    """What was asked for its lines has some that nobody can follow."""


@strategy("recorder", rung=10, lines=True)
def recorded(loaded: Loaded) -> Captured:
    return Walker("recorder", lambda _: nullcontext()).captured(loaded)


@dataclass(frozen=True, slots=True)
class Walker:
    """Records a model with its branches and loops; `around` is what has to be on in every run."""

    name: str
    around: Around
    reasons: list[Unwritten] = field(default_factory=list)  # against writing it down as it stands
    offers: Offers = field(default_factory=Offers)
    unwritten: list[tuple[Loaded, frozenset[Location | None]]] = field(default_factory=list)

    def captured(self, loaded: Loaded) -> Captured:
        try:
            return self._captured(loaded)
        except Exception as error:
            error.unwritten = self.reasons[-1] if self.reasons else None  # type: ignore[attr-defined]
            raise

    def _captured(self, loaded: Loaded) -> Captured:
        if loaded.as_written and (found := self._written(loaded)) is not None:
            return found
        if loaded.or_not:
            raise NotWrittenError
        if loaded.unrolled:
            return self._forked(loaded)
        try:
            captured = forked(loaded, self._impatiently, self._written)
        except LongLoopError as long:
            found = self._in_turns(loaded, long.axes, long.graph)
            found = self._whole(loaded, self._asked(loaded, long.axes, found))
            return found or self._forked(loaded)
        except (GuardOnDataDependentSymNode, *_TANGLED):
            found = self._written(loaded) or stopped(loaded, self._heard)
            if found is None:
                raise
            return found
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            found = self._written(loaded) if _is_about_key(error) else None
            if found is None:
                raise
            return found
        found = self._freed(loaded, captured)
        if found is None and turns_once(captured):
            found = self._written(loaded)
        return found or captured

    def _freed(self, loaded: Loaded, captured: Captured) -> Captured | None:
        """The model with the sizes free again that one run took for numbers."""
        axes, graph = frozen(captured), captured.root.graph
        fixed = self.offers.refused(loaded, axes)
        if fixed:  # by weights, say: those beside them may be free all the same
            fewer = without(loaded, fixed)
            found = self._freed(fewer, dataclasses.replace(captured, loaded=fewer))
            return found and dataclasses.replace(found, loaded=loaded)
        if not axes:
            cut = list(split_axes(captured))
            found = with_rest(loaded, cut, graph, self._plainly)
            if found is None and (heads := turning(captured)):
                # To write down one turn costs less than to run many, which may differ in the last.
                lines = self._of_any_number(loaded, captured, heads)
                if lines is not None:
                    return lines
            found = found or in_blocks(loaded, captured, self._plainly, self._forked)
            # Its branches, where it was recorded with them, are questions and no assumptions.
            is_plain = found is not None and not found.branches
            found = self._asked(loaded, cut, found) if is_plain else found
            return found and self._whole(loaded, found)
        found = None
        if not any(branch.about_data for branch in captured.branches):
            found = self._in_turns(loaded, axes, graph)
        if found is None and (captured.branches or captured.reads):
            # As it was captured: a plain run knows no branches, and may stop at `int(n.item())`.
            found = rolled(loaded, axes, self._flatly, SHORT)
        return self._whole(loaded, self._asked(loaded, axes, found))

    def _of_any_number(
        self, loaded: Loaded, captured: Captured, heads: Iterable[Location | None]
    ) -> Captured | None:
        """Written down so that there may be any number of blocks."""
        several = with_several(loaded, captured) if asked_of_one(captured) else loaded
        found = None if several is None else self._written(several, heads)
        if found is None or holds_blocks(found):
            return None
        return dataclasses.replace(found, loaded=loaded)

    def _whole(self, loaded: Loaded, found: Captured | None) -> Captured | None:
        """What was rolled, where that is all there is to roll; its lines know of every loop."""
        is_whole = found is not None and not holds_blocks(found)
        return found if is_whole else self._written(loaded) or found

    def _written(self, loaded: Loaded, deciding: Iterable[Location | None] = ()) -> Captured | None:
        asked = frozenset(deciding)
        if any(loaded is one and asked == places for one, places in self.unwritten):
            return None  # as it was said the first time
        found = written(loaded, self._with, self.reasons.append, asked)
        if found is None:
            self.unwritten.append((loaded, asked))
        axes = [] if found is None else frozen(found)
        return None if len(self.offers.refused(loaded, axes)) < len(axes) else found

    def _asked(
        self, loaded: Loaded, axes: Sequence[Axis], found: Captured | None
    ) -> Captured | None:
        """A rolled program knows the few lengths it was told by: what the model asks about sizes
        besides has another answer at others, which its lines say. Where nobody can follow those it is
        assumed, as it was answered then."""
        if found is None:
            return None
        asked = asked_once(small(loaded, axes), self._heard)
        return (self._written(loaded) if asked else None) or assuming(found, asked)

    def _in_turns(self, loaded: Loaded, axes: Sequence[Axis], graph: fx.Graph) -> Captured | None:
        return with_rest(loaded, axes, graph, self._plainly) or rolled(loaded, axes, self._plainly)

    def _forked(self, loaded: Loaded) -> Captured:
        return forked(loaded, self._heard)

    def _flatly(self, loaded: Loaded) -> Captured:
        return flat(loaded, self._heard)

    def _heard(self, loaded: Loaded, make: Callable[..., Recorder]) -> Captured:
        return record(loaded, self.name, self.around, make)

    def _impatiently(self, loaded: Loaded, make: Callable[..., Recorder]) -> Captured:
        @contextmanager
        def both(recorder: Recorder) -> Iterator[None]:
            with self.around(recorder), impatient(recorder, loaded):
                yield

        return record(loaded, self.name, both, make)

    def _with(self, loaded: Loaded, inner: Around, make: Callable[..., Recorder]) -> Captured:
        @contextmanager
        def both(recorder: Recorder) -> Iterator[None]:
            with self.around(recorder), inner(recorder):
                yield

        return record(loaded, self.name, both, make)

    def _plainly(self, loaded: Loaded) -> Captured:
        return record(loaded, self.name, self.around)


def _is_about_key(error: Exception) -> bool:
    """A number that is not there as the key of a dictionary or part of one, or looked for in a list."""
    if isinstance(error, ValueError):
        return "not in list" in str(error) or "not in tuple" in str(error)
    return is_about_text(error) or ("unhashable" in str(error) and "Sym" in str(error))


def record(
    loaded: Loaded,
    name: str,
    around: Around,
    make: Callable[..., Recorder] = Recorder,
) -> Captured:
    """One run of the model under a recorder; `around` is what else has to be on meanwhile."""
    flat = Flat(loaded)
    recorder = make(new_fake_mode(), tensor_names(owner(loaded.module)), loaded.whole)
    values = entered(recorder, loaded)
    root = owner(loaded.module) or flat
    deeds = Deeds(root, lambda: recorder.modules[-1])
    audience = Audience(told=not loaded.unannounced)
    with (
        untouched(owner(loaded.module), code=False) as changes,
        audience.answered(),
        deeds.watching(),
        recording(recorder, root),
        naming_errors(recorder),
        around(recorder),
        uncatchable(on=catches(loaded)),
    ):
        outputs = flat(*values)
    recorder.give(outputs)
    return Captured(
        root=Recorded(recorder.graph),
        inputs=tuple(recorder.inputs),
        strategy=name,
        guards=guards_of(recorder.fake_mode.shape_env),
        output_names=flat.names or (),
        loaded=loaded,
        announced=audience.asked and audience.told,
        written=tuple(changes.attributes),
        placeholders=tuple(recorder.custom.placeholders),
        done=deeds.done(changes.attributes, changes.owners),
        dropped=flat.dropped,
        reads=(*numbers_at(recorder.reads), *texts_at(recorder.texts)),
    )
