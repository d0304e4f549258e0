"""A convolution's kernel may be chosen by the size of the batch; its file is for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

import onnxpert

LAYERS = [
    (nn.Conv2d(2, 2, 3, padding="same"), (2, 2, 5, 5)),
    (nn.Conv1d(2, 2, 4, padding="same"), (2, 2, 6)),
    (nn.Conv3d(2, 2, 3, padding="valid"), (2, 2, 4, 4, 4)),
    (nn.ConvTranspose2d(2, 2, 3), (2, 2, 5, 5)),
    (nn.Conv2d(2, 2, 3, padding="same").requires_grad_(False), (2, 5, 5)),
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """With several, torch takes the same kernel for every batch."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("layer", "shape"), LAYERS)
def test_the_size_stays_open(layer: nn.Module, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    axis = 0 if len(shape) != 3 or isinstance(layer, nn.Conv1d) else 1
    report = onnxpert.diagnose(
        layer.eval(), (torch.randn(shape),), dynamic_shapes=({axis: "size"},)
    )
    assert report.ok, str(report)
    assert "SHP203" not in {found.rule for found in report.findings}
    assert "size >= 1" in str(report)


def test_the_library_is_as_it_was() -> None:
    before = torch.backends.mkldnn.enabled
    onnxpert.diagnose(nn.Conv2d(2, 2, 3, padding="same").eval(), (torch.randn(1, 2, 4, 4),))
    assert torch.backends.mkldnn.enabled == before


def test_flags_that_are_locked_are_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch's own test suite leaves them."""
    monkeypatch.setattr(torch.backends, "__allow_nonbracketed_mutation_flag", False)
    assert onnxpert.diagnose(nn.Conv2d(1, 1, 3, padding="same"), (torch.randn(2, 1, 5, 5),)).ok
