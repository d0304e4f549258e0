"""Errors that the data decide, and the model catches: both sides are in the file, or there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert
from tests.engine.models import Model

WEIGHTS = (0.5, -1.0, 0.25, 1.5)


def row(x: Tensor) -> Tensor:
    try:
        return x[int(x.sum())]
    except IndexError:
        return x[0] * 2


def column(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        y = x[:, k]
    except (LookupError, ValueError):
        y = x[:, 0] * 5
    return y


def quotient(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        return x * (6 // k)
    except ZeroDivisionError:
        return x + 100


def ratio(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        return x * (6 / k)
    except Exception:
        return x


def root(x: Tensor) -> Tensor:
    try:
        return x * math.sqrt(float(x.sum()))
    except ValueError:
        return x * 3


def out_of_a_tuple(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        x = x * WEIGHTS[k]
    except IndexError:
        x = x * 7
    return x


def out_of_a_table(x: Tensor) -> Tensor:
    k = int(x.sum())
    table = {0: 0.5, 1: 2.0, 2: -1.0}
    try:
        return x * table[k]
    except KeyError:
        return x


def raised_again(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        return x * WEIGHTS[k % 4] / (k + 50)
    except ZeroDivisionError as error:
        raise ValueError("a bad number") from error


def named(x: Tensor) -> Tensor:
    try:
        return x * WEIGHTS[int(x.sum())]
    except IndexError as error:
        return x * len(error.args)


def in_the_end(x: Tensor) -> Tensor:
    k = int(x.sum())
    try:
        y = x * WEIGHTS[k]
    except IndexError:
        y = x
    finally:
        k += 1
    return y + k


def inputs() -> list[Tensor]:
    """With sums of about -9 to 9, and none."""
    torch.manual_seed(0)
    return [(torch.rand(4, 3) + total) / 12 for total in range(-9, 10)] + [torch.zeros(4, 3)]


@pytest.mark.parametrize(
    "forward",
    [row, column, quotient, ratio, root, raised_again, out_of_a_tuple, out_of_a_table],
)
def test_both_sides_are_in_the_file(forward: Callable[[Tensor], Tensor], tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", Model(forward)
    onnxpert.export(model, (torch.ones(4, 3) / 8,), path)
    session = onnxruntime.InferenceSession(path)
    for x in inputs():
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x))


@pytest.mark.parametrize("forward", [named, in_the_end])
def test_there_is_no_file_without_one_of_them(
    forward: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(Model(forward), (torch.ones(4, 3) / 8,), tmp_path / "m.onnx")
    (found,) = [one for one in caught.value.report.findings if one.rule == "CTL405"]
    assert "IndexError is raised and caught" in found.notes[-1]
    assert "`if` in front of the line" in found.help


def by_rows(x: Tensor) -> Tensor:
    total = x[0] * 0
    for row in x:
        try:
            if row.sum() < -1:
                raise ValueError  # noqa: TRY301  as users write it
            if row[1] > 0.8:
                continue
            total = total + row * WEIGHTS[int(row.sum() * 3)]
        except (IndexError, ValueError):
            if row[0] > 0:
                break
            total = total - 1
        else:
            total = total * 0.5
        total = total + 0.1
    return total


def out_of_a_loop(x: Tensor) -> Tensor:
    seen = 0
    try:
        for row in x:
            seen += 1
            if row.sum() > 1:
                raise ValueError("large")  # noqa: TRY301
            if row[0] > 0.5:
                raise RuntimeError  # noqa: TRY301
        y = x * 2
    except ValueError:
        y = x + seen
    except Exception:
        return x.mean(0)
    return (y + seen).mean(0)


def collected(x: Tensor) -> Tensor:
    rows = []
    for row in x:
        try:
            rows.append(row * WEIGHTS[int(row.sum() * 3)])
        except IndexError:
            rows.append(-row)
    return torch.stack(rows).sum(0)


def _checked(row: Tensor) -> Tensor:
    if row.sum() > 0.5:
        raise ValueError
    return row * 2


def caught_by_another(x: Tensor) -> Tensor:
    total = x[0] * 0
    for row in x:
        total = total + _either(row)
    return total


def _either(row: Tensor) -> Tensor:
    try:
        return _checked(row)
    except ValueError:
        return row


@pytest.mark.parametrize("forward", [by_rows, out_of_a_loop, collected])
def test_as_many_rows_as_there_are(forward: Callable[[Tensor], Tensor], tmp_path: Path) -> None:
    path, model = tmp_path / "m.onnx", Model(forward)
    torch.manual_seed(0)
    onnxpert.export(model, (torch.randn(4, 3),), path, dynamic_shapes=({0: "rows"},))
    session = onnxruntime.InferenceSession(path)
    for rows in (1, 2, 3, 5, 8):
        for scale in (0.1, 0.5, 1, 2):
            x = torch.randn(rows, 3) * scale
            (got,) = session.run(None, {"x": x.numpy()})
            torch.testing.assert_close(torch.tensor(got), model(x))


def test_what_a_function_raises_and_its_caller_catches_is_not_left_out(tmp_path: Path) -> None:
    x = torch.randn(40, 3)
    with pytest.raises(onnxpert.ExportError):
        onnxpert.export(
            Model(caught_by_another), (x,), tmp_path / "m.onnx", dynamic_shapes=({0: "rows"},)
        )


class Caught(torch.nn.Module):
    """Where the error is caught, Python takes a number out of the data: that is none of the errors
    which the model raises, so the side is in the file."""

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        total, count = x.sum().item(), 0
        if t[2] == 1:
            try:
                if t[0] > t[1]:
                    raise ValueError  # noqa: TRY301
                x = x * 2
            except ValueError:
                count += int(x.mean(0).argmax())
        else:
            total = max(total, 0.75)
        return x + count + total


def test_a_number_taken_where_an_error_is_caught(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, model = tmp_path / "m.onnx", Caught()
    onnxpert.export(model, (torch.randn(4, 3), torch.tensor([1, 0, 2])), path)
    session = onnxruntime.InferenceSession(path)
    for flags in ((1, 0, 2), (2, 1, 1), (-1, -3, 1), (1, 2, 1)):
        x, t = torch.randn(4, 3), torch.tensor(flags)
        (got,) = session.run(None, {"x": x.numpy(), "t": t.numpy()})
        torch.testing.assert_close(torch.tensor(got), model(x, t))


def multiplied(x: Tensor, mask: Tensor | None = None) -> Tensor:
    try:
        return x * mask  # type: ignore[operator]
    except TypeError:
        return x * 0.5


def joined(x: Tensor) -> Tensor:
    try:
        return "rows: " + x  # type: ignore[no-any-return, operator]
    except TypeError:
        return x + 2


def asked_for_more(x: Tensor) -> Tensor:
    try:
        return x.mask  # type: ignore[attr-defined, no-any-return]
    except AttributeError:
        return x * 3


@pytest.mark.parametrize("forward", [multiplied, joined, asked_for_more])
def test_an_error_about_the_type_of_an_operand_is_caught_as_ever(
    forward: Callable[[Tensor], Tensor], tmp_path: Path
) -> None:
    path, dynamic = tmp_path / "m.onnx", ({0: "rows"},)
    onnxpert.export(Model(forward), (torch.randn(2, 3),), path, dynamic_shapes=dynamic)
    session = onnxruntime.InferenceSession(path)
    for rows in (1, 2, 5):
        x = torch.randn(rows, 3)
        (got,) = session.run(None, {"x": x.numpy()})
        torch.testing.assert_close(torch.tensor(got), forward(x))
