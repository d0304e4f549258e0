"""The user's own model called once more, with nothing left of the call: to see whether it takes an input."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.state import untouched
from onnxpert.capture.unwritten import Unwritten
from onnxpert.core.trust import nothing_on_trust
from onnxpert.core.types import Loaded


def rehearse(loaded: Loaded, around: AbstractContextManager[Any] | None = None) -> None:
    """Raises what the model does; `around` is what has to be on meanwhile."""
    module = owner(loaded.module)
    values = fed_copies(loaded)
    with (
        untouched(module, buffers=True),
        torch.no_grad(),
        torch.random.fork_rng([]),
        nothing_on_trust(),
        Unwritten(module) if module is not None else nullcontext(),
        around or nullcontext(),
    ):
        Flat(loaded)(*values)


def takes(loaded: Loaded) -> bool:
    """Whether the model runs at these inputs."""
    try:
        rehearse(loaded)
    except Exception:  # any refusal is an answer to the question
        return False
    return True
