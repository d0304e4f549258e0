"""A loop over experts in a model of so many functions that only those are rewritten which ask for data."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import onnxruntime
import torch
from torch import nn

import onnxpert

_STEPS = 70
_MODEL = """
import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Parameter(torch.randn(4, 6, 6))
        self.route = nn.Linear(6, 4)

    def forward(self, x):
        weights, chosen = self.route(x).topk(2, -1)
        out = torch.zeros_like(x)
        mask = nn.functional.one_hot(chosen, 4).permute(2, 1, 0)
        for expert in mask.sum((-1, -2)).greater(0).nonzero():
            expert = expert[0]
            if expert == 4:
                continue
            place, row = torch.where(mask[expert])
            found = x[row] @ self.up[expert]
            out.index_add_(0, row, found * weights[row, place, None])
        return out


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Experts(), Experts()

    def forward(self, x):
        x = self.first(x)
        for step in STEPS:
            x = step(x)
        return self.second(x)

"""


def _model(path: Path) -> nn.Module:
    """Each step is a function with a choice of its own, which only Python makes."""
    steps = "".join(
        f"\ndef step_{n}(x, more=None):\n    return x + {n} / 1000 if more is None else x + more\n"
        for n in range(_STEPS)
    )
    names = ", ".join(f"step_{n}" for n in range(_STEPS))
    path.write_text(f"{_MODEL}{steps}\n\nSTEPS = [{names}]\n")
    spec = importlib.util.spec_from_file_location("experts_of_a_library", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    model: nn.Module = module.Model()
    return model.eval()


def test_two_loops_over_experts_among_many_functions(tmp_path: Path) -> None:
    model = _model(tmp_path / "experts.py")
    torch.manual_seed(1)
    onnxpert.export(
        model,
        (torch.randn(5, 6),),
        tmp_path / "m.onnx",
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
    )
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    for rows in (1, 2, 9):
        x = torch.randn(rows, 6)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.tensor(found), model(x), rtol=1e-3, atol=1e-4)


class Unseen(nn.Module):
    """What the example's turns, none, do not run: a function that is written inside of another."""

    def stepped(self, v: torch.Tensor) -> torch.Tensor:
        def chosen(by: float) -> torch.Tensor:
            return v * by + 1 if v.max().item() > 0.25 else v

        return chosen(0.5) * 2

    def forward(self, x: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        v = x.mean(0)
        for _ in range(int(first), 2):
            v = self.stepped(v)
        return v


def test_a_function_inside_of_one_that_the_example_does_not_run(tmp_path: Path) -> None:
    model, path = Unseen(), tmp_path / "m.onnx"
    sizes = {"x": {0: "n"}, "first": None}
    onnxpert.export(model, (torch.randn(4, 3), torch.tensor(2)), path, dynamic_shapes=sizes)
    session = onnxruntime.InferenceSession(path)
    for first in (2, 1, -3):
        for x in (torch.rand(3, 3), -torch.rand(5, 3)):
            (got,) = session.run(None, {"x": x.numpy(), "first": torch.tensor(first).numpy()})
            torch.testing.assert_close(torch.tensor(got), model(x, torch.tensor(first)))
