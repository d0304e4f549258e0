"""A small image classifier with a custom layer: `onnxpert export examples/classifier.py:Classifier`."""

import torch
from torch import nn


class UnitNorm(nn.Module):
    """A normalisation layer of one's own: each vector divided by its length."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.norm(x, dim=self.dim, keepdim=True)


class Classifier(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(inplace=True),
        )
        self.norm = UnitNorm(dim=1)
        self.head = nn.Linear(32, classes)
        self.eval()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        pooled = self.features(image).mean(dim=(2, 3))
        return self.head(self.norm(pooled))


def example_inputs() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 3, 64, 64),)
