"""Convolutions."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.lower.same import assert_same

LAYERS: list[tuple[Any, tuple[int, ...]]] = [
    (nn.Conv1d(4, 6, 3), (2, 4, 9)),
    (nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), (2, 4, 9)),
    (nn.Conv2d(4, 6, 3, padding=1, bias=False), (2, 4, 8, 9)),
    (nn.Conv2d(4, 6, (3, 5), stride=(2, 1), padding=(0, 2)), (2, 4, 8, 9)),
    (nn.Conv2d(4, 4, 3, groups=4), (2, 4, 8, 9)),
    (nn.Conv2d(4, 6, 1), (1, 4, 1, 1)),
    (nn.Conv3d(2, 4, 3, padding=1, stride=2), (1, 2, 5, 6, 7)),
    (nn.Conv1d(4, 6, 3, padding="same"), (2, 4, 9)),
    (nn.Conv2d(4, 6, (2, 4), padding="same", dilation=(1, 3)), (2, 4, 8, 13)),
    (nn.Conv3d(2, 4, 2, padding="same"), (1, 2, 5, 6, 7)),
    (nn.Conv2d(4, 6, 3, padding="valid"), (2, 4, 8, 9)),
    (nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1), (2, 4, 9)),
    (nn.ConvTranspose2d(4, 6, 3, bias=False), (2, 4, 5, 6)),
    (nn.ConvTranspose2d(4, 6, (3, 2), stride=(3, 2), padding=(1, 0), groups=2), (2, 4, 5, 6)),
    (nn.ConvTranspose2d(4, 6, 3, stride=2, dilation=2, output_padding=(1, 0)), (2, 4, 5, 6)),
    (nn.ConvTranspose3d(2, 4, 2, stride=2), (1, 2, 3, 4, 5)),
    (nn.ConvTranspose2d(4, 6, 3, 2, padding=1, output_padding=2, dilation=3), (2, 4, 5, 6)),
    (nn.ConvTranspose2d(4, 6, 3, padding=2, dilation=3, stride=1), (2, 4, 5, 6)),
]


@pytest.mark.parametrize("row", range(len(LAYERS)))
def test_convolutions(row: int) -> None:
    layer, sizes = LAYERS[row]
    result = assert_same(layer, torch.randn(sizes))
    kinds = [node.op_type for node in result.model.graph]
    assert kinds in (["Conv"], ["ConvTranspose"])
    # No bias, no third input.
    (node,) = result.model.graph
    assert len(node.inputs) == (2 if layer.bias is None else 3)


@pytest.mark.parametrize("row", range(len(LAYERS)))
def test_convolutions_without_a_batch(row: int) -> None:
    layer, sizes = LAYERS[row]
    assert_same(layer, torch.randn(sizes[1:]))


@pytest.mark.parametrize("row", range(len(LAYERS)))
def test_convolutions_in_float64(row: int) -> None:
    import copy

    layer, sizes = LAYERS[row]
    assert_same(copy.deepcopy(layer).double(), torch.randn(sizes).double())


@pytest.mark.parametrize("row", [0, 1, 2, 6, 8, 11, 13])
def test_convolutions_at_other_sizes(row: int) -> None:
    layer, sizes = LAYERS[row]
    dims = {0: "batch", **{axis: f"size{axis}" for axis in range(2, len(sizes))}}
    other = (1, sizes[1], *(size + 4 for size in sizes[2:]))
    assert_same(layer, torch.randn(sizes), dynamic=(dims,), others=[[torch.randn(other)]])


def test_convolutions_in_float64_at_other_sizes() -> None:
    dims = ({0: "batch", 2: "height", 3: "width"},)
    for layer in (nn.Conv2d(4, 6, 3, 2, 1), nn.ConvTranspose2d(4, 6, 3, 2, 1, 1)):
        assert_same(
            layer.double(),
            torch.randn(2, 4, 8, 9).double(),
            dynamic=dims,
            others=[[torch.randn(1, 4, 11, 10).double()]],
        )


def test_integers() -> None:
    x, w = torch.randint(-9, 9, (2, 4, 6, 7)), torch.randint(-9, 9, (6, 2, 3, 3))
    assert_same(lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2), x, w)


def test_weights_that_are_inputs() -> None:
    assert_same(
        F.conv2d,
        torch.randn(2, 4, 8, 9),
        torch.randn(6, 4, 3, 3),
        torch.randn(6),
    )


def test_conv_tbc() -> None:
    assert_same(
        lambda x, w, b: torch.conv_tbc(x, w, b, 1),
        torch.randn(7, 2, 4),
        torch.randn(3, 4, 5),
        torch.randn(5),
    )


def test_the_core_overload() -> None:
    x, w = torch.randn(2, 4, 8, 9), torch.randn(4, 3, 3, 3)
    assert_same(
        lambda x, w: torch.convolution(x, w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2), x, w
    )


def test_output_padding_beyond_the_stride() -> None:
    layer = nn.ConvTranspose2d(4, 6, 3, stride=1, padding=0, output_padding=2, dilation=3)
    assert_same(layer, torch.randn(2, 4, 5, 6))


class _BackToItsSize(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(2, 3, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.down(x), output_size=x.shape[-2:])  # type: ignore[no-any-return]


def test_an_output_padding_of_sizes() -> None:
    assert_same(
        _BackToItsSize(),
        torch.randn(1, 2, 8, 7),
        dynamic=({2: "height", 3: "width"},),
        others=[[torch.randn(1, 2, 7, 7)], [torch.randn(1, 2, 4, 6)], [torch.randn(1, 2, 1, 1)]],
    )


def _for_each_sample(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    batch, channels, height, width = x.shape
    kernels = weight.reshape(-1, channels, 3, 3)
    grid = x.reshape(1, batch * channels, height, width)
    plain = F.conv2d(grid, kernels, groups=batch, padding=1)
    return plain.view(batch, -1, height, width)


def _turned_for_each_sample(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    batch, channels, height, width = x.shape
    kernels = weight.transpose(1, 2).reshape(batch * channels, -1, 3, 3)
    grid = x.reshape(1, batch * channels, height, width)
    wide = F.conv_transpose2d(grid, kernels, groups=batch, stride=2)
    return wide.view(batch, -1, wide.shape[2], wide.shape[3])


@pytest.mark.parametrize("model", [_for_each_sample, _turned_for_each_sample])
def test_a_kernel_for_each_sample(model: Callable[..., torch.Tensor]) -> None:
    """As many groups as there are samples: the attribute of Conv cannot say that."""
    assert_same(
        model,
        torch.randn(2, 3, 5, 5),
        torch.randn(2, 4, 3, 3, 3),
        dynamic=({0: "batch", 2: "height"}, {0: "batch"}),
        others=[
            [torch.randn(1, 3, 4, 5), torch.randn(1, 4, 3, 3, 3)],
            [torch.randn(5, 3, 7, 5), torch.randn(5, 4, 3, 3, 3)],
        ],
    )
