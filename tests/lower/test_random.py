"""Random numbers: shape, dtype and distribution; and dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest
import torch

from tests.lower.same import assert_same, lowered

X = torch.rand(2, 3)
aten = torch.ops.aten

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rand": lambda x: (torch.rand(x.shape[0], 4), torch.rand(2, 3), torch.rand(())),
    "randn": lambda x: (torch.randn(x.shape[0], 4, dtype=torch.float64), torch.randn(3).half()),
    "like": lambda x: (torch.rand_like(x), torch.randn_like(x, dtype=torch.float64)),
    "randint": lambda x: (torch.randint(0, 9, (x.shape[0],)), torch.randint(5, (2, 3)).int()),
    "randint_like": lambda x: (torch.randint_like(x, 7), torch.randint_like(x, 2, 7)),
    "bernoulli": lambda x: (torch.bernoulli(x), torch.bernoulli(x, 0.3), aten.bernoulli.Tensor(x, x)),
    "normal": lambda x: (torch.normal(x, 2.0), torch.normal(1.0, x), torch.normal(x, x), torch.normal(0.0, 1.0, (x.shape[0],))),
    "multinomial": lambda x: (torch.multinomial(x, 2), torch.multinomial(x, 5, True), torch.multinomial(x[0], 2)),
    "randperm": lambda x: torch.randperm(x.shape[0]),
    "functional": lambda x: (aten.uniform(x), aten.exponential(x), aten.log_normal(x), aten.geometric(x, 0.5), aten.cauchy(x)),
    "in-place": lambda x: (torch.empty_like(x).uniform_(2, 3), torch.empty_like(x).normal_(), torch.empty_like(x).random_(5), x.new_zeros(3).bernoulli_(0.5)),
    "dropout": lambda x: torch.dropout(x, 0.5, True),
    "feature-dropout": lambda x: (torch.feature_dropout(x, 0.5, True), torch.alpha_dropout(x, 0.5, True)),
    "native-dropout": lambda x: (torch.native_dropout(x, 0.5, True), torch.native_dropout(x, 0.5, False)),
    "drop-all": lambda x: (torch.dropout(x, 1.0, True), torch.native_dropout(x, 1.0, True)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("opset", [13, 20, 22])
def test_shapes_and_dtypes(name: str, opset: int) -> None:
    assert_same(
        lambda x: (FUNCTIONS[name](x), x + 1),
        X,
        dynamic=({0: "n"},),
        others=[[torch.rand(1, 3)], [torch.rand(5, 3)]],
        opset=opset,
        values=False,
    )


def _drawn(
    function: Callable[..., Any], *args: torch.Tensor, opset: int = 20
) -> np.ndarray[Any, Any]:
    model = ir.to_proto(lowered(function, args, opset=opset).model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args, strict=True)}
    result: np.ndarray[Any, Any] = session.run(None, feeds)[0]
    return result


ZEROS = torch.zeros(40_000)
DISTRIBUTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "uniform": (lambda x: aten.uniform(x, -1.0, 3.0), 1.0, 4 / 12**0.5),
    "normal": (lambda x: torch.normal(x + 2, 3.0), 2.0, 3.0),
    "exponential": (lambda x: aten.exponential(x, 2.0), 0.5, 0.5),
    "geometric": (lambda x: aten.geometric(x, 0.25), 4.0, 12**0.5),
    "bernoulli": (lambda x: torch.bernoulli(x + 0.2), 0.2, 0.4),
    "randint": (lambda x: torch.randint_like(x, 2, 6), 3.5, (15 / 12) ** 0.5),
    "dropout": (lambda x: torch.dropout(x + 3, 0.4, True), 3.0, 3 * (0.4 / 0.6) ** 0.5),
    "randperm": (lambda x: torch.randperm(x.shape[0]).float(), 19_999.5, 40_000 / 12**0.5),
}


@pytest.mark.parametrize("opset", [20, 22])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_mean_and_deviation(name: str, opset: int) -> None:
    function, mean, deviation = DISTRIBUTIONS[name]
    drawn = _drawn(function, ZEROS, opset=opset)
    assert abs(drawn.mean() - mean) < 6 * deviation / 200
    assert abs(drawn.std() - deviation) < 0.05 * deviation


def test_alpha_dropout_keeps_mean_and_deviation() -> None:
    drawn = _drawn(lambda x: torch.alpha_dropout(x, 0.3, True), torch.randn(40_000))
    assert abs(drawn.mean()) < 0.03
    assert abs(drawn.std() - 1) < 0.03


@pytest.mark.parametrize("opset", [20, 22])
@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial_follows_its_weights(replacement: bool, opset: int) -> None:
    weights = torch.tensor([1.0, 0.0, 3.0]).expand(20_000, 3).contiguous()
    drawn = _drawn(lambda w: torch.multinomial(w, 1, replacement), weights, opset=opset)
    counts = np.bincount(drawn.reshape(-1), minlength=3) / 20_000
    np.testing.assert_allclose(counts, [0.25, 0.0, 0.75], atol=0.02)


def test_two_draws_differ() -> None:
    drawn = _drawn(lambda x: torch.rand(100) - torch.rand(100) + x, torch.zeros(100))
    assert np.abs(drawn).max() > 0


def test_dropout_of_evaluation_is_nothing() -> None:
    def function(x: torch.Tensor) -> Any:
        x = torch.dropout(x + 1, 0.5, False)
        x = torch.feature_dropout(x, 0.5, False)
        x = torch.alpha_dropout(x, 0.5, False)
        return torch.feature_alpha_dropout(x, 0.5, False)

    result = assert_same(function, X)
    assert [node.op_type for node in result.model.graph] == ["Add"]
