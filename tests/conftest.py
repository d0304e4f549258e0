"""What every test starts from: one seed, one thread, and hypothesis without a stopwatch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings

# An example may export a model, whose first time is slow; the same examples run on every machine.
settings.register_profile("onnxpert", deadline=None, derandomize=True)
settings.load_profile("onnxpert")

# pytest-xdist runs as many tests as there are cores; threads on top of that only wait.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
