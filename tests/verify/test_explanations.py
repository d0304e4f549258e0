"""Why a row fails is asked of the model as long as the answer counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from onnx import helper
from torch import nn

from onnxpert import targets
from onnxpert.core.types import Answer, Verdict
from onnxpert.verify import allowance, explanations, proof, verify
from onnxpert.verify.reference import Reference

ORT = targets.find("ort-cpu")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shape of what the model was run on, each time."""
    found: list[str] = []
    whole = Reference._outputs

    def counted(self: Any, leaves: Sequence[Any], *rest: Any) -> Any:
        kind = type(rest[1]).__name__ if len(rest) > 1 else "plain"
        found.append(f"{kind} {list(leaves[0].shape)}")
        return whole(self, leaves, *rest)

    monkeypatch.setattr(Reference, "_outputs", counted)
    return found


@pytest.fixture
def doubled(write: Any) -> Path:
    """A file that gives `x + x`."""
    dims = {"x": (torch.float32, ["batch", 4])}
    path = write([helper.make_node("Add", ["x", "x"], ["y"])], dims, {"y": dims["x"]})
    assert isinstance(path, Path)
    return path


class Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


class Thrice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 3 * x


def test_an_answer_that_was_seen_saves_a_run(load: Any, calls: list[str]) -> None:
    x = torch.randn(2, 4)
    loaded = load(Twice(), x=x)
    with Reference(loaded, 0) as reference:
        before = reference.examine((x,))
        assert len(calls) == 2
        after = reference.examine((x,), Answer((2 * x,), frozenset({torch.float32})))
        assert len(calls) == 3
        wrong = reference.examine((x,), Answer((3 * x,), frozenset({torch.float32})))
        assert len(calls) == 5
    for one in (before, after, wrong):
        assert (one.nondeterministic, one.stateful, one.computed_in) == (False, False, "float32")


def test_one_failure_without_a_reason_is_enough_where_time_is_out(
    load: Any, doubled: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(Thrice(), x=torch.randn(2, 4))
    monkeypatch.setattr(allowance, "SECONDS", -1.0)
    verified = verify(loaded, doubled, ORT)
    assert {row.verdict for row in verified.rows} == {Verdict.FAIL}
    assert "Settling [2, 4]" in calls
    assert {"plain [3, 4]", "plain [1, 4]"} <= set(calls)
    assert not {"Settling [3, 4]", "Settling [1, 4]"} & set(calls)


def test_every_failure_is_looked_into_while_there_is_time(
    load: Any, doubled: Path, calls: list[str]
) -> None:
    verify(load(Thrice(), x=torch.randn(2, 4)), doubled, ORT)
    assert {"Settling [2, 4]", "Settling [3, 4]", "Settling [1, 4]"} <= set(calls)


def test_what_is_left_out_is_told(load: Any, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "SECONDS", -1.0)
    dims = {"x": (torch.float32, ["batch", "length"])}
    path = write([helper.make_node("Add", ["x", "x"], ["y"])], dims, {"y": dims["x"]})
    verified = verify(load(Twice(), x=torch.randn(2, 4)), path, ORT)
    assert verified.proven
    passed = [row.case for row in verified.rows if row.verdict is Verdict.PASS]
    assert passed == ["example", "batch=3, length=5", "other values", "batch=1, length=1"]
    left = [row for row in verified.rows if row.verdict is Verdict.SKIPPED]
    assert [row.case for row in left] == ["batch=1", "length=1", "batch=3", "length=5"]
    assert all(row.detail == "one run of the model takes 0.0 s" for row in left)


class Cut(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x[:2]


def test_a_shape_that_the_sizes_decide_has_no_excuse(
    load: Any, doubled: Path, calls: list[str]
) -> None:
    verified = verify(load(Cut(), x=torch.randn(2, 4)), doubled, ORT)
    assert [row.case for row in verified.rows if row.verdict is Verdict.FAIL] == [
        "batch=3",
        "batch=7",
    ]
    assert not any(call.startswith(("Settling", "Tremor", "Jolts")) for call in calls)


class Bent(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x if len(x) == 2 else 3 * x


def test_a_failure_that_leads_to_another_file_is_looked_into_once(
    load: Any, doubled: Path, calls: list[str]
) -> None:
    loaded = load(Bent(), x=torch.randn(2, 4))
    verified = verify(loaded, doubled, ORT, provisional=True)
    failed = [row.case for row in verified.rows if row.verdict is Verdict.FAIL]
    assert failed == ["batch=3", "batch=1", "batch=7"]
    assert "Settling [3, 4]" in calls
    assert not {"Settling [1, 4]", "Tremor [1, 4]"} & set(calls)


@pytest.mark.parametrize(("is_replaced", "is_slow"), [(True, True), (True, False), (False, True)])
def test_a_failure_that_leads_to_another_file_is_enough_elsewhere_of_a_slow_model(
    load: Any, doubled: Path, monkeypatch: pytest.MonkeyPatch, is_replaced: bool, is_slow: bool
) -> None:
    """What else is wrong is found in the same turn where that takes less than another one."""
    monkeypatch.setattr(proof, "_LONG_SECONDS", -1.0 if is_slow else 1e6)
    loaded = load(Bent(), x=torch.randn(2, 4))
    verified = verify(loaded, doubled, ORT, sizes=[{"batch": 5}], replaced_at=lambda _: is_replaced)
    cases = [row.case for row in verified.rows]
    assert {"batch=5", "batch=3", "batch=1"} <= set(cases)
    assert ("batch=7" in cases) is not (is_replaced and is_slow)  # all sizes larger at once


def test_a_failure_is_not_explained_where_another_file_is_found_sooner(
    load: Any, doubled: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(Bent(), x=torch.randn(2, 4))

    def asked() -> set[str]:
        calls.clear()
        verify(loaded, doubled, ORT, sizes=[{"batch": 5}], replaced_at=lambda at: at["batch"] == 5)
        return set(calls)

    assert {"Settling [5, 4]", "Settling [3, 4]"} <= asked()
    monkeypatch.setattr(explanations, "_LONG_SECONDS", -1.0)
    assert "Settling [3, 4]" in asked()
    assert "Settling [5, 4]" not in asked()


class Whole(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.floor(torch.round(x))


def test_what_last_digits_decide_is_explained_however_slow_the_model(
    load: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file would decide by the same digits."""
    monkeypatch.setattr(explanations, "_LONG_SECONDS", -1.0)
    nodes = [
        helper.make_node("Round", ["x"], ["whole"]),
        helper.make_node("Mul", ["whole", "nearly_one"], ["less"]),
        helper.make_node("Floor", ["less"], ["y"]),
    ]
    dims = {"x": (torch.float32, ["batch", 4])}
    weights = {"nearly_one": torch.tensor(1 - 2**-23)}
    path = write(nodes, dims, {"y": dims["x"]}, weights=weights)
    loaded = load(Whole(), x=torch.rand(2, 4) + 3)
    verified = verify(loaded, path, ORT, sizes=[{"batch": 5}], replaced_at=lambda _: True)
    (row,) = [row for row in verified.rows if row.case == "batch=5"]
    assert row.verdict is Verdict.PASS
    assert row.choices


def test_whether_a_model_rounds_is_asked_of_the_example(
    load: Any, doubled: Path, calls: list[str]
) -> None:
    verify(load(Bent(), x=torch.randn(2, 4)), doubled, ORT)
    assert [call for call in calls if call.startswith("Jolts")] == ["Jolts [2, 4]"]


@pytest.mark.parametrize("provisional", [False, True])
def test_how_far_the_model_moves_by_itself_is_not_asked_of_a_file_that_goes(
    load: Any, write: Any, calls: list[str], provisional: bool
) -> None:
    class Bent(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x > 0).float() if len(x) == 2 else x

    dims = {"x": (torch.float32, ["batch", 4])}
    nodes = [
        helper.make_node("Mul", ["x", "one"], ["same"]),
        helper.make_node("Greater", ["same", "zero"], ["above"]),
        helper.make_node("Cast", ["above"], ["y"], to=1),
    ]
    numbers = {"one": torch.tensor(1.0), "zero": torch.tensor(0.0)}
    path = write(nodes, dims, {"y": dims["x"]}, weights=numbers)
    verify(load(Bent(), x=torch.randn(2, 4)), path, ORT, provisional=provisional)
    assert ("Witness [3, 4]" in calls) is not provisional


def test_what_is_wrong_and_slow_is_not_run_at_more_sizes(
    load: Any, doubled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "_LONG_SECONDS", -1.0)
    loaded = load(Bent(), x=torch.randn(2, 4))
    for provisional, failed in ((True, ["batch=3"]), (False, ["batch=3", "batch=1", "batch=7"])):
        verified = verify(loaded, doubled, ORT, provisional=provisional)
        assert [row.case for row in verified.rows if row.verdict is Verdict.FAIL] == failed
    asked = verify(loaded, doubled, ORT, sizes=[{"batch": 5}, {"batch": 9}], provisional=True)
    assert [row.case for row in asked.rows if row.verdict is Verdict.FAIL] == ["batch=5", "batch=9"]


class Apart(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return x + mask if len(x) == len(mask) else x - mask


def test_what_fails_where_two_sizes_differ_is_not_run_at_more_sizes(
    load: Any, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "_LONG_SECONDS", -1.0)
    dims = {"x": (torch.float32, ["batch", 4]), "mask": (torch.float32, ["rows", 4])}
    path = write([helper.make_node("Add", ["x", "mask"], ["y"])], dims, {"y": dims["x"]})
    loaded = load(Apart(), x=torch.randn(2, 4), mask=torch.ones(2, 4))
    for alike, more in (((), True), ((("batch", "rows"),), False)):
        sizes = [{"rows": 1}, {"batch": 3, "rows": 3}]
        verified = verify(loaded, path, ORT, sizes=sizes, alike=alike)
        assert verified.rows[1].verdict is Verdict.FAIL
        assert (len(verified.rows) > 2) is more


class Steep(nn.Module):
    """Plain for small numbers; of larger ones only the last digits are left."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        part = x / 7
        return torch.where(x.abs() <= 1, part, (part * 1e8).sin())


@pytest.fixture
def steep(write: Any) -> Path:
    """The same with a product for the quotient."""
    node = helper.make_node
    dims = {"x": (torch.float32, ["batch", 4])}
    nodes = [
        node("Mul", ["x", "seventh"], ["part"]),
        node("Mul", ["part", "many"], ["large"]),
        node("Sin", ["large"], ["digits"]),
        node("Abs", ["x"], ["size"]),
        node("LessOrEqual", ["size", "one"], ["small"]),
        node("Where", ["small", "part", "digits"], ["y"]),
    ]
    numbers = {"seventh": 1 / 7, "many": 1e8, "one": 1.0}
    weights = {name: torch.tensor(number) for name, number in numbers.items()}
    path = write(nodes, dims, {"y": dims["x"]}, weights=weights)
    assert isinstance(path, Path)
    return path


def test_a_model_that_its_last_digits_decide_is_not_proven(load: Any, steep: Path) -> None:
    wild = 10 * torch.rand(2, 4, generator=torch.Generator().manual_seed(0))
    verified = verify(load(Steep(), x=wild), steep, ORT)
    assert not verified.proven
    assert verified.rows[0].verdict is Verdict.FAIL
    assert verified.sway is not None


class Picked(nn.Module):
    """As many as the last digits say."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[(x / 7 * 1e8).sin() > 0]


def test_last_digits_that_decide_how_many_there_are(load: Any, write: Any) -> None:
    node = helper.make_node
    nodes = [
        node("Mul", ["x", "seventh"], ["part"]),
        node("Mul", ["part", "many"], ["large"]),
        node("Sin", ["large"], ["digits"]),
        node("Greater", ["digits", "nothing"], ["taken"]),
        node("Compress", ["x", "taken"], ["y"]),
    ]
    numbers = {"seventh": 1 / 7, "many": 1e8, "nothing": 0.0}
    weights = {name: torch.tensor(number) for name, number in numbers.items()}
    dims = {"x": (torch.float32, [64])}
    path = write(nodes, dims, {"y": (torch.float32, ["taken"])}, weights=weights)
    x = 10 * torch.rand(64, generator=torch.Generator().manual_seed(0))
    verified = verify(load(Picked(), x=x), path, ORT)
    assert not verified.proven
    assert verified.sway == math.inf


@pytest.mark.parametrize(
    ("file", "drawn", "decide"),
    [
        (25, (26, 24, 26), True),  # every time
        (24, (25, 26, 25), True),
        (23, (25, 26, 25), True),
        (0, (25, 26, 25), False),  # far more than the model itself
        (24, (25, 25, 25), False),
        (25, (25, 26, 25), False),  # as many as the model: its values tell
        (24, (), False),
    ],
)
def test_a_number_of_elements_is_off_no_more_than_last_digits_move_it(
    file: int, drawn: tuple[int, ...], decide: bool
) -> None:
    sizes = [torch.zeros(size) for size in drawn]
    assert explanations._sways_in_size(torch.zeros(25), torch.zeros(file), sizes) is decide
