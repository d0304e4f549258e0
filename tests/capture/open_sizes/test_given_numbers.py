"""Numbers made of sizes, as arguments of operators of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import onnxpert

Model = Callable[[torch.Tensor], torch.Tensor]


@pytest.fixture(scope="module")
def library() -> Iterator[None]:
    @torch.library.custom_op("given_numbers::scaled", mutates_args=())
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return x * factor

    @torch.library.custom_op("given_numbers::other", mutates_args=())
    def other(x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
        raise RuntimeError("for other devices")

    @other.register_kernel("cpu")
    def _(x: torch.Tensor, factor: float = 1.0) -> torch.Tensor:
        return x - factor

    kept = (scaled, other)
    yield
    del kept


@pytest.mark.parametrize(
    "model",
    [
        lambda x: torch.ops.given_numbers.scaled(x, x.shape[1] ** -0.5),
        lambda x: torch.ops.given_numbers.scaled(x, factor=1 / x.shape[0]),
        lambda x: torch.ops.given_numbers.scaled.default(x, float(x.shape[1])),
        lambda x: torch.ops.given_numbers.other(x, x.shape[0] * 0.5),
        lambda x: torch.ops.given_numbers.scaled(x, 0.5),
    ],
    ids=["power", "keyword", "float", "of the device", "known"],
)
@pytest.mark.usefixtures("library")
def test_a_number_of_a_size_stays_open(model: Model, tmp_path: Path) -> None:
    onnxpert.export(
        model,
        (torch.randn(3, 6),),
        tmp_path / "m.onnx",
        dynamic_shapes=({0: "rows", 1: "columns"},),
    )
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    x = torch.randn(5, 9)
    (result,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(result, model(x).numpy(), rtol=1e-5)
