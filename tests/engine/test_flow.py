"""Loops that turn as often as data say, branches within loops, sizes and numbers as indices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxpert
from onnxpert.core.errors import ExportError

Forward = Callable[..., Any]


def module(forward: Forward) -> nn.Module:
    return type(forward.__name__, (nn.Module,), {"forward": forward})().eval()  # type: ignore[no-any-return]


def check(model: nn.Module, path: Path, *inputs: tuple[Any, ...]) -> None:
    """The file gives what the model gives, for every one of these inputs."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for values in inputs:
        expected = model(*[v.clone() if isinstance(v, torch.Tensor) else v for v in values])
        feeds = {
            given.name: value.numpy() if isinstance(value, torch.Tensor) else np.array(value)
            for given, value in zip(session.get_inputs(), values, strict=True)
        }
        found = session.run(None, feeds)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        assert len(found) == len(wanted)
        for ours, theirs in zip(found, wanted, strict=True):
            torch.testing.assert_close(torch.from_numpy(np.asarray(ours)), torch.as_tensor(theirs))


def rows(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


# ---- sizes and numbers as indices ----------------------------------------------------------


def last_and_middle(self: Any, x: torch.Tensor) -> Any:
    n = x.shape[1]
    y = x.clone()
    y[:, n - 1] = 7
    return x[:, n - 1], x[..., n // 2], y[None, 0, n - 1 :]


def by_number(self: Any, x: torch.Tensor, i: int) -> Any:
    return x[:, i]


def test_a_size_picks_an_element(tmp_path: Path) -> None:
    model, path = module(last_and_middle), tmp_path / "m.onnx"
    onnxpert.export(model, (rows(2, 5),), path, dynamic_shapes=({0: "b", 1: "n"},))
    check(model, path, (rows(2, 5),), (rows(3, 1),), (rows(1, 8),))


def test_a_number_picks_an_element(tmp_path: Path) -> None:
    model, path = module(by_number), tmp_path / "m.onnx"
    shapes = ({0: "b"}, Dim.DYNAMIC)
    onnxpert.export(model, (rows(2, 5), 3), path, dynamic_shapes=shapes)
    check(model, path, (rows(2, 5), 3), (rows(3, 5), 0), (rows(1, 5), 4))


# ---- what is empty -------------------------------------------------------------------------


def unless_empty(self: Any, x: torch.Tensor) -> Any:
    if x.numel() == 0:
        return torch.full((1, 4), 9.0)
    return x.amax(0, keepdim=True)


def test_an_empty_input_is_a_side_of_its_own(tmp_path: Path) -> None:
    model, path = module(unless_empty), tmp_path / "m.onnx"
    onnxpert.export(model, (rows(3, 4),), path, dynamic_shapes=({0: "n"},))
    check(model, path, (rows(3, 4),), (rows(1, 4),), (rows(0, 4),))


# ---- loops that turn as often as a number says ---------------------------------------------


def decays(self: Any, x: torch.Tensor, n: int) -> Any:
    for i in range(n):
        x = x * 0.5 + i
    return x


def decays_as_told(self: Any, x: torch.Tensor, n: torch.Tensor) -> Any:
    for i in range(n.item()):
        x = x * 0.5 + i
    return x


def rows_that_count(self: Any, x: torch.Tensor) -> Any:
    h = torch.zeros(3)
    for row in x[x[:, 0] > 0]:
        h = torch.tanh(h + row)
    return h


def negates_long_ones(self: Any, x: torch.Tensor, n: torch.Tensor) -> Any:
    turns = int(n)
    if turns > 3:
        x = -x
    for i in range(turns):
        x = x * 0.5 + i
    return x


def test_turns_from_a_number(tmp_path: Path) -> None:
    model, path = module(decays), tmp_path / "m.onnx"
    shapes = ({0: "b"}, Dim.DYNAMIC)
    onnxpert.export(model, (rows(2, 3), 2), path, dynamic_shapes=shapes)
    check(model, path, *((rows(2, 3), turns) for turns in (2, 0, 1, 7)))


def test_turns_from_a_tensor(tmp_path: Path) -> None:
    model, path = module(decays_as_told), tmp_path / "m.onnx"
    onnxpert.export(model, (rows(2, 3), torch.tensor(2)), path, dynamic_shapes=({0: "b"}, None))
    check(model, path, *((rows(2, 3), torch.tensor(turns)) for turns in (2, 0, 1, 7)))


def test_turns_from_a_count_of_rows(tmp_path: Path) -> None:
    model, path = module(rows_that_count), tmp_path / "m.onnx"
    onnxpert.export(model, (rows(6, 3),), path, dynamic_shapes=({0: "n"},))
    check(model, path, (rows(6, 3),), (-rows(4, 3).abs(),), (rows(9, 3).abs(),))


def test_a_branch_on_the_number_of_turns_is_not_frozen(tmp_path: Path) -> None:
    model, path = module(negates_long_ones), tmp_path / "m.onnx"
    onnxpert.export(model, (rows(2, 3), torch.tensor(6)), path)
    check(model, path, *((rows(2, 3), torch.tensor(turns)) for turns in (6, 0, 3, 4, 9)))


# ---- branches within loops -----------------------------------------------------------------


def adds_or_halves(self: Any, x: torch.Tensor) -> Any:
    total = torch.zeros(3)
    for t in range(x.shape[0]):
        if x[t].sum() > 0:  # noqa: SIM108 - as people write it
            total = total + x[t]
        else:
            total = total * 0.5
    return total


def stops_at_six(self: Any, x: torch.Tensor) -> Any:
    total = torch.zeros(())
    for t in range(x.shape[0]):
        total = total + x[t].abs().sum()
        if total > 6:
            break
    return total


def first_large_row(self: Any, x: torch.Tensor) -> Any:
    for t in range(x.shape[0]):
        if x[t].sum() > 2:
            return x[t]
    return torch.zeros(3)


@pytest.mark.parametrize("forward", [adds_or_halves, stops_at_six, first_large_row])
def test_a_loop_whose_turns_branch(forward: Forward, tmp_path: Path) -> None:
    model, path = module(forward), tmp_path / "m.onnx"
    onnxpert.export(model, (rows(5, 3),), path, dynamic_shapes=({0: "n"},))
    check(model, path, (rows(5, 3),), (rows(1, 3),), (rows(9, 3) * 3,), (-rows(4, 3).abs(),))


# ---- scans ---------------------------------------------------------------------------------


def running_state(self: Any, a: torch.Tensor, u: torch.Tensor) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return associative_scan(combine, (a, u), 0, combine_mode="generic")[1]


def test_an_associative_scan_over_a_dynamic_size(tmp_path: Path) -> None:
    model, path = module(running_state), tmp_path / "m.onnx"
    args, shapes = (rows(5, 3), rows(5, 3)), ({0: "n"}, {0: "n"})
    onnxpert.export(model, args, path, dynamic_shapes=shapes)
    check(model, path, args, (rows(9, 3), rows(9, 3)), (rows(1, 3), rows(1, 3)))


def running_rows(self: Any, a: torch.Tensor, u: torch.Tensor) -> Any:
    from torch._higher_order_ops.associative_scan import associative_scan

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    return associative_scan(combine, (a, u), 1, combine_mode="generic")[1]


def test_an_associative_scan_of_no_turns_knows_the_other_size(tmp_path: Path) -> None:
    model, path = module(running_rows), tmp_path / "m.onnx"
    given = [tuple(torch.rand(b, n, 3) for _ in range(2)) for b, n in ((2, 5), (4, 1), (1, 9))]
    shapes = ({0: "b", 1: "n"}, {0: "b", 1: "n"})
    onnxpert.export(model, given[0], path, dynamic_shapes=shapes)
    check(model, path, *given)


# ---- numbers among the dynamic shapes ------------------------------------------------------


def scales(self: Any, x: torch.Tensor, factor: float) -> Any:
    return x * factor


def adds_up(self: Any, x: torch.Tensor, n: int) -> Any:
    return x * sum([0.5, 0.25, 3.0, 0.1, 7.0, 2.0, 0.3, 5.0, 0.7][::n])


def test_a_float_may_be_asked_to_vary(tmp_path: Path) -> None:
    shapes = ({0: "b"}, Dim.DYNAMIC)
    report = onnxpert.export(
        module(scales), (rows(2, 3), 0.5), tmp_path / "m.onnx", dynamic_shapes=shapes
    )
    session = onnxruntime.InferenceSession(report.path, providers=["CPUExecutionProvider"])
    assert [given.name for given in session.get_inputs()] == ["x", "factor"]


def test_a_number_that_the_model_fixes_is_said(tmp_path: Path) -> None:
    shapes = ({0: "b"}, Dim.DYNAMIC)
    with pytest.raises(ExportError) as caught:
        onnxpert.export(
            module(adds_up), (rows(2, 3), 2), tmp_path / "m.onnx", dynamic_shapes=shapes
        )
    (found,) = [f for f in caught.value.report.findings if f.rule == "SHP201"]
    assert found.message == "the input n was asked to vary, but the model fixes it to 2"
