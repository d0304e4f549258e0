"""Extremes that see a NaN where the example has one, and cost nothing more where it has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch.nn import functional

import onnxpert

_EXTREMES: dict[str, Callable[[torch.Tensor], Any]] = {
    "amax": lambda x: x.amax(1),
    "amin, kept": lambda x: x.amin(0, keepdim=True),
    "max of all": lambda x: x.max(),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(-1, keepdim=True),
    "argmax": lambda x: x.argmax(1),
    "argmin of all": lambda x: x.argmin(),
    "aminmax": lambda x: torch.aminmax(x, dim=1),
    "norm": lambda x: torch.linalg.vector_norm(x, torch.inf, 1),
    "sort": lambda x: x.sort(1),
    "sort, descending": lambda x: x.sort(0, descending=True),
    "topk": lambda x: x.topk(2, 1),
    "topk, smallest": lambda x: x.topk(2, 1, largest=False),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "quantile": lambda x: x.quantile(0.5, 1),
    "max_pool": lambda x: functional.max_pool1d(x[None], 2),
    "adaptive_max_pool": lambda x: functional.adaptive_max_pool1d(x[None], 2),
    "double": lambda x: x.double().amax(1),
    "half": lambda x: x.half().amax(1),
}


def _nan_at(*places: tuple[int, int]) -> torch.Tensor:
    x = torch.randn(3, 5)
    for place in places:
        x[place] = torch.nan
    return x


def _same(path: Path, model: Callable[..., Any], *given: torch.Tensor) -> None:
    session = onnxruntime.InferenceSession(str(path))
    expected = torch.utils._pytree.tree_leaves(model(*given))
    feeds = {entry.name: x.numpy() for entry, x in zip(session.get_inputs(), given, strict=True)}
    results = session.run(None, feeds)
    for want, got in zip(expected, results, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-3)


@pytest.mark.parametrize("name", _EXTREMES)
def test_nan_in_the_example_is_seen_anywhere(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = _EXTREMES[name]
    onnxpert.export(model, (_nan_at((0, 1), (2, 3)),), tmp_path / "m.onnx")
    for places in ([(0, 0)], [(1, 4), (1, 2)], [(2, 2), (0, 4)], []):
        _same(tmp_path / "m.onnx", model, _nan_at(*places))


def test_infinity_is_below_nan(tmp_path: Path) -> None:
    x = torch.tensor([[torch.inf, 1.0, torch.nan, -torch.inf, 2.0]])
    onnxpert.export(lambda x: x.sort(-1, descending=True), (x,), tmp_path / "m.onnx")
    _same(tmp_path / "m.onnx", lambda x: x.sort(-1, descending=True), x)


def test_a_nan_that_comes_about_inside_is_found_by_the_proof(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x.log().amax(1)

    torch.manual_seed(0)
    x = torch.rand(3, 5) + 0.1
    x[1, 2] = -1
    assert onnxpert.export(model, (x,), tmp_path / "m.onnx").ok
    _same(tmp_path / "m.onnx", model, torch.randn(3, 5))


def test_a_point_that_is_nowhere_has_no_sample(tmp_path: Path) -> None:
    def model(picture: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        places = points / (picture.shape[-1] - 1) * 2 - 1  # of one column, nothing by nothing
        modes = ("bilinear", "nearest", "bicubic")
        pads = ("zeros", "zeros", "border")
        return torch.cat(
            [
                torch.nn.functional.grid_sample(
                    picture, places, mode=mode, padding_mode=pad, align_corners=True
                )
                for mode, pad in zip(modes, pads, strict=True)
            ]
        )

    def given(width: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.rand(2, 3, 4, width), torch.arange(3.0)[None, None, :, None].repeat(2, 1, 1, 2)

    dynamic = {"picture": {3: "width"}, "points": {}}
    path = tmp_path / "m.onnx"
    assert onnxpert.export(model, given(5), path, dynamic_shapes=dynamic).ok
    for width in (1, 2, 7):
        _same(path, model, *given(width))


def test_without_one_there_is_nothing_more(tmp_path: Path) -> None:
    onnxpert.export(lambda x: x.amax(1), (torch.randn(3, 5),), tmp_path / "m.onnx")
    assert [node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node] == ["ReduceMax"]


@pytest.mark.parametrize("name", ["amax", "max", "argmax", "aminmax", "topk", "sort"])
def test_a_quotient_is_expected_to_be_nan_some_day(name: str, tmp_path: Path) -> None:
    """Zero by zero, which the example does not have."""

    class Quotient(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return _EXTREMES[name](x / x.roll(1, 0))

    path = tmp_path / "model.onnx"
    example = torch.arange(1.0, 16.0).reshape(3, 5)
    assert onnxpert.export(Quotient(), (example,), path).ok
    example[:2, 1] = 0
    _same(path, Quotient(), example)


@pytest.mark.parametrize(
    "through",
    [lambda x: x.log2() * 3 + 1, lambda x: x.erfinv(), lambda x: x.logit().tanh()],
    ids=["arithmetic", "a chosen NaN", "functions"],
)
def test_it_is_expected_some_calls_further_on_as_well(
    through: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    class Least(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return through(x).amin(1)

    path = tmp_path / "model.onnx"
    example = torch.linspace(0.1, 0.9, 15).reshape(3, 5)
    assert onnxpert.export(Least(), (example,), path).ok
    example[1, 2], example[2, 0] = -2, 3
    _same(path, Least(), example)


@pytest.mark.parametrize(
    "quotient",
    [lambda x: x / x.norm().clamp(min=1e-6), lambda x: x / (x.norm() + 1e-6), lambda x: x / 3],
    ids=["clamped", "moved", "number"],
)
def test_a_quotient_that_is_kept_from_it_costs_nothing(
    quotient: Callable[[torch.Tensor], torch.Tensor], tmp_path: Path
) -> None:
    class Best(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return quotient(x).topk(2)

    assert onnxpert.export(Best(), (torch.randn(3, 5),), tmp_path / "m.onnx").ok
    assert "IsNaN" not in {node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node}


@pytest.mark.parametrize(
    "sunk",
    [
        lambda x: x.masked_fill(x < 0, -torch.inf),
        lambda x: functional.pad(x, (4, 3), value=-torch.inf),
    ],
    ids=["masked", "padded"],
)
@pytest.mark.parametrize("pool", [functional.max_pool1d, functional.adaptive_max_pool1d])
def test_a_window_of_minus_infinity_is_that(
    pool: Callable[[torch.Tensor, int], torch.Tensor],
    sunk: Callable[[torch.Tensor], torch.Tensor],
    tmp_path: Path,
) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return pool(sunk(x)[None], 2)

    path = tmp_path / "model.onnx"
    assert onnxpert.export(model, (torch.rand(3, 6),), path).ok
    for x in (torch.randn(3, 6), -torch.rand(3, 6), torch.full((3, 6), torch.finfo().min)):
        _same(path, model, x)


def test_minus_infinity_among_the_inputs_is_pooled(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return functional.max_pool1d(x[None], 2)

    x = torch.tensor([[-torch.inf, -torch.inf, torch.finfo().min, -torch.inf, 1.0, 2.0]])
    assert onnxpert.export(model, (x,), tmp_path / "model.onnx").ok
    _same(tmp_path / "model.onnx", model, x)
