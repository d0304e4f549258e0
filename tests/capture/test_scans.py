"""torch's own scan where its turns read numbers from the data, which torch.export does not take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

import onnxpert


class _RowByRow(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        def turn(z: Tensor, place: Tensor, x: Tensor, y: Tensor) -> list[Tensor]:
            z = z.clone()
            row = place.item()
            z[row, :] = ((x[row, :] - y) ** 2).sum(dim=-1)  # type: ignore[index]
            return [z, place.clone()]

        z = torch.empty((x.shape[0], y.shape[0]))
        found = torch.ops.higher_order.scan(turn, [z], [torch.arange(x.shape[0])], [x, y])
        return found[0]  # type: ignore[no-any-return]


def test_a_turn_that_writes_where_the_data_say(tmp_path: Path) -> None:
    path = tmp_path / "rows.onnx"
    shapes = {"x": {0: "rows", 1: "width"}, "y": {0: "others", 1: "width"}}
    given = (torch.randn(3, 2), torch.randn(4, 2))
    report = onnxpert.export(_RowByRow(), given, path, dynamic_shapes=shapes)
    assert {str(row.verdict) for row in report.verified} == {"pass"}  # the model took every size
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows, others, width in ((1, 1, 1), (7, 2, 3)):
        x, y = torch.randn(rows, width), torch.randn(others, width)
        got = session.run(None, {"x": x.numpy(), "y": y.numpy()})[0]
        np.testing.assert_allclose(_RowByRow()(x, y).numpy(), got, rtol=1e-4, atol=1e-5)
