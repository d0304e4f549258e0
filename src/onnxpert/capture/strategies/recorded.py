"""First rung: our own recorder over fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TypeAlias

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxpert.capture.deeds import Deeds
from onnxpert.capture.entering import entered, tensor_names
from onnxpert.capture.flat import Flat, owner
from onnxpert.capture.forking import flat, forked
from onnxpert.capture.forking.joining import SidesDifferError
from onnxpert.capture.forking.runs import TooManyPathsError
from onnxpert.capture.forking.traces import UnlikeError
from onnxpert.capture.guards import guards_of
from onnxpert.capture.holder import Recorded
from onnxpert.capture.reads import numbers_at, texts_at
from onnxpert.capture.recorder import Recorder, naming_errors, new_fake_mode, recording
from onnxpert.capture.rolling import (
    SHORT,
    LongLoopError,
    counted,
    frozen,
    impatient,
    rolled,
)
from onnxpert.capture.rolling.blocks import in_blocks
from onnxpert.capture.rolling.remainders import split_axes, with_rest
from onnxpert.capture.rolling.stopping import stopped
from onnxpert.capture.state import untouched
from onnxpert.capture.strategy import strategy
from onnxpert.core.types import Captured, Loaded

Around: TypeAlias = Callable[[Recorder], AbstractContextManager[None]]


@strategy("recorder", rung=10)
def recorded(loaded: Loaded) -> Captured:
    return Walker("recorder", lambda _: nullcontext()).captured(loaded)


@dataclass(frozen=True, slots=True)
class Walker:
    """Records a model with its branches and loops; `around` is what has to be on in every run."""

    name: str
    around: Around

    def captured(self, loaded: Loaded) -> Captured:
        if loaded.unrolled:
            return forked(loaded, self._heard)
        try:
            captured = forked(loaded, self._impatiently)
        except LongLoopError as long:
            return (
                with_rest(loaded, long.axes, long.graph, self._plainly)
                or rolled(loaded, long.axes, self._plainly)
                or forked(loaded, self._heard)
            )
        except GuardOnDataDependentSymNode:
            found = counted(loaded, self._in) or stopped(loaded, self._heard)
            if found is None:
                raise
            return found
        except (TooManyPathsError, SidesDifferError, UnlikeError):
            found = stopped(loaded, self._heard)
            if found is None:
                raise
            return found
        axes = frozen(captured)
        if not axes:
            return (
                with_rest(loaded, list(split_axes(captured)), captured.root.graph, self._plainly)
                or in_blocks(loaded, captured, self._plainly, self._forked)
                or captured
            )
        if any(branch.about_data for branch in captured.branches):
            return rolled(loaded, axes, self._flatly, SHORT) or captured
        return (
            with_rest(loaded, axes, captured.root.graph, self._plainly)
            or rolled(loaded, axes, self._plainly)
            or captured
        )

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

    def _plainly(self, loaded: Loaded) -> Captured:
        return record(loaded, self.name, self.around)

    def _in(self, loaded: Loaded, mode: FakeTensorMode) -> Captured:
        return record(loaded, self.name, self.around, lambda _, *rest: Recorder(mode, *rest))


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
    with (
        untouched(owner(loaded.module)) as changes,
        deeds.watching(),
        recording(recorder, root),
        naming_errors(recorder),
        around(recorder),
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
        written=tuple(changes.attributes),
        placeholders=tuple(recorder.custom.placeholders),
        done=deeds.done(changes.attributes, changes.owners),
        dropped=flat.dropped,
        reads=(*numbers_at(recorder.reads), *texts_at(recorder.texts)),
    )
