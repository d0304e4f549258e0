"""Views whose sizes only the data know, or that no border of axes is left of."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Shifted(nn.Module):
    """Relative positions by a view: each row is one further on than the one above."""

    def forward(self, x: Tensor, counts: Tensor) -> Tensor:
        length = counts.clamp(1, 9).sum()
        rows = torch.zeros((x.shape[0], length, x.shape[1])) + x[:, None]
        table = torch.arange(41.0)[None, :, None].expand(1, 41, x.shape[1])
        middle, size = 20, rows.shape[1]
        scores = (rows @ table[:, middle - size + 1 : middle + size].transpose(1, 2))[:, None]
        padded = torch.cat([torch.zeros((*scores.shape[:3], 1)), scores], -1)
        padded = padded.view(*scores.shape[:2], scores.shape[3] + 1, scores.shape[2])
        return padded[:, :, 1:].view_as(scores)[..., : scores.shape[-1] // 2 + 1]


def test_what_is_no_one_piece_is_viewed_anew(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = Shifted().eval(), tmp_path / "shifted.onnx"
    example = (torch.randn(2, 3), torch.tensor([2, 3]))
    shapes = {"x": {0: "batch"}, "counts": None}
    assert onnxpert.export(model, example, path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path)
    for counts in ([1, 1], [4, 2], [9, 9]):
        x, given = torch.randn(3, 3), torch.tensor(counts)
        (found,) = session.run(None, {"x": x.numpy(), "counts": given.numpy()})
        torch.testing.assert_close(torch.tensor(found), model(x, given), rtol=1e-4, atol=1e-4)


def test_axes_that_share_no_border(tmp_path: Path) -> None:
    def joined(x: Tensor) -> Tensor:
        rows, columns = x.shape
        return torch.cat([x] * 3, 1).view(3, rows * columns)

    path = tmp_path / "m.onnx"
    sizes = ({0: "rows", 1: "columns"},)
    onnxpert.export(joined, (torch.randn(3, 2),), path, dynamic_shapes=sizes)
    session = onnxruntime.InferenceSession(path)
    for shape in ((1, 1), (5, 4), (2, 7)):
        x = torch.randn(shape)
        (found,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(found), joined(x))


class InTens(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.view(-1, 10), x.transpose(0, 1).reshape(-1, 2, 5)


@pytest.mark.parametrize("sizes", [{0: "rows"}, {0: "rows", 1: "columns"}])
def test_a_size_left_open_is_as_many_as_there_are(sizes: dict[int, str], tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(InTens(), (torch.randn(4, 5),), path, dynamic_shapes=(sizes,))
    assert not {"SHP212", "CTL407"} & {found.rule for found in report.findings}
    session = onnxruntime.InferenceSession(path)
    assert [each.shape[-1] for each in session.get_outputs()] == [10, 5]
    for rows in (2, 4, 10):
        x = torch.randn(rows, 5)
        for got, want in zip(session.run(None, {"x": x.numpy()}), InTens()(x), strict=True):
            torch.testing.assert_close(torch.tensor(got), want)
    with pytest.raises(Exception, match="cannot be reshaped"):
        session.run(None, {"x": torch.randn(3, 5).numpy()})
