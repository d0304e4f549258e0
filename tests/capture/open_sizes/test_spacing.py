"""Numbers in as many equal steps as a size says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.capture.open_sizes.models import Calls, assert_same

STEPS: dict[str, Callable[[torch.Tensor], Any]] = {
    "plain": lambda x: torch.linspace(0, 1, x.shape[1]),
    "named": lambda x: torch.linspace(start=-1.0, end=3.0, steps=x.shape[1], dtype=torch.float64),
    "ends of sizes": lambda x: torch.linspace(0.5, x.shape[1] - 0.5, x.shape[1]) / x.shape[1],
    "a size out of a tensor": lambda x: torch.linspace(0, 1, torch.tensor(x.shape)[1]),
    "upper triangle": lambda x: x[:, torch.triu_indices(x.shape[1], x.shape[1])[0]],
    "lower triangle": lambda x: torch.tril_indices(x.shape[0], x.shape[1], offset=-1),
    "beside numbers": lambda x: (
        torch.linspace(0, 1, x.shape[1]), torch.full((x.shape[1],), float(x.shape[0]))
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_steps_follow_a_size(make: Callable[..., Any], tmp_path: Path) -> None:
    sizes = ((2, 1), (1, 2), (3, 9), (1, 4))
    assert_same(Calls(make), (2, 5), sizes, {"x": {0: "a", 1: "b"}}, tmp_path / "steps.onnx")
