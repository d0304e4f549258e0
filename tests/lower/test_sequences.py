"""Numbers in a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(5, 3)
OTHERS = [[torch.randn(1, 3)], [torch.randn(8, 3)]]

ROWS: dict[str, Callable[..., Any]] = {
    "end": torch.arange,
    "start": lambda n: torch.arange(1, n + 1),
    "step": lambda n: torch.arange(0, 2 * n, 3),
    "backwards": lambda n: torch.arange(n, 0, -1),
    "backwards-step": lambda n: torch.arange(n, -n, -2),
    "float-end": lambda n: torch.arange(n, dtype=torch.float32),
    "float-step": lambda n: torch.arange(0, n, 0.3),
    "float-start": lambda n: torch.arange(0.5, n),
    "double": lambda n: torch.arange(0, n, 2, dtype=torch.float64),
    "int32": lambda n: torch.arange(n, dtype=torch.int32),
    "half": lambda n: torch.arange(n, dtype=torch.float16),
    "computed-end": lambda n: torch.arange(n * 1.5),
    "linspace": lambda n: torch.linspace(0, 1, n),
    "linspace-to": lambda n: torch.linspace(-1, n, 7),
    "linspace-down": lambda n: torch.linspace(3, -2, n, dtype=torch.float64),
    "linspace-int": lambda n: torch.linspace(0, 10, n, dtype=torch.int64),
    "logspace": lambda n: torch.logspace(0, 2, n),
    "logspace-base": lambda n: torch.logspace(-1, 1, n, base=2.0),
}


# torch takes the number of steps of a linspace for a constant.
@pytest.mark.parametrize("name", [name for name in ROWS if "space" not in name or "to" in name])
@pytest.mark.parametrize("opset", [13, 20])
def test_of_a_dynamic_size(name: str, opset: int) -> None:
    assert_same(
        lambda x: (ROWS[name](x.shape[0]), x + 1),
        X,
        dynamic=({0: "n"},),
        others=OTHERS,
        opset=opset,
    )


# ONNX Runtime makes a slice of it, and there -1 is the last element.
@pytest.mark.parametrize(
    "row",
    [
        lambda n: torch.arange(n - 1, -1, -1),
        lambda n: torch.arange(-n, 0),
        lambda n: torch.arange(-1, n),
        lambda n: torch.arange(n - 3, n),
    ],
    ids=["backwards", "from-the-end", "from-before", "the-last"],
)
def test_as_an_index(row: Callable[[int], torch.Tensor]) -> None:
    others = [[torch.randn(n, 3)] for n in (2, 3, 8)]
    assert_same(lambda x: x[row(x.shape[0])], X, dynamic=({0: "n"},), others=others)


@pytest.mark.parametrize("name", ROWS)
def test_of_a_known_size_is_a_constant(name: str) -> None:
    result = assert_same(lambda x: (ROWS[name](x.shape[0]), x + 1), X)
    assert "Range" not in {node.op_type for node in result.model.graph}


def test_long_ranges_are_not_stored() -> None:
    result = assert_same(lambda x: x + torch.arange(100_000), torch.tensor(1), nodes=["Range"])
    assert (
        sum(value.const_value.nbytes for value in result.model.graph.initializers.values()) < 1000
    )


def test_between_tensors() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            torch.linspace(a, b, 5), torch.linspace(0, b, 4), torch.linspace(a, 2.5, 1),
            torch.logspace(a, b, 3),
        )  # fmt: skip

    assert_same(function, torch.tensor(0.5), torch.tensor(2.0))


def test_with_the_end_in_it() -> None:
    aten = torch.ops.aten
    assert_same(lambda x: (x + aten.range(1, 5), aten.range.step(0, 2, 0.5)), torch.randn(5))
