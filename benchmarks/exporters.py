"""What is measured: torch.export alone, torch's two exporters to ONNX, and onnxpert."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from benchmarks.models import Built, Inputs

Export: TypeAlias = Callable[[Built, Inputs, Path], None]
Prove: TypeAlias = Callable[[Built, Inputs, Path], bool]


@dataclass(frozen=True, slots=True)
class Exporter:
    export: Export
    writes: bool = True
    prove: Prove | None = None


def capture(built: Built, example: Inputs, _path: Path) -> None:
    """The yardstick: what every exporter of a captured graph has to pay first."""
    args, kwargs = example
    with lstm_as_loop(built.module):
        torch.export.export(
            built.module, args, kwargs, dynamic_shapes=built.dynamic_shapes, strict=False
        )


def lstm_as_loop(module: nn.Module) -> AbstractContextManager[object]:
    """Keeps the time axis of an LSTM dynamic; plain torch.export unrolls it to the example's length.

    Private to torch, and what torch.onnx.export itself does; as it is in torch 2.13 and 2.15."""
    if not any(isinstance(child, nn.LSTM) for child in module.modules()):
        return nullcontext()
    try:
        from torch.export._patches import register_lstm_while_loop_decomposition
    except ImportError:
        return nullcontext()
    context: AbstractContextManager[object] = register_lstm_while_loop_decomposition()
    return context


def dynamo(built: Built, example: Inputs, path: Path) -> None:
    args, kwargs = example
    torch.onnx.export(
        built.module,
        args,
        str(path),
        kwargs=kwargs,
        dynamic_shapes=built.dynamic_shapes,
        dynamo=True,
        verbose=False,
    )


class Flat(nn.Module):
    """The old exporter takes positional tensors and gives a tuple of them."""

    def __init__(self, module: nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.module = module
        self.names = names

    def forward(self, *values: Tensor) -> tuple[Tensor, ...]:
        if self.names:
            result = self.module(**dict(zip(self.names, values, strict=True)))
        else:
            result = self.module(*values)
        return tuple(leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor))


def legacy(built: Built, example: Inputs, path: Path) -> None:
    args, kwargs = example
    shapes = built.dynamic_shapes
    names = list(kwargs) or [f"input_{index}" for index in range(len(args))]
    per_input = list(shapes.values() if isinstance(shapes, dict) else shapes)
    torch.onnx.export(
        Flat(built.module, tuple(kwargs)).eval(),
        args or tuple(kwargs.values()),
        str(path),
        dynamo=False,
        opset_version=20,  # the newest it knows
        input_names=names,
        dynamic_axes={
            name: {axis: f"{name}_{axis}" for axis in axes}
            for name, axes in zip(names, per_input, strict=True)
        },
    )


def onnxpert(built: Built, example: Inputs, path: Path) -> None:
    import onnxpert

    args, kwargs = example
    onnxpert.export(
        built.module,
        args,
        path,
        kwargs=kwargs,
        dynamic_shapes=built.dynamic_shapes,
        verify=False,
    )


def proof(built: Built, example: Inputs, path: Path) -> bool:
    import onnxpert

    args, kwargs = example
    report: Any = onnxpert.verify(path, built.module, args, kwargs=kwargs)
    return bool(report.ok)


YARDSTICK = "torch.export"
EXPORTERS = {
    YARDSTICK: Exporter(capture, writes=False),
    "dynamo": Exporter(dynamo),
    "legacy": Exporter(legacy),
    "onnxpert": Exporter(onnxpert, prove=proof),
}
