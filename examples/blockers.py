"""A model with several reasons not to be exported: `onnxpert diagnose examples/blockers.py:Gate`."""

import torch
from torch import nn


class Gate(nn.Module):
    """Counts its calls in a buffer, takes a Python number, and asks for an operator ONNX lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.mix = nn.Linear(4, 4)
        self.eval()

    def forward(self, x: torch.Tensor, strength: float) -> torch.Tensor:
        self.calls += 1
        mixed = self.mix(x) * strength / self.calls
        spectrum = torch.linalg.eigvals(mixed @ mixed.mT).real
        return mixed + spectrum.sum()


def example_inputs() -> tuple[torch.Tensor, float]:
    return torch.randn(3, 4), 0.5
