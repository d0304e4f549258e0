"""First rung: our own recorder over fake tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import fx
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    StatelessSymbolicContext,
    constrain_range,
)

from onnxpert.capture.flat import Flat, fed, owner
from onnxpert.capture.guards import guards_of
from onnxpert.capture.inputs import traced_example
from onnxpert.capture.recorder import Recorder, naming_errors, new_fake_mode, recording
from onnxpert.capture.state import untouched
from onnxpert.capture.strategy import strategy
from onnxpert.core.types import (
    Captured,
    DimSpec,
    GraphInput,
    InputKind,
    InputLeaf,
    Loaded,
)


@strategy("recorder", rung=10)
def recorded(loaded: Loaded) -> Captured:
    return record(loaded, "recorder", lambda recorder: nullcontext())


def record(
    loaded: Loaded, name: str, around: Callable[[Recorder], AbstractContextManager[None]]
) -> Captured:
    """One run of the model under a recorder; `around` is what else has to be on meanwhile."""
    fake_mode = new_fake_mode()
    flat = Flat(loaded)
    recorder = Recorder(fake_mode, _names(owner(loaded.module)))
    values = [_enter(recorder, index, leaf) for index, leaf in enumerate(fed(loaded))]
    root = owner(loaded.module) or flat
    with (
        untouched(owner(loaded.module)) as changes,
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
        guards=guards_of(fake_mode.shape_env),
        output_names=flat.names or (),
        loaded=loaded,
        written=tuple(changes.attributes),
    )


class Recorded(torch.nn.Module):
    """A graph and nothing else: nobody runs it as Python, so no code is generated for it."""

    def __init__(self, graph: fx.Graph) -> None:
        super().__init__()
        self.graph = graph


def _enter(recorder: Recorder, index: int, leaf: InputLeaf) -> Any:
    entry = GraphInput(InputKind.USER, leaf.name)
    mode = recorder.fake_mode
    if leaf.scalar is not None:
        symbol = mode.shape_env.create_unspecified_symint_and_symbol(  # type: ignore[union-attr]
            max(int(leaf.value), 2), ConstantSource(f"input_{index}"), DimDynamic.DYNAMIC
        )
        recorder.placeholder(entry, symbol)
        return symbol
    tensor = traced_example(leaf).detach()
    dynamic = {axis for axis, _ in leaf.dims}
    context: Any = StatelessSymbolicContext(
        dynamic_sizes=[
            DimDynamic.DYNAMIC if axis in dynamic else DimDynamic.STATIC
            for axis in range(tensor.dim())
        ],
    )
    fake = mode.from_tensor(
        tensor, symbolic_context=context, source=ConstantSource(f"input_{index}")
    )
    for axis, spec in leaf.dims:
        _bound(fake.shape[axis], spec)
    recorder.placeholder(entry, fake)
    return fake


def _bound(size: Any, spec: DimSpec) -> None:
    """What the user says of a size need not be assumed of it again."""
    lower = max(spec.lower or 2, 2)  # torch starts there: it takes 0 and 1 for constants
    upper = spec.upper if spec.upper is not None else sys.maxsize
    if isinstance(size, torch.SymInt) and lower <= size.node.hint <= upper:
        constrain_range(size, min=lower, max=spec.upper)


def _names(module: torch.nn.Module | None) -> dict[int, tuple[InputKind, str]]:
    if module is None:
        return {}
    names = {id(tensor): (InputKind.BUFFER, name) for name, tensor in module.named_buffers()}
    for name, parameter in module.named_parameters():
        names[id(parameter)] = (InputKind.PARAMETER, name)
    return names
