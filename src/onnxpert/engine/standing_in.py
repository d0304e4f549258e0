"""The file as another target can run it: float32 where that one has no kernels, for the proof alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import onnx_ir as ir

from onnxpert.core.types import Limit, Lowered, Saved
from onnxpert.optimise import optimise
from onnxpert.save import save
from onnxpert.targets import Target
from onnxpert.targets.fit import fit


def stand_in(lowered: Lowered, target: Target, runner: Target) -> Lowered | None:
    """None where the target runs here itself, or what runs in its place has all the kernels."""
    kernels = runner.capabilities.kernels("")
    if runner.name == target.name or kernels is None:
        return None
    beyond = fit(lowered.model, runner, lambda _: None).beyond
    if not any(each.limit is Limit.DTYPE for each in beyond):
        return None
    return optimise(replace(lowered, model=_copied(lowered.model)), kernels)


def _copied(model: ir.Model) -> ir.Model:
    """With the same weights and types of its own, which a clone shares."""
    copy = model.clone()
    graph = copy.graph
    made = (value for node in graph.all_nodes() for value in node.outputs)
    for value in (*graph.inputs, *graph.initializers.values(), *made):
        if isinstance(value.type, ir.TensorType) and value.dtype is not None:
            value.type = ir.TensorType(value.dtype)
    return copy


@contextmanager
def file_to_run(saved: Saved, other: Lowered | None) -> Iterator[Path]:
    """The file itself, or the other form of it while the proof runs."""
    if other is None:
        yield saved.path
        return
    with tempfile.TemporaryDirectory(prefix="onnxpert-") as folder:
        yield save(other, Path(folder) / saved.path.name, digest=True).path
