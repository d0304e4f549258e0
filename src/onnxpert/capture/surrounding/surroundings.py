"""Everything that is on while the recorder runs a model: sizes stay open, and errors know their module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import torch

from onnxpert.capture.detour import Detours
from onnxpert.capture.guards import sizes_named
from onnxpert.capture.open_sizes.given_numbers import open_numbers
from onnxpert.capture.open_sizes.keyed import open_tables
from onnxpert.capture.open_sizes.long_sums import sums_kept_short
from onnxpert.capture.open_sizes.packed import open_lengths
from onnxpert.capture.open_sizes.quotients import divided_at_once
from onnxpert.capture.open_sizes.scanning import scans_in_order
from onnxpert.capture.open_sizes.truths import truths_as_numbers
from onnxpert.capture.open_sizes.unplaced import PlacedNumbers
from onnxpert.capture.open_sizes.whole_quotients import quotients_whole
from onnxpert.capture.places import guards_with_places
from onnxpert.capture.reasoning import quotients_as_they_are
from onnxpert.capture.recorder import Recorder
from onnxpert.capture.surrounding.catching import divisions_asked
from onnxpert.capture.surrounding.detection import without_loops_over_data
from onnxpert.capture.surrounding.loading import loaded_for_real
from onnxpert.capture.surrounding.messages import tensors_in_messages
from onnxpert.capture.surrounding.plain_kernels import plain_kernels
from onnxpert.capture.surrounding.pools import pools_at_once
from onnxpert.capture.surrounding.subclasses import fakes_take_classes
from onnxpert.capture.watching.reads import as_text
from onnxpert.core import whereabouts
from onnxpert.core.fast_paths import without_fast_paths


class Following(Protocol):
    """Whoever wants to know which part of a model is running: the last of them."""

    modules: list[str]


@contextmanager
def module_paths(recorder: Following, root: torch.nn.Module) -> Iterator[None]:
    """While on, the recorder knows which submodule is running."""
    paths = {id(part): name for name, part in root.named_modules()}

    def enter(module: torch.nn.Module, _: Any) -> None:
        recorder.modules.append(paths.get(id(module), recorder.modules[-1]))
        whereabouts.note(recorder.modules[-1])

    def leave(*_: Any) -> None:
        recorder.modules.pop()
        whereabouts.note(recorder.modules[-1])

    before = torch.nn.modules.module.register_module_forward_pre_hook(enter)
    after = torch.nn.modules.module.register_module_forward_hook(leave)
    try:
        yield
    finally:
        before.remove()
        after.remove()


@contextmanager
def exporting() -> Iterator[None]:
    """Tells the model's own code that it is being exported, as `torch.export` does."""
    from torch import compiler

    flags = {name: getattr(compiler, name) for name in ("_is_exporting_flag", "_is_compiling_flag")}
    for name in flags:
        setattr(compiler, name, True)
    try:
        yield
    finally:
        for name, value in flags.items():
            setattr(compiler, name, value)


@contextmanager
def unchecked_distributions() -> Iterator[None]:
    """Distributions that take what they are given: each check is a branch on data, and its other side
    an error, of which two or three for every draw in a loop are more than can be followed."""
    from torch.distributions import Distribution

    checked = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        Distribution.set_default_validate_args(checked)


@contextmanager
def recording(recorder: Recorder, root: torch.nn.Module) -> Iterator[None]:
    """Everything that has to be on while the model runs."""
    from torch._dispatch.python import enable_python_dispatcher

    with ExitStack() as stack:
        stack.enter_context(exporting())
        stack.enter_context(guards_with_places())
        stack.enter_context(quotients_as_they_are())
        stack.enter_context(quotients_whole())
        stack.enter_context(without_fast_paths())
        stack.enter_context(plain_kernels())
        stack.enter_context(loaded_for_real())
        stack.enter_context(unchecked_distributions())
        stack.enter_context(open_lengths())
        stack.enter_context(divided_at_once())
        stack.enter_context(sums_kept_short(recorder.reads))
        stack.enter_context(truths_as_numbers())
        stack.enter_context(divisions_asked())
        stack.enter_context(open_tables(root))
        # A compiled part runs as the Python it was made from: what a compiler sees under this mode
        # is of no use to us, and what it keeps of it would spoil the user's next call.
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(module_paths(recorder, root))
        stack.enter_context(pools_at_once())
        stack.enter_context(PlacedNumbers())
        stack.enter_context(Detours(recorder))
        stack.enter_context(open_numbers())
        stack.enter_context(recorder.autocast)
        stack.enter_context(scans_in_order())
        words = recorder.worded
        stack.enter_context(as_text(recorder.texts.append, recorder.place, words, recorder.known))
        stack.enter_context(tensors_in_messages())
        stack.enter_context(fakes_take_classes())
        stack.enter_context(without_loops_over_data())
        stack.enter_context(recorder.custom.functions())
        stack.enter_context(torch._C._AutoDispatchBelowAutograd())
        stack.enter_context(enable_python_dispatcher())
        stack.enter_context(recorder.fake_mode)
        stack.enter_context(recorder)
        yield


@contextmanager
def naming_errors(recorder: Recorder) -> Iterator[None]:
    """An exception of the model's remembers which submodule was running, and the sizes it names."""
    try:
        yield
    except Exception as error:
        error.module_path = recorder.modules[-1]  # type: ignore[attr-defined]
        given = [node.meta["val"] for node in recorder.graph.nodes if node.op == "placeholder"]
        named = [(entry.name, value) for entry, value in zip(recorder.inputs, given, strict=True)]
        error.sizes = sizes_named(str(error), named)  # type: ignore[attr-defined]
        raise
