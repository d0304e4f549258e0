"""The inputs of a model as a recorder knows them: sizes that may vary are symbols.

`StatelessSymbolicContext` and `ConstantSource` are torch's own; this use was tried on torch 2.13 and
2.15."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    StatelessSymbolicContext,
    constrain_range,
)

from onnxpert.capture.examples.inputs import traced_example
from onnxpert.capture.flat import fed
from onnxpert.capture.reasoning import Frugal
from onnxpert.capture.recorder import Recorder
from onnxpert.capture.surrounding.subclasses import wear
from onnxpert.core.belongings import loose_tensors, plain_tensors
from onnxpert.core.dress import undressed
from onnxpert.core.types import DimSpec, GraphInput, InputKind, InputLeaf, Loaded


def entered(recorder: Recorder, loaded: Loaded) -> list[Any]:
    """All of them; a size that the user derived from another (`2 * half`) is that from the start."""
    values = [enter(recorder, index, leaf) for index, leaf in enumerate(fed(loaded))]
    if any(leaf.dims for leaf in fed(loaded)):
        recorder.fake_mode.cache_enabled = False  # until calls begin to repeat themselves
    _tie(loaded, values)
    return values


def enter(recorder: Recorder, index: int, leaf: InputLeaf) -> Any:
    entry = GraphInput(InputKind.USER, leaf.name)
    mode = recorder.fake_mode
    if leaf.scalar is not None:
        symbol = mode.shape_env.create_unspecified_symint_and_symbol(  # type: ignore[union-attr]
            max(int(leaf.value), 2), ConstantSource(f"input_{index}"), DimDynamic.DYNAMIC
        )
        recorder.placeholder(entry, symbol, int(leaf.value))
        return symbol
    tensor = undressed(traced_example(leaf)).detach()
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
        size: Any = fake.shape[axis]
        _bound(size, spec)
        alone = spec.asked and leaf.value.shape[axis] == 1 and isinstance(size, torch.SymInt)
        if alone and isinstance(mode.shape_env, Frugal):
            mode.shape_env.ones[size.node.expr] = 1
    recorder.placeholder(entry, fake, tensor)
    wear(fake, leaf.value)
    return fake


def _bound(size: Any, spec: DimSpec) -> None:
    """What the user says of a size need not be assumed of it again."""
    least = spec.scale * (spec.lower or 1) + spec.offset
    most = None if spec.upper is None else spec.scale * spec.upper + spec.offset
    lower = max(least, 2)  # torch starts there: it takes 0 and 1 for constants
    if isinstance(size, torch.SymInt) and lower <= size.node.hint <= (most or sys.maxsize):
        constrain_range(size, min=lower, max=most)


def _tie(loaded: Loaded, values: Sequence[Any]) -> None:
    axes = [
        (spec, value.shape[axis])
        for leaf, value in zip(fed(loaded), values, strict=True)
        for axis, spec in leaf.dims
    ]
    roots = {spec.name: size for spec, size in axes if (spec.scale, spec.offset) == (1, 0)}
    for spec, size in axes:
        root = roots.get(spec.name) if spec.name else None
        if root is None or (spec.scale, spec.offset) == (1, 0):
            continue
        wanted = spec.scale * root + spec.offset
        if isinstance(size, torch.SymInt) and size.node.hint == wanted.node.hint:
            torch._check(size == wanted)  # type: ignore[no-untyped-call]


def tensor_names(module: torch.nn.Module | None) -> dict[int, tuple[InputKind, str]]:
    if module is None:
        return {}
    loose = (*loose_tensors(module), *plain_tensors(module))
    names = {id(tensor): (InputKind.CONSTANT, name) for name, tensor in loose}
    for name, buffer in module.named_buffers():
        names[id(buffer)] = (InputKind.BUFFER, name)
    for name, parameter in module.named_parameters():
        names[id(parameter)] = (InputKind.PARAMETER, name)
    return names
