"""What a model remembers, as the notes that go with its file: metadata that a runner can read."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxpert.core.types import StateLeaf

if TYPE_CHECKING:
    import numpy as np

KEY = "onnxpert.state"


def written(states: Sequence[StateLeaf]) -> str:
    """The states as JSON; what they are before the first call goes with them."""
    return json.dumps([_entry(state) for state in states])


def _entry(state: StateLeaf) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "input": state.input,
        "output": state.output,
        "dtype": state.dtype,
        "shape": list(state.shape),
        "argument": state.is_argument,
    }
    if state.initial is not None:
        entry["data"] = base64.b64encode(state.initial).decode()
    return entry


def read(text: str) -> tuple[StateLeaf, ...]:
    return tuple(
        StateLeaf(
            entry["input"],
            entry["output"],
            dtype=entry["dtype"],
            shape=tuple(entry["shape"]),
            initial=base64.b64decode(entry["data"]) if "data" in entry else None,
            is_argument=entry["argument"],
        )
        for entry in json.loads(text)
    )


def initial(state: StateLeaf, sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """What a state is before the first call; `sizes` are those that its shape names."""
    import ml_dtypes
    import numpy as np

    shape = [sizes[size] if isinstance(size, str) else size for size in state.shape]
    dtype = np.dtype(getattr(ml_dtypes, state.dtype, None) or state.dtype)
    if state.initial is None:
        return np.zeros(shape, dtype)
    return np.frombuffer(state.initial, dtype).reshape(shape)
