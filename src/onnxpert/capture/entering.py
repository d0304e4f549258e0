"""The inputs of a model as a recorder knows them: sizes that may vary are symbols.

`StatelessSymbolicContext` and `ConstantSource` are torch's own; this use was tried on torch 2.13 and
2.15."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    StatelessSymbolicContext,
    constrain_range,
)

from onnxpert.capture.inputs import traced_example
from onnxpert.capture.recorder import Recorder
from onnxpert.core.types import DimSpec, GraphInput, InputKind, InputLeaf


def enter(recorder: Recorder, index: int, leaf: InputLeaf) -> Any:
    entry = GraphInput(InputKind.USER, leaf.name)
    mode = recorder.fake_mode
    if leaf.scalar is not None:
        symbol = mode.shape_env.create_unspecified_symint_and_symbol(  # type: ignore[union-attr]
            max(int(leaf.value), 2), ConstantSource(f"input_{index}"), DimDynamic.DYNAMIC
        )
        recorder.placeholder(entry, symbol, int(leaf.value))
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
    # Of a tensor that is one number torch takes the example's value for a hint: it is data.
    fake.item_memo = None
    for axis, spec in leaf.dims:
        _bound(fake.shape[axis], spec)
    recorder.placeholder(entry, fake, tensor)
    return fake


def _bound(size: Any, spec: DimSpec) -> None:
    """What the user says of a size need not be assumed of it again."""
    lower = max(spec.lower or 2, 2)  # torch starts there: it takes 0 and 1 for constants
    upper = spec.upper if spec.upper is not None else sys.maxsize
    if isinstance(size, torch.SymInt) and lower <= size.node.hint <= upper:
        constrain_range(size, min=lower, max=spec.upper)


def tensor_names(module: torch.nn.Module | None) -> dict[int, tuple[InputKind, str]]:
    if module is None:
        return {}
    names = {id(tensor): (InputKind.BUFFER, name) for name, tensor in module.named_buffers()}
    for name, parameter in module.named_parameters():
        names[id(parameter)] = (InputKind.PARAMETER, name)
    return names
