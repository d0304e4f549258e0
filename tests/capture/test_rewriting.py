"""Functions of a model rewritten so that branches and loops are calls: what stays what it was."""

from __future__ import annotations

import ast
from typing import Any

import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.capture.written.rewriting import rewritten


@pytest.mark.parametrize("kept", ["isinstance(x, (list, tuple))", "y.to(dtype=float)", "{int: 1}"])
def test_the_name_of_a_type_is_that_type(kept: str) -> None:
    assert kept in _said(kept)


@pytest.mark.parametrize("opened", ["int(x)", "list(map(int, y))", "[len(part) for part in y]"])
def test_what_is_called_is_open(opened: str) -> None:
    assert opened not in _said(opened)


def _said(expression: str) -> str:
    page = ast.parse(f"def f(x, y):\n    if x:\n        return None\n    return {expression}")
    function = page.body[0]
    assert isinstance(function, ast.FunctionDef)
    return ast.unparse(ast.fix_missing_locations(rewritten(function)))


class Turns(nn.Module):
    """A loop over as many rows as the data say; the first of them is told by a flag."""

    def forward(self, x: Any) -> Any:
        rows = x[x[:, 0] > 0]
        seen = torch.zeros(1)
        out = torch.zeros(len(rows))
        for i in range(len(rows)):
            count = int(rows[i].abs().sum().item()) + 1
            if (seen == 0).all():
                out[i] = torch.ones(count).sum()
            seen.fill_(1.0)
        return out


def test_what_a_turn_writes_is_not_known_in_the_next() -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(Turns().eval(), (torch.randn(7, 4),), dynamic_shapes=({0: "n"},))
    assert report.ok, str(report)
