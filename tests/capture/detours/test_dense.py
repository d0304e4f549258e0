"""Sparse tensors made in forward, where nothing but their memory tells them from dense ones."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Multiplied(nn.Module):
    def forward(self, places: Tensor, values: Tensor, x: Tensor) -> Tensor:
        near = torch.sparse_coo_tensor(places, values, (x.shape[0], x.shape[0]))
        return torch.sparse.mm(near, x)


class ByOperator(nn.Module):
    def forward(self, places: Tensor, values: Tensor, x: Tensor) -> Tensor:
        near = torch.sparse_coo_tensor(
            places, values.double(), (x.shape[0], 6), dtype=torch.float32
        )
        return near.t().to_dense() @ x


class Added(nn.Module):
    def forward(self, places: Tensor, values: Tensor, x: Tensor) -> Tensor:
        near = torch.sparse_coo_tensor(places, values, (x.shape[0], x.shape[0]))
        sums = torch.sparse.sum(near, dim=1).to_dense()
        return torch.sparse.addmm(x, near, x, beta=0.5) + sums[:, None]


@pytest.mark.parametrize(
    "model", [Multiplied(), ByOperator(), Added()], ids=["mm", "turned", "added"]
)
def test_it_is_written_out(model: nn.Module, tmp_path: Path) -> None:
    def given(count: int, rows: int) -> tuple[Tensor, Tensor, Tensor]:
        places = torch.randint(0, min(rows, 6), (2, count))  # some of them twice
        return places, torch.randn(count), torch.randn(rows, 3)

    path = tmp_path / "m.onnx"
    shapes = ({1: "edges"}, {0: "edges"}, {0: "nodes"})
    report = onnxpert.export(model, given(8, 6), path, dynamic_shapes=shapes)
    assert report.ok, str(report)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for args in (given(13, 6), given(1, 9), given(0, 4)):
        feeds = {one.name: arg.numpy() for one, arg in zip(session.get_inputs(), args, strict=True)}
        (got,) = session.run(None, feeds)
        torch.testing.assert_close(torch.from_numpy(got), model(*args))


def test_one_whose_size_the_data_say_is_refused() -> None:
    class Unsized(nn.Module):
        def forward(self, places: Tensor, values: Tensor) -> Tensor:
            return torch.sparse_coo_tensor(places, values).to_dense()

    report = onnxpert.diagnose(Unsized(), (torch.tensor([[0, 1], [1, 2]]), torch.ones(2)))
    assert not report.ok
    assert report.findings[0].location is not None
    assert "sparse_coo_tensor" in str(report.findings[0].location.code)


def test_nothing_more_is_said_of_what_is_done_with_a_sparse_input() -> None:
    class Convolved(nn.Module):
        def forward(self, near: Tensor, x: Tensor) -> Tensor:
            return torch.sparse.addmm(x, near, x).relu()

    report = onnxpert.diagnose(Convolved(), (torch.eye(4).to_sparse(), torch.randn(4, 3)))
    assert [finding.rule for finding in report.findings] == ["INP105"]
