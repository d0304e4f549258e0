"""What holds a recorded graph, and the bodies of its loops."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx


class Recorded(torch.nn.Module):
    """A graph and nothing else: nobody runs it as Python, so no code is generated for it."""

    def __init__(self, graph: fx.Graph, bodies: Sequence[torch.nn.Module] = ()) -> None:
        super().__init__()
        self.graph = graph
        for number, body in enumerate(bodies):
            setattr(self, f"loop_{number}", body)

    def forward(self, *given: object) -> object:
        """For those who want to know what a body gives: node by node."""
        return fx.Interpreter(self).run(*given)
