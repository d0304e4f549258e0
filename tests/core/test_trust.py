"""Calls that end the process where their arguments do not fit are errors of the model's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.core.trust import nothing_on_trust
from onnxpert.core.types import Verdict


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(30, 5, mode="mean", include_last_offset=True, padding_idx=2)

    def forward(self, ids: Tensor, offsets: Tensor) -> Tensor:
        return self.bags(ids, offsets)  # type: ignore[no-any-return]


def test_bags_that_fit_are_filled_as_ever() -> None:
    model, ids, offsets = Bags(), torch.arange(7), torch.tensor([0, 3, 3, 7])
    want, plain = model(ids, offsets), torch.embedding_bag
    with nothing_on_trust():
        assert torch.equal(model(ids, offsets), want)
    assert torch.embedding_bag is plain


@pytest.mark.parametrize("offsets", [[0], [0, 3], [0, 9]])
def test_indices_without_a_bag_are_an_error(offsets: list[int]) -> None:
    with nothing_on_trust(), pytest.raises(RuntimeError, match="the last offset"):
        Bags()(torch.arange(7), torch.tensor(offsets))


def test_a_proof_survives_sizes_that_do_not_go_together(tmp_path: Path) -> None:
    given = (torch.arange(7), torch.tensor([0, 3, 3, 7]))
    dynamic = {"ids": {0: "n"}, "offsets": {0: "k"}}
    report = onnxpert.export(Bags().eval(), given, tmp_path / "m.onnx", dynamic_shapes=dynamic)
    assert report.ok
    assert {row.verdict for row in report.verified} == {Verdict.PASS, Verdict.REFUSED}
