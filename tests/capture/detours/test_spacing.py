"""Numbers in as many equal steps as a size says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

import onnxpert
from tests.capture.open_sizes.models import Calls, assert_same

WINDOWS: list[Any] = [
    torch.hann_window,
    torch.hamming_window,
    torch.blackman_window,
    torch.bartlett_window,
    torch.kaiser_window,
]
STEPS: dict[str, Callable[[torch.Tensor], Any]] = {
    "plain": lambda x: torch.linspace(0, 1, x.shape[1]),
    "named": lambda x: torch.linspace(start=-1.0, end=3.0, steps=x.shape[1], dtype=torch.float64),
    "ends of sizes": lambda x: torch.linspace(0.5, x.shape[1] - 0.5, x.shape[1]) / x.shape[1],
    "a size out of a tensor": lambda x: torch.linspace(0, 1, torch.tensor(x.shape)[1]),
    "with a layout": lambda x: torch.linspace(0, 1, x.shape[1], device="cpu", requires_grad=False),
    "powers": lambda x: torch.logspace(0, 1, x.shape[1]) + torch.logspace(0, 2, steps=x.shape[1], base=2),
    "frequencies": lambda x: torch.fft.fftfreq(x.shape[1]) + torch.fft.fftfreq(x.shape[1], d=0.5),
    "half of them": lambda x: torch.fft.rfftfreq(x.shape[1], 2.0),
    "windows": lambda x: torch.stack([made(x.shape[1]) for made in WINDOWS]),
    "windows that end": lambda x: torch.stack([made(x.shape[1], False) for made in WINDOWS]),
    "windows in numbers": lambda x: (
        torch.hamming_window(x.shape[1], False, 0.6, beta=0.3)
        + torch.kaiser_window(x.shape[1], periodic=True, beta=5.0, dtype=torch.float32)
    ),
    "a window in Python": lambda x: torch.signal.windows.gaussian(x.shape[1], std=2.0),
    "upper triangle": lambda x: x[:, torch.triu_indices(x.shape[1], x.shape[1])[0]],
    "lower triangle": lambda x: torch.tril_indices(x.shape[0], x.shape[1], offset=-1),
    "classes": lambda x: torch.nn.functional.one_hot(torch.arange(x.shape[1]), x.shape[1]),
    "beside numbers": lambda x: (
        torch.linspace(0, 1, x.shape[1]), torch.full((x.shape[1],), float(x.shape[0]))
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_steps_follow_a_size(make: Callable[..., Any], tmp_path: Path) -> None:
    sizes = ((2, 1), (1, 2), (3, 9), (1, 4))
    assert_same(Calls(make), (2, 5), sizes, {"x": {0: "a", 1: "b"}}, tmp_path / "steps.onnx")


class Classes(torch.nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.one_hot(ids, num_classes=int(ids.max()) + 1).sum(0)


def test_classes_may_be_counted_by_the_data(tmp_path: Path) -> None:
    path = tmp_path / "classes.onnx"
    report = onnxpert.export(Classes(), (torch.tensor([0, 2, 1, 2]),), path)
    assert report.ok, str(report)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    ids = torch.tensor([5, 0, 0, 3])
    (got,) = session.run(None, {"ids": ids.numpy()})
    assert got.tolist() == Classes()(ids).tolist()
