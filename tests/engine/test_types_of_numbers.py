"""Questions about the type and the identity of numbers that only a run of the file knows."""

from __future__ import annotations

import numbers
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Instances(nn.Module):
    def scaled(self, x: Tensor, by: Any) -> Tensor:
        if not isinstance(by, (int, float)):
            by = by.mean()
        return x * by

    def forward(self, x: Tensor, k: Tensor) -> Any:
        total, number = x.sum().item(), k.item()
        y = self.scaled(x, total) if isinstance(total, numbers.Real) else x
        if isinstance(number, int) and isinstance(number > 1, bool):
            return y + number
        return y - 1


class Types(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        number = int(x.sum().item())
        if type(number) is int and number > 0:
            return x + number
        return x * {int: 2, float: 3}[type(k.item())] - int(k.item().__class__ is int)


class Sizes(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        rows = x.shape[0]
        known = type(rows) is int and isinstance(rows, int)
        return x * 2 if known and (rows > 2) is True else x - k


class Identities(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        is_large = k.item() > 1
        if is_large is True:
            return x * 2
        return x - 1 if (x.sum() > 0).item() is not False else x + 1


class Cases(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        match k.item() > 1:
            case True:
                x = x * 2
        match k.item():
            case float():
                return x
            case int(number) if number < 0:
                return x - number
            case 1 | 2:
                return x + 5
            case _:
                return -x


class CasesInTurns(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        total = x[0] * 0
        for row in x:
            match (int(row[0] * 2), k.item() > 1):
                case (0, _):
                    total = total + row
                case (n, True) if n > 0:
                    total = total - row * n
                case _:
                    total = total * 0.5
        return total


@pytest.mark.parametrize("kind", [Instances, Types, Sizes, Identities, Cases, CasesInTurns])
def test_as_python_answers(kind: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "m.onnx"
    shapes = ({0: torch.export.Dim("rows", max=64)}, None)
    onnxpert.export(model, (torch.randn(3, 4), torch.tensor(1)), path, dynamic_shapes=shapes)
    run = onnxruntime.InferenceSession(path).run
    for rows in (1, 2, 3, 6):
        for k in (-2, 0, 1, 2, 5):
            for shift in (-1.0, 1.0):
                x = torch.randn(rows, 4) + shift
                given = {"x": x.numpy(), "k": torch.tensor(k).numpy()}
                (found,) = run(None, given)
                torch.testing.assert_close(torch.from_numpy(found), model(x, torch.tensor(k)))


def test_nothing_of_it_stays(tmp_path: Path) -> None:
    code = Identities.forward.__code__
    args = (torch.randn(3, 4), torch.tensor(1))
    onnxpert.export(Identities().eval(), args, tmp_path / "m.onnx")
    assert Identities.forward.__code__ is code
    assert not {"type", "isinstance", "_ox_same"} & globals().keys()
