"""A number that Python reads from the data and computes with: the file does so for every input."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from tests.engine.models import Model

WEIGHTS = (0.5, -1.0, 0.25, 1.5)


def positive(x: Tensor) -> int:
    return int((x[:, 0] > 0).sum())


def at_most(x: Tensor) -> Tensor:
    return x * min(positive(x), 2)


def at_least(x: Tensor) -> Tensor:
    k = positive(x)
    return x * max(k, 2) + abs(k - 3)


def turns(x: Tensor) -> Tensor:
    for turn in range(min(positive(x), 3)):
        x = x.sin() + turn
    return x


def compared(x: Tensor) -> Tensor:
    k = positive(x)
    return x * (k == 1) + (k > 3) * 2


def taken(x: Tensor) -> Tensor:
    return x * [0.5, 1.0, 2.0][min(positive(x), 2)]


def with_itself(x: Tensor) -> Tensor:
    mean = x.mean()
    k = float(mean)
    return x * 2 if mean.item() > k else x + (k + k > k * 2)


def largest(x: Tensor) -> Tensor:
    best, at = -math.inf, 0
    for row in range(x.shape[0]):
        if (found := x[row].sum().item()) > best:
            best, at = found, row
    return x[at] * best


def written(x: Tensor) -> Tensor:
    k, y = positive(x) - 3, x + 1
    y[k:] += x[0]
    y[k : k + 2] = 5.0
    return y


def part_of_a_tuple(x: Tensor) -> Tensor:
    k = positive(x) - 1
    for weight in WEIGHTS[:k]:
        x = x * weight + 1
    return x * sum(WEIGHTS[k:]) + len(WEIGHTS[-k:])


def one_of_some(x: Tensor) -> Tensor:
    k = positive(x)
    while x.mean() > 0.2:
        x = x * (0.5 if k in (0, 2) else 0.7) - (1 if k not in {1: "one", 3: "three"} else 2)
    return x


def quotient_and_rest(x: Tensor) -> Tensor:
    quotient, rest = divmod(positive(x), 2)
    return x * quotient + rest


def mathematics(x: Tensor) -> Tensor:
    k = x.mean().item()
    for _ in range(positive(x)):
        k = math.atan(k) + math.exp(-abs(k)) + math.log(k * k + 1, 2) + math.floor(k)
    return x * k


def angles(x: Tensor) -> Tensor:
    k = math.degrees(x.mean().item())
    return x * math.radians(k) + (1.0 if k > 45 else 0.0)


class Picked(nn.Module):
    """A layer by a number, beside something that is None on one side."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        bias = None
        if x.mean() > 0:
            bias = x.mean(0)
        y: Tensor = self.layers[positive(x) % 3](x)
        if bias is not None:
            y = y + bias
        return y


NUMBERS = (
    at_most, at_least, turns, compared, taken, with_itself, largest, written, part_of_a_tuple,
    one_of_some, quotient_and_rest, mathematics, angles,
)  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(
    "model",
    [*map(Model, NUMBERS), Picked()],
    ids=[*(number.__name__ for number in NUMBERS), "picked"],
)
def test_whatever_the_number_is(model: nn.Module, dynamic: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, shapes = tmp_path / "m.onnx", {"x": {0: "rows"}} if dynamic else None
    onnxpert.export(model, (torch.rand(5, 3),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path)
    for rows in (5, 1, 8) if dynamic else (5,):
        for k in range(rows + 1):
            x = torch.rand(rows, 3)
            x[k:, 0] *= -1
            with torch.no_grad():
                want = model(x)
            (got,) = session.run(None, {"x": x.numpy()})
            torch.testing.assert_close(torch.tensor(got), want)


def test_a_proof_tries_none_of_what_a_mask_lets_through(tmp_path: Path) -> None:
    class Positive(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[x > 0] * 2

    report = onnxpert.export(Positive(), (torch.rand(4),), tmp_path / "m.onnx")
    assert {row.case for row in report.verified} & {"values negated", "values all negative"}


def a_power(x: Tensor, k: int) -> Tensor:
    return x * pow(k, 2, 3)


def a_text(x: Tensor, k: int) -> Tensor:
    return x * float(f"{k:.2f}")


def a_set(x: Tensor, k: int) -> Tensor:
    return x * len({k, 4})


@pytest.mark.parametrize("beyond", [a_power, a_text, a_set])
def test_what_only_python_can_do_is_no_refusal_of_the_model(
    beyond: Callable[[Tensor, int], Tensor], tmp_path: Path
) -> None:
    """On a side that the example does not take; the file would have the other side alone."""

    def forward(x: Tensor) -> Tensor:
        return beyond(x, int(x.sum())) if x.mean() > 50 else x + 1

    with pytest.raises(onnxpert.ExportError):
        onnxpert.export(Model(forward), (torch.rand(5, 3),), tmp_path / "m.onnx")


def _marked(x: Tensor) -> Tensor:
    marks = torch.zeros(x.shape[0])
    for place in range(x.shape[0]):
        value = x[place].item()
        if value != value:  # noqa: PLR0124  which only a NaN is
            marks[place] = 9
        elif value == value and value >= 0:  # noqa: PLR0124
            marks[place] = 1
    return marks


def test_a_number_that_is_not_itself_is_none(tmp_path: Path) -> None:
    """No NaN is in the example, and none is tried: what the lines say is what the file does."""
    path = tmp_path / "nan.onnx"
    onnxpert.export(Model(_marked), (torch.randn(4),), path, dynamic_shapes={"x": {0: "n"}})
    x = torch.tensor([1.0, math.nan, -2.0, math.nan, 0.0])
    (got,) = onnxruntime.InferenceSession(path).run(None, {"x": x.numpy()})
    torch.testing.assert_close(torch.tensor(got), _marked(x))


def stepped(x: Tensor) -> Tensor:
    step = float(x.abs().max()) / 127
    return torch.fake_quantize_per_tensor_affine(x, step, 0, -128, 127)


def test_the_step_of_a_quantisation() -> None:
    report = onnxpert.diagnose(Model(stepped), (torch.randn(4, 3),), dynamic_shapes=({0: "n"},))
    assert report.ok, report
