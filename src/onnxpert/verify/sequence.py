"""Calls in a row: the model with its memory against the file with what it remembers fed back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.memory import Memory
from onnxpert.core.types import Loaded, Row, Verdict
from onnxpert.targets.stateful import Stateful
from onnxpert.targets.target import Target
from onnxpert.verify.compare import compare
from onnxpert.verify.file import facts, read
from onnxpert.verify.inputs import Case, Inputs, bind
from onnxpert.verify.messages import runtime_line
from onnxpert.verify.values import Values

CALLS = 4


def prove_sequence(loaded: Loaded, path: Path, target: Target, seed: int = 0) -> tuple[Row, ...]:
    """A row per output and call; nothing for a model that remembers nothing."""
    if all(state.is_argument for state in loaded.states):
        return ()
    inputs = bind(loaded, facts(read(path)))
    model: Loaded = loaded.stateful
    memory = Memory(model.module)
    try:
        return tuple(_rows(inputs, Stateful(path, target), model, seed))
    finally:
        memory.restore()


def _rows(inputs: Inputs, file: Stateful, model: Loaded, seed: int) -> Iterator[Row]:
    for call in range(1, CALLS + 1):
        values = Values.EXAMPLE if call == 1 else Values.SHUFFLED
        case = Case(f"call {call} in a row", inputs.example, values)
        leaves = inputs.build(case, seed)
        feeds = {k: v for k, v in inputs.feeds(leaves).items() if k not in file.remembered}
        own = [_copy(leaf) for leaf in leaves[: len(model.leaves)]]
        args, kwargs = model.rebuild(own)
        with torch.no_grad():
            want = flatten_outputs(model.module(*args, **kwargs))
        try:
            got = file(**feeds)
        except Exception as error:  # each runtime has its own kinds, with no base class in common
            yield Row(case.name, "", case.sizes, Verdict.FAIL, detail=runtime_line(error))
            return
        for name, expected, answer in zip(file.outputs, (v for _, v in want), got, strict=True):
            result = compare(expected, answer)
            yield Row(
                case=case.name,
                output=name,
                sizes=case.sizes,
                verdict=Verdict.FAIL if result.problem else Verdict.PASS,
                max_abs=result.max_abs,
                max_rel=result.max_rel,
                rtol=result.rtol,
                atol=result.atol,
                detail=result.problem,
            )


def _copy(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf
