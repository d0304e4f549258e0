"""Tensors of the user's own class, made inside of a model and given to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch

import onnxpert


class Clipping(torch.Tensor):
    """Does something else for `relu`, and everything else as torch does."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.relu:
            return args[0].as_subclass(torch.Tensor).clamp(min=-0.5)
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]


class Scaled(torch.Tensor):
    scale: float

    @staticmethod
    def __new__(cls: Any, data: torch.Tensor, scale: float) -> Any:
        made = torch.Tensor._make_subclass(cls, data)
        made.scale = scale
        return made

    def metres(self) -> torch.Tensor:
        return self.as_subclass(torch.Tensor) * self.scale


def _chosen(x: torch.Tensor) -> torch.Tensor:
    y = x.as_subclass(Clipping) @ torch.ones(4, 4)
    return torch.relu(y) if isinstance(y, Clipping) else y * 100


def _given(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return torch.relu(y) if isinstance(y, Clipping) else y * 100


def _written(x: torch.Tensor) -> torch.Tensor:
    y = (x * 2).as_subclass(Clipping)
    y[:, 0] = 3
    return torch.cat([y, y], 1).sum(-1)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (_chosen, lambda x: x),
        (_given, lambda x: x.as_subclass(Clipping)),
        (_written, lambda x: x),
        (lambda x: Scaled(x, 2.5).metres(), lambda x: x),
        (lambda x: x.metres(), lambda x: Scaled(x, 0.5)),
    ],
    ids=["inside", "given", "written", "made", "carried"],
)
def test_a_class_of_the_users_does_what_it_does(
    model: Callable[..., torch.Tensor], given: Callable[[torch.Tensor], Any], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    onnxpert.export(
        model,
        (given(torch.randn(3, 4)),),
        tmp_path / "m.onnx",
        dynamic_shapes=({0: "rows"},),
    )
    session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    x = torch.randn(5, 4)
    expected = model(given(x)).as_subclass(torch.Tensor)
    (result,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-5, atol=1e-6)


def test_torch_is_left_as_it_was(tmp_path: Path) -> None:
    onnxpert.export(_chosen, (torch.randn(3, 4),), tmp_path / "m.onnx")
    assert "as_subclass" not in vars(torch.Tensor)
    assert "_make_subclass" not in vars(torch.Tensor)
