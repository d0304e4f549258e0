"""Interpolation, and sampling at grids."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

X = {3: torch.randn(2, 3, 7), 4: torch.randn(2, 3, 5, 7), 5: torch.randn(2, 2, 4, 5, 6)}
SMOOTH = [("linear", 3), ("bilinear", 4), ("bicubic", 4), ("trilinear", 5)]


@pytest.mark.parametrize(("mode", "rank"), SMOOTH)
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("opset", [13, 20])
def test_smooth_to_a_size(mode: str, rank: int, align: bool, opset: int) -> None:
    for size in ((9, 3, 8), (1, 1, 1), (5, 7, 6)):
        wanted = size[: rank - 2]
        assert_same(
            lambda x: F.interpolate(x, wanted, mode=mode, align_corners=align),  # noqa: B023
            X[rank],
            opset=opset,
        )


@pytest.mark.parametrize(("mode", "rank"), SMOOTH)
@pytest.mark.parametrize("align", [True, False])
def test_smooth_by_a_factor(mode: str, rank: int, align: bool) -> None:
    for factor in (2.0, 0.5, 1.7, 0.7):
        assert_same(
            lambda x: F.interpolate(x, scale_factor=factor, mode=mode, align_corners=align),  # noqa: B023
            X[rank],
        )
    assert_same(
        lambda x: F.interpolate(
            x, scale_factor=1.7, mode=mode, align_corners=align, recompute_scale_factor=True
        ),
        X[rank],
    )


@pytest.mark.parametrize(("mode", "rank"), SMOOTH)
@pytest.mark.parametrize("align", [True, False])
def test_smooth_in_float64(mode: str, rank: int, align: bool) -> None:
    double = X[rank].double()
    size = (9, 3, 8)[: rank - 2]
    assert_same(lambda x: F.interpolate(x, size, mode=mode, align_corners=align), double)
    assert_same(
        lambda x: F.interpolate(x, scale_factor=1.7, mode=mode, align_corners=align), double
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align", [True, False])
def test_antialiased(mode: str, align: bool) -> None:
    x = torch.randn(1, 2, 11, 13)
    for size in ((5, 17), (4, 3), (22, 26)):
        assert_same(
            lambda x: F.interpolate(x, size, mode=mode, align_corners=align, antialias=True),  # noqa: B023
            x,
        )
    assert_same(
        lambda x: F.interpolate(
            x, scale_factor=0.6, mode=mode, align_corners=align, antialias=True
        ),
        x,
    )


@pytest.mark.parametrize("rank", [3, 4, 5])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest(rank: int, mode: str) -> None:
    for size in ((9, 3, 8), (1, 1, 1), (14, 10, 12), (2, 4, 3)):
        wanted = size[: rank - 2]
        assert_same(lambda x: F.interpolate(x, wanted, mode=mode), X[rank])  # noqa: B023
    for factor in (2.0, 3.0, 1.1, 2.25, 0.7):
        assert_same(lambda x: F.interpolate(x, scale_factor=factor, mode=mode), X[rank])  # noqa: B023


def test_a_factor_that_float32_cannot_hold() -> None:
    x = torch.randn(1, 2, 10, 20)
    for mode in ("nearest", "bilinear", "bicubic"):
        assert_same(lambda x: F.interpolate(x, scale_factor=(1.7, 0.9), mode=mode), x)  # noqa: B023
    assert_same(
        lambda x: F.interpolate(x, scale_factor=0.9, mode="bilinear"),
        x,
        dynamic=({2: "height", 3: "width"},),
        others=[[torch.randn(1, 2, 30, 7)]],
    )


def test_nearest_where_the_runtime_would_pick_another() -> None:
    x = torch.arange(14.0).view(1, 1, 14)
    for size in (2, 4, 8, 46, 78):
        assert_same(lambda x: F.interpolate(x, size), x)  # noqa: B023


@pytest.mark.parametrize("dtype", [torch.float64, torch.uint8])
def test_nearest_of_other_dtypes(dtype: torch.dtype) -> None:
    x = torch.randint(0, 99, (1, 2, 5, 7)).to(dtype)
    assert_same(lambda x: F.interpolate(x, (9, 3)), x)
    assert_same(lambda x: F.interpolate(x, scale_factor=2), x)


DIMS = ({0: "batch", 2: "height", 3: "width"},)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("opset", [14, 20])
def test_at_other_sizes(mode: str, opset: int) -> None:
    x, others = torch.randn(2, 3, 5, 7), [[torch.randn(1, 3, 14, 6)], [torch.randn(3, 3, 2, 1)]]
    for wanted in ({"size": (4, 8)}, {"scale_factor": 2.0}, {"scale_factor": (3.0, 2.0)}):
        assert_same(
            lambda x: F.interpolate(x, mode=mode, **wanted),  # noqa: B023
            x,
            dynamic=DIMS,
            others=others,
            opset=opset,
        )


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_to_the_size_of_another(mode: str) -> None:
    assert_same(
        lambda x, y: F.interpolate(x, y.shape[2:], mode=mode),
        torch.randn(2, 3, 5, 7),
        torch.randn(2, 3, 9, 13),
        dynamic=(DIMS[0], {0: "batch", 2: "other", 3: "another"}),
        others=[[torch.randn(1, 3, 14, 6), torch.randn(1, 3, 4, 46)]],
    )


def test_nearest_by_an_odd_factor_at_other_sizes() -> None:
    assert_same(
        lambda x: F.interpolate(x, scale_factor=2.25),
        torch.randn(2, 3, 5, 7),
        dynamic=DIMS,
        others=[[torch.randn(1, 3, 2, 3)]],
    )


def test_doubling_is_one_node() -> None:
    for mode in ("nearest", "bilinear"):
        result = assert_same(
            lambda x: F.interpolate(x, scale_factor=2, mode=mode),  # noqa: B023
            torch.randn(2, 3, 5, 7),
            dynamic=DIMS,
        )
        assert [node.op_type for node in result.model.graph] == ["Resize"]


def test_core_overloads() -> None:
    aten: Any = torch.ops.aten
    x = torch.randn(2, 3, 5, 7)
    assert_same(lambda x: aten.upsample_bilinear2d.default(x, [8, 11], False, 1.7, 1.6), x)
    assert_same(lambda x: aten.upsample_bilinear2d.default(x, [8, 11], False), x)
    assert_same(lambda x: aten.upsample_nearest2d.default(x, [8, 11], 1.7, 1.6), x)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("opset", [16, 20])
def test_grid_sample(mode: str, padding: str, align: bool, opset: int) -> None:
    def call(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)

    grid = torch.rand(2, 4, 6, 2) * 3 - 1.5
    assert_same(call, torch.randn(2, 3, 5, 7), grid, opset=opset)
    if opset == 20 and mode != "bicubic":
        assert_same(call, torch.randn(2, 2, 4, 5, 6), torch.rand(2, 3, 4, 5, 3) * 3 - 1.5)
        assert_same(call, torch.randn(2, 3, 5, 7).double(), grid.double())


def test_grid_sample_at_other_sizes() -> None:
    assert_same(
        lambda x, grid: F.grid_sample(x, grid, align_corners=False),
        torch.randn(2, 3, 5, 7),
        torch.rand(2, 4, 6, 2) * 3 - 1.5,
        dynamic=({0: "batch"}, {0: "batch", 1: "rows"}),
        others=[[torch.randn(1, 3, 5, 7), torch.rand(1, 3, 6, 2) * 2 - 1]],
    )


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("opset", [13, 20])
def test_affine_grid(align: bool, opset: int) -> None:
    for size in ((2, 3, 4, 5), (2, 3, 1, 5) if not align else (1, 2, 5, 4)):
        assert_same(
            lambda t: F.affine_grid(t, size, align_corners=align),  # noqa: B023
            torch.randn(size[0], 2, 3),
            opset=opset,
        )
    assert_same(
        lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), align_corners=align),
        torch.randn(2, 3, 4),
        opset=opset,
    )


@pytest.mark.parametrize("opset", [16, 20])
def test_a_spatial_transformer(opset: int) -> None:
    def call(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, F.affine_grid(theta, x.shape, False), align_corners=False)

    assert_same(call, torch.randn(2, 3, 5, 7), torch.randn(2, 2, 3), opset=opset)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("how", [{"size": (9, 4)}, {"scale_factor": 1.7}, {"scale_factor": 0.6}])
def test_bytes_are_rounded_as_torch_rounds_them(mode: str, how: dict[str, Any]) -> None:
    image = torch.randint(0, 256, (2, 3, 12, 15), dtype=torch.uint8)
    assert_same(lambda x: F.interpolate(x, mode=mode, **how), image)
    assert_same(lambda x: F.interpolate(x, mode=mode, align_corners=True, **how), image)
    assert_same(lambda x: F.interpolate(x, mode=mode, antialias=True, **how), image)
