"""A runner for files with state: what comes out of one call goes into the next."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from onnxpert.core import states
from onnxpert.core.errors import UsageError
from onnxpert.core.types import StateLeaf
from onnxpert.targets.target import Array, Target


class Stateful:
    """An exported model that remembers, as the one it was exported from does.

    Made for files that were exported with `state="io"`: call it with the model's own inputs, by
    position or by name; it gives the model's own outputs and keeps the rest for the next call."""

    def __init__(self, path: str | PathLike[str], target: str | Target = "ort-cpu") -> None:
        import onnx

        from onnxpert.targets import find

        file = Path(fspath(path))
        if not file.is_file():
            raise UsageError(f"there is no file {file}", "give the path of an ONNX file")
        model = onnx.load(file, load_external_data=False)
        notes = {entry.key: entry.value for entry in model.metadata_props}
        self._states: tuple[StateLeaf, ...] = states.read(notes.get(states.KEY, "[]"))
        self._inputs = {
            value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in model.graph.input
        }
        self._outputs = [value.name for value in model.graph.output]
        self._run = (find(target) if isinstance(target, str) else target).open(file)
        self._kept: dict[str, Array] = {}

    @property
    def state(self) -> Mapping[str, Array]:
        """What is remembered now, by the name of the input; empty before the first call."""
        return dict(self._kept)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what a call gives, in order."""
        kept = {state.output for state in self._states}
        return tuple(name for name in self._outputs if name not in kept)

    def reset(self) -> None:
        """As before the first call."""
        self._kept = {}

    def __call__(self, *args: Any, **feeds: Any) -> tuple[Array, ...]:
        """The outputs of the model's own, in order; raises UsageError for inputs it does not have."""
        import numpy as np

        own = [name for name in self._inputs if name not in self.remembered]
        unknown = feeds.keys() - self._inputs.keys()
        if unknown or len(args) > len(own):
            named = ", ".join(own)
            raise UsageError(f"the inputs are {named}", "give these, in order or by name")
        given = {**self._kept, **dict(zip(own, args, strict=False)), **feeds}
        given = {name: np.asarray(value) for name, value in given.items()}
        sizes = self._sizes(given)
        for state in self._states:
            if state.input not in given and not state.is_argument:
                given[state.input] = states.initial(state, sizes)
        answers = dict(zip(self._outputs, self._run(given), strict=True))
        self._kept = {state.input: answers.pop(state.output) for state in self._states}
        return tuple(answers.values())

    @property
    def remembered(self) -> frozenset[str]:
        """The inputs that need not be given."""
        return frozenset({state.input for state in self._states if not state.is_argument})

    def _sizes(self, given: Mapping[str, Array]) -> dict[str, int]:
        return {
            dim: size
            for name, value in given.items()
            for dim, size in zip(self._inputs[name], value.shape, strict=False)
            if isinstance(dim, str)
        }
