"""Views by strides."""

from __future__ import annotations

import pytest
import torch

import onnxpert
from onnxpert.capture import capture
from onnxpert.core.types import Request
from onnxpert.load import load
from onnxpert.lower import lower
from tests.lower.same import assert_same

X = torch.randn(4, 6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.as_strided((3, 3), (6, 1)),
        lambda x: x.as_strided((2, 3, 2), (6, 2, 1), 1),
        lambda x: x.as_strided((5,), (0,)),
        lambda x: x.as_strided((), (), 7),
        lambda x: torch.as_strided_scatter(x, torch.zeros(2, 2), (2, 2), (6, 2), 1),
        lambda x: (x * 2).as_strided((2, 2), (1, 2)),
        lambda x: x.t().as_strided((2, 2), (1, 2)),
        lambda x: x.view(2, 2, 2, 3).permute(2, 0, 3, 1).as_strided((3, 2), (1, 6), 1),
        lambda x: torch.as_strided_scatter(x.t(), torch.zeros(2, 2), (2, 2), (6, 2), 1),
    ],
)
def test_views(call):
    assert_same(call, X)


def test_dynamic_sizes():
    def call(x):
        return x.as_strided((x.shape[0], 2), (x.shape[1], 1))

    assert_same(call, X, dynamic="auto", others=[(torch.randn(2, 3),)])


def test_a_stride_that_is_nothing_at_a_size_of_one():
    def call(x):  # every row starts one further to the left
        rows, columns = x.shape
        return x.as_strided((rows, rows), (columns - 1, 1), rows - 1)

    rows = torch.export.Dim("rows")
    x = torch.randn(4, 7)
    assert_same(
        call,
        x,
        dynamic=({0: rows, 1: 2 * rows - 1},),
        others=[(torch.randn(1, 1),), (torch.randn(2, 3),)],
    )


def test_writes():
    def call(x):
        x = x.clone()
        x.as_strided((4,), (7,)).fill_(0)
        return x

    assert_same(call, X)


class Chunks(torch.nn.Module):
    """Overlapping windows over an axis that does not come first in memory."""

    def forward(self, x):
        length, batch, _ = x.shape
        heads = x.view(length, batch, 2, 3).transpose(0, 1).transpose(1, 2)
        rows = heads.reshape(batch * 2, length, 3)
        count = torch.div(length, 4, rounding_mode="trunc")
        windows = rows.view(batch * 2, count, 4, 3)
        size, stride = list(windows.size()), list(windows.stride())
        size[1], stride[1] = size[1] * 2 - 1, stride[1] // 2
        return windows.as_strided(size, stride)


def test_overlapping_windows_of_a_size_that_varies():
    x = torch.randn(8, 2, 6)
    assert_same(Chunks(), x, dynamic="auto", others=[(torch.randn(16, 3, 6),)])


class Scores(Chunks):
    """Of what is filled up to whole windows."""

    def forward(self, x):
        missing = (4 - x.shape[0] % 4) % 4
        windows = super().forward(torch.nn.functional.pad(x, (0, 0, 0, 0, 0, missing)))
        return torch.einsum("bcxd,bcyd->bcxy", (windows, windows))


def test_products_of_windows_of_which_the_example_has_one():
    """At one window any strides do, at two they do not: no reason to hold the file to one."""
    vary = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    report = onnxpert.diagnose(Scores().eval(), (torch.randn(3, 2, 6),), dynamic_shapes=(vary,))
    assert report.ok, str(report)
    assert "SHP203" not in str(report), str(report)


def test_what_has_gaps_is_refused():
    result = lower(
        capture(load(Request(lambda x: x[:, :3].as_strided((2, 2), (1, 2)), (X,)))), opset=20
    )
    assert "do not lie in order" in result.unsupported[0].reason
