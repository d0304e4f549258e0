"""A transformer with what people write between its layers, a kind of blocker each; some of them in another file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from benchmarks import blocked_parts

Part = Callable[["Blocked", Tensor], Tensor]


def texts(_: Blocked, x: Tensor) -> Tensor:
    """A branch chooses a text, and the text a number."""
    kind = "loud" if x.abs().mean().item() > 0.5 else "quiet"
    return x * {"loud": 0.5, "quiet": 2.0}[f"{kind}"] + len(f"{float(x.sum()):.2f}")


def loops(_: Blocked, x: Tensor) -> Tensor:
    """As many turns as the data say, and an index that they say."""
    turns = 0
    while x.abs().max() > 3.0 and turns < 10:
        x, turns = x * 0.9, turns + 1
        if x.sum().item() in (1.0, 2.0):
            break
    return x * [1.0, 2.0][int(x.argmax()) % 2]


def arrays(_: Blocked, x: Tensor) -> Tensor:
    """Two functions of NumPy's that no graph has."""
    spectrum = numpy.linalg.eigvals(x[0].numpy() @ x[0].numpy().T)
    return x + torch.from_numpy(numpy.unwrap(x.numpy())) + float(spectrum.real.max())


def states(model: Blocked, x: Tensor) -> Tensor:
    """What is remembered from call to call: in a number, a buffer, a list."""
    model.calls += 1
    model.seen += x.mean()
    model.history.append(float(x.mean()))
    return x * model.calls + model.seen


def boxes(_: Blocked, x: Tensor) -> Tensor:
    """Boxes that overlap are left out one by one, in Python."""
    scores, corners = x[0].mean(-1), x[0, :, :4]
    alive, kept = list(range(len(scores))), []
    while alive:
        best = max(alive, key=lambda one: float(scores[one]))
        kept.append(best)
        alive = [
            one
            for one in alive
            if one != best and float((corners[one] - corners[best]).abs().sum()) > 0.5
        ]
    return x + x[:, kept].mean(1, keepdim=True)


class Blocked(nn.Module):
    """Layers, and behind each what is asked for, in turn."""

    def __init__(self, depth: int, parts: Sequence[Part] = (), width: int = 32) -> None:
        super().__init__()
        self.parts = tuple(parts)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True) for _ in range(depth)
        )
        self.head = nn.Linear(width, 4)
        self.calls = 0
        self.seen: Tensor
        self.register_buffer("seen", torch.zeros(1))
        self.history: list[float] = []

    def forward(self, x: Tensor) -> Any:
        for number, layer in enumerate(self.layers):
            x = layer(x)
            for part in self.parts[number :: len(self.layers)]:
                x = part(self, x)
        return self.head(x)


FILES: tuple[Part, ...] = (
    lambda _, x: blocked_parts.sorted_rows(x),
    lambda _, x: blocked_parts.counted(x),
    lambda _, x: blocked_parts.spectrum(x),
)
KINDS: tuple[tuple[str, int, tuple[Part, ...]], ...] = (
    ("branches to text", 6, (texts,)),
    ("loops by data", 6, (loops,)),
    ("NumPy", 6, (arrays,)),
    ("state", 6, (states,)),
    ("boxes left out in Python", 6, (boxes,)),
    ("several files", 6, FILES),
    ("state, NumPy and text", 6, (states, arrays, texts)),
    ("all of these", 8, (texts, loops, arrays, states, *FILES)),
    ("all of these, 12 layers", 12, (texts, loops, arrays, states, *FILES)),
)
