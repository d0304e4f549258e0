"""Matrix products."""

import torch

from tests.lower.same import assert_same


def test_linear_keeps_the_weight_as_it_is() -> None:
    layer = torch.nn.Linear(4, 3)
    result = assert_same(layer, torch.randn(2, 4), dynamic=({0: "batch"},), others=[[torch.randn(5, 4)]])
    assert {"weight", "bias"} <= set(result.model.graph.initializers)


def test_linear_on_sequences() -> None:
    layer = torch.nn.Linear(4, 3)
    assert_same(layer, torch.randn(2, 7, 4), dynamic="auto", nodes=["MatMul"])
