"""What the command line names, made into a model with its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxpert.core.errors import UsageError
from onnxpert.load import resolve
from onnxpert.load.input_code import read_inputs
from onnxpert.load.input_spec import parse


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model ready for the calls of `engine.api`."""

    model: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    dynamic_shapes: Any
    notes: tuple[str, ...]


def prepare(source: str, inputs: Sequence[str], inputs_file: str | None) -> Prepared:
    """Resolve a source; `inputs` (specifications) and `inputs_file` win over its own example."""
    import torch

    # A model without a checkpoint gets the same random weights in every run: what `export` wrote,
    # `verify` can be asked about.
    torch.manual_seed(0)
    found = resolve(source)
    if inputs and inputs_file:
        raise UsageError("both --input and --inputs were given", "use one of them")
    if inputs:
        given = parse(inputs)
        return Prepared(found.model, given.args, given.kwargs, given.dynamic or None, found.notes)
    if inputs_file:
        return Prepared(found.model, *read_inputs(inputs_file), None, found.notes)
    if found.args is None and found.kwargs is None:
        raise UsageError(
            f"{source} does not say what its inputs are",
            'give them, as in --input "x=float32[batch=1,3,224,224]" or --inputs file.npz, '
            "or put a function example_inputs() beside the model",
        )
    return Prepared(
        found.model, found.args or (), found.kwargs or {}, found.dynamic or None, found.notes
    )


def further_examples(given: Sequence[str]) -> list[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Each a file, or the specifications of all inputs with `;` between them."""
    found: list[tuple[tuple[Any, ...], Mapping[str, Any]]] = []
    for number, text in enumerate(given, start=1):
        if "[" not in text and Path(text).suffix:
            found.append(read_inputs(text))
        else:
            inputs = parse([each.strip() for each in text.split(";")], seed=number)
            found.append((inputs.args, inputs.kwargs))
    return found
