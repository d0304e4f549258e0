"""First rung: our own recorder over fake tensors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxpert.capture.deeds import Deeds
from onnxpert.capture.entering import enter, tensor_names
from onnxpert.capture.flat import Flat, fed, owner
from onnxpert.capture.forking import flat, forked
from onnxpert.capture.guards import guards_of
from onnxpert.capture.holder import Recorded
from onnxpert.capture.recorder import Recorder, naming_errors, new_fake_mode, recording
from onnxpert.capture.rolling import (
    SHORT,
    LongLoopError,
    counted,
    frozen,
    impatient,
    rolled,
)
from onnxpert.capture.state import untouched
from onnxpert.capture.strategy import strategy
from onnxpert.core.types import Captured, Loaded


@strategy("recorder", rung=10)
def recorded(loaded: Loaded) -> Captured:
    if loaded.unrolled:
        return forked(loaded, _heard)
    try:
        captured = forked(loaded, _impatiently)
    except LongLoopError as long:
        return rolled(loaded, long.axes, _plainly) or forked(loaded, _heard)
    except GuardOnDataDependentSymNode:
        found = counted(loaded, _in)
        if found is None:
            raise
        return found
    axes = frozen(captured)
    if not axes:
        return captured
    if any(branch.about_data for branch in captured.branches):
        return rolled(loaded, axes, _flatly, SHORT) or captured
    return rolled(loaded, axes, _plainly) or captured


def _flatly(loaded: Loaded) -> Captured:
    return flat(loaded, _heard)


def _heard(loaded: Loaded, make: Callable[..., Recorder]) -> Captured:
    return record(loaded, "recorder", lambda recorder: nullcontext(), make)


def _impatiently(loaded: Loaded, make: Callable[..., Recorder]) -> Captured:
    return record(loaded, "recorder", lambda recorder: impatient(recorder, loaded), make)


def _plainly(loaded: Loaded) -> Captured:
    return record(loaded, "recorder", lambda recorder: nullcontext())


def _in(loaded: Loaded, mode: FakeTensorMode) -> Captured:
    return record(
        loaded, "recorder", lambda recorder: nullcontext(), lambda _, *rest: Recorder(mode, *rest)
    )


def record(
    loaded: Loaded,
    name: str,
    around: Callable[[Recorder], AbstractContextManager[None]],
    make: Callable[..., Recorder] = Recorder,
) -> Captured:
    """One run of the model under a recorder; `around` is what else has to be on meanwhile."""
    flat = Flat(loaded)
    recorder = make(new_fake_mode(), tensor_names(owner(loaded.module)), loaded.whole)
    values = [enter(recorder, index, leaf) for index, leaf in enumerate(fed(loaded))]
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
        done=deeds.done(changes.attributes),
        dropped=flat.dropped,
    )
