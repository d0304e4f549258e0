"""A model that is an exported program already: its own graph, sizes and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, SymIntArgument
from torch.utils import _pytree as pytree

from onnxpert.capture.program import captured
from onnxpert.capture.strategy import strategy
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.types import Captured, DimSpec, Loaded, replace


def _is_program(loaded: Loaded) -> bool:
    return isinstance(loaded.module, ExportedProgram)


@strategy("exported program", rung=5, takes=_is_program)
def program(loaded: Loaded) -> Captured:
    given: ExportedProgram = loaded.module
    specs = [s for s in given.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
    names = []
    leaves = []
    for spec, leaf in zip(specs, loaded.leaves, strict=True):
        # The program's word: this number varies, whether or not it was asked for again.
        varies = isinstance(spec.arg, SymIntArgument) and leaf.scalar is None
        leaves.append(replace(leaf, scalar=DimSpec(asked=False)) if varies else leaf)
        if not isinstance(spec.arg, ConstantArgument):
            names.append(leaf.name)
        elif isinstance(leaf.value, torch.Tensor):
            raise TypeError(f"the program was exported with a constant for `{leaf.name}`")

    def outputs(values: Sequence[Any]) -> tuple[list[Any], tuple[str, ...]]:
        return _outputs(values, given.call_spec.out_spec)

    return captured(
        given,
        replace(loaded, leaves=tuple(leaves)),
        "exported program",
        users=names,
        outputs=outputs,
    )


def _outputs(values: Sequence[Any], structure: Any) -> tuple[list[Any], tuple[str, ...]]:
    """The program's outputs in the structure it was exported with, then flat as ours are."""
    examples = [value.meta["val"] if isinstance(value, fx.Node) else value for value in values]
    nodes = {
        id(example): value
        for example, value in zip(examples, values, strict=True)
        if isinstance(value, fx.Node)
    }
    flat = flatten_outputs(pytree.tree_unflatten(examples, structure))
    return [nodes.get(id(leaf), leaf) for _, leaf in flat], tuple(name for name, _ in flat)
