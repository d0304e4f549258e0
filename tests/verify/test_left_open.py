"""What torch leaves open is told of a model of which no file can be compared."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.report import Report


class Blocked(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        left, values, right = torch.linalg.svd(x)  # harmless
        vectors = torch.linalg.eigh(x @ x.mT).eigenvectors  # sign
        first = torch.sort((x > 0).float().flatten(), descending=True).indices[:3]  # order
        chosen = x.flatten()[first]
        return left * values @ right, x @ vectors, chosen, torch.linalg.eigvals(x).abs()  # blocked


class Random(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        noisy = x + torch.rand(6)  # random
        return noisy @ torch.linalg.eigh(x @ x.mT).eigenvectors  # sign


def found(report: Report) -> dict[str, str]:
    """The mark of the line of each error, by its rule."""
    places = {each.rule: each.location for each in report.findings if each.severity == "error"}
    return {rule: at.code.rpartition("# ")[2] for rule, at in places.items() if at is not None}


def test_of_a_model_without_a_file() -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(Blocked().eval(), (torch.randn(6, 6),))
    assert found(report) == {"OPS501": "blocked", "NUM706": "sign", "NUM707": "order"}


def test_of_a_model_whose_results_are_random() -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(Random().eval(), (torch.randn(6, 6),))
    assert found(report) == {"NUM702": "random", "NUM706": "sign"}


def test_not_where_the_file_may_choose() -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(Blocked().eval(), (torch.randn(6, 6),), undetermined="allow")
    assert found(report) == {"OPS501": "blocked"}
