"""Sparse weights, which the file holds with their zeros written out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Mixing(nn.Module):
    """A fixed graph, and what a model does with it."""

    def __init__(self, near: Tensor, mix: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.register_buffer("near", near)
        self.mix = mix

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(self.near, x)


def _near() -> Tensor:
    return torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 4]])


_MIXES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "matmul": torch.matmul,
    "sparse.mm": torch.sparse.mm,
    "sparse.addmm": lambda near, x: torch.sparse.addmm(x, near, x, beta=0.5),
    "turned": lambda near, x: near.t() @ x,
    "scaled": lambda near, x: (near * 2.0) @ x,
    "made dense": lambda near, x: near.to_dense() @ x,
    "beside a write": lambda near, x: x.clone().add_(near @ x),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
@pytest.mark.parametrize("mix", _MIXES)
def test_they_are_multiplied(layout: str, mix: str) -> None:
    model = Mixing(getattr(_near(), layout)(), _MIXES[mix]).eval()
    report = onnxpert.diagnose(model, (torch.randn(3, 2),))
    assert report.ok, str(report)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
@pytest.mark.parametrize("mix", [name for name in _MIXES if name != "made dense"])
def test_they_are_multiplied_with_what_varies_in_size(layout: str, mix: str) -> None:
    model = Mixing(getattr(_near(), layout)(), _MIXES[mix]).eval()
    report = onnxpert.diagnose(model, (torch.randn(3, 2),), dynamic_shapes=({1: "n"},))
    assert report.ok, str(report)


class InTurns(Mixing):
    def forward(self, x: Tensor) -> Tensor:
        rows = [self.mix(self.near, x[:, t : t + 1]) for t in range(x.shape[1])]
        y = torch.cat(rows, 1)
        if y.sum() > 0:
            y = y + 1
        return y


def test_they_are_multiplied_in_loops_and_before_branches() -> None:
    model = InTurns(_near().to_sparse(), torch.sparse.mm).eval()
    report = onnxpert.diagnose(model, (torch.randn(3, 4),), dynamic_shapes=({1: "n"},))
    assert report.ok, str(report)


@torch.library.custom_op("sparse_tests::limited", mutates_args=())
def limited(x: Tensor) -> Tensor:
    return torch.where(x < 0, x.tanh(), x)


def test_they_are_multiplied_beside_an_operator_of_ones_own() -> None:
    model = Mixing(_near().to_sparse(), lambda near, x: limited(torch.sparse.mm(near, x))).eval()
    assert onnxpert.diagnose(model, (torch.randn(3, 2),)).ok


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_a_sparse_output_is_refused_where_it_is_made(layout: str) -> None:
    model = Mixing(getattr(_near(), layout)(), lambda near, _: near * 2.0).eval()
    report = onnxpert.diagnose(model, (torch.randn(3, 2),))
    (found,) = report.findings
    assert found.rule == "OPS501"
    assert "sparse" in found.message
    assert found.location is not None
    assert "near * 2.0" in found.location.code


class Beside(nn.Module):
    """What no graph has, beside products with a sparse weight."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("near", _near().to_sparse())

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sparse.mm(self.near, x) + self.near.to_dense()
        rows = torch.nested.nested_tensor([y[:1], y[1:]])  # nested
        return torch.nested.to_padded_tensor(rows, 0.0).sum() + (self.near @ y)


def test_beside_what_no_graph_has_they_are_no_finding() -> None:
    report = onnxpert.diagnose(Beside().eval(), (torch.randn(3, 3),))
    told = {each.location.line for each in report.findings if each.blocks and each.location}
    code = {each.location.code for each in report.findings if each.blocks and each.location}
    assert len(told) == 1, str(report)
    assert "# nested" in code.pop()
