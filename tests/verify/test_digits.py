"""What the last digits decide is the file's to decide; all else must be equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from onnx import TensorProto, helper

import onnxpert
from onnxpert import targets
from onnxpert.core.types import Choice, Row, Severity, Verdict, Verified, replace
from onnxpert.diagnose import diagnose
from onnxpert.targets.target import Run
from onnxpert.verify.choosing import settlings
from onnxpert.verify.digits import Digits, deciding
from onnxpert.verify.settling import Settling

NEAR = torch.tensor([3.0, 1.0, 3.0000002, 2.0])


def test_what_decides_takes_the_digits_of_the_file() -> None:
    theirs = torch.tensor([[3.0000002, 1.0, 3.0, 2.0]])
    scores = NEAR.clone()
    with Settling(Digits([theirs]), equals=False) as settling:
        best = scores.topk(2).indices
        assert best.tolist() == [0, 2]
        assert scores[best].argmax() == 0  # and so does what reads the same memory
    assert settling.made == {Choice.ROUNDING}


@pytest.mark.parametrize(
    "theirs",
    [
        [3.001, 1.0, 3.0000002, 2.0],  # no rounding away
        [3.0, 1.0, 3.0000002, 2.0],  # the same
        [2.0, 1.1, 3.0, 2.0],  # another value, that happens to be near here and there
    ],
)
def test_values_that_are_no_rounding_away_and_equal_ones_are_left(theirs: list[float]) -> None:
    with Settling(Digits([torch.tensor(theirs)]), equals=False) as settling:
        assert NEAR.clone().topk(2).indices.tolist() == [2, 0]
    assert not settling.made


def test_digits_are_lent_as_far_as_the_model_moves_by_itself() -> None:
    theirs = torch.tensor([3.001, 1.0, 3.0000002, 2.0])
    for moves, first in ((0.0005, 2), (0.0011, 0)):
        with Settling(Digits([theirs], [moves]), equals=False):
            assert NEAR.clone().topk(2).indices[0] == first


def test_no_movement_of_the_model_explains_more_than_an_output_may_be_off() -> None:
    theirs = torch.tensor([3.01, 1.0, 3.0000002, 2.0])
    with Settling(Digits([theirs], [1.0]), equals=False):
        assert NEAR.clone().topk(2).indices[0] == 2


def test_a_part_of_what_decides_takes_the_digits_of_the_whole() -> None:
    theirs = torch.tensor([3.0000002, 1.0, 3.0, 2.0])
    with Settling(Digits([theirs]), equals=False):
        assert NEAR.clone()[torch.tensor([0, 2])].argmax() == 0


class Ranked(torch.nn.Module):
    """Scores that are added up one after the other."""

    def forward(self, x: torch.Tensor, more: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = x
        for step in range(6):
            scores = scores + more[:, step]
        best = scores.topk(2, 0).indices
        return best, x[best]


def _branched(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """The same inside of a branch, whose other side gives zeros."""
    outputs = [
        helper.make_tensor_value_info("inner_best", TensorProto.INT64, [2]),
        helper.make_tensor_value_info("inner_rows", TensorProto.FLOAT, [2]),
    ]
    kept = [helper.make_node("Identity", [name], [f"inner_{name}"]) for name in ("best", "rows")]
    zeros = [
        helper.make_node("Sub", ["k", "k"], ["inner_best"]),
        helper.make_node("Identity", ["none"], ["inner_rows"]),
    ]
    weights = [helper.make_tensor("none", TensorProto.FLOAT, [2], [0.0, 0.0])]
    for node in nodes:
        for index, name in enumerate(node.output):
            node.output[index] = name.replace("best", "best_1").replace("rows", "rows_1")
        for index, name in enumerate(node.input):
            node.input[index] = name.replace("best", "best_1")
    for node in kept:
        node.input[0] += "_1"
    return [
        helper.make_node("ReduceMax", ["x"], ["largest"], keepdims=0),
        helper.make_node("Cast", ["largest"], ["positive"], to=TensorProto.BOOL),
        helper.make_node(
            "If",
            ["positive"],
            ["best", "rows"],
            then_branch=helper.make_graph([*nodes, *kept], "then", [], outputs),
            else_branch=helper.make_graph(zeros, "else", [], outputs, weights),
        ),
    ]


def _file(path: Path, largest: int, *, branched: bool = False) -> Path:
    """The same, but the small ones are added up first."""
    nodes = [
        helper.make_node("ReduceSum", ["more", "one"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["scores"]),
        helper.make_node("TopK", ["scores", "k"], ["values", "best"], axis=0, largest=largest),
        helper.make_node("Gather", ["x", "best"], ["rows"]),
    ]
    graph = helper.make_graph(
        _branched(nodes) if branched else nodes,
        "ranked",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]),
            helper.make_tensor_value_info("more", TensorProto.FLOAT, [4, 6]),
        ],
        [
            helper.make_tensor_value_info("best", TensorProto.INT64, [2]),
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor("one", TensorProto.INT64, [1], [1]),
            helper.make_tensor("k", TensorProto.INT64, [1], [2]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return path


def _given() -> tuple[torch.Tensor, torch.Tensor]:
    """One at a time, the small ones are lost in the first."""
    x = torch.tensor([1.0, 0.2, 1.0000001, 0.5])
    more = torch.zeros(4, 6)
    more[0] = 5e-8
    return x, more


@pytest.mark.parametrize("branched", [False, True])
def test_an_order_by_rounding_is_proven_with_a_warning(tmp_path: Path, branched: bool) -> None:
    model = Ranked().eval()
    assert model(*_given())[0].tolist() == [2, 0]
    report = onnxpert.verify(_file(tmp_path / "m.onnx", 1, branched=branched), model, _given())
    example = [row for row in report.verified if row.case == "example"]
    assert [row.choices for row in example if row.output == "best"] == [(Choice.ROUNDING,)]
    assert not [each for each in report.findings if each.blocks]
    (found,) = [each for each in report.findings if each.rule == "NUM707"]
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("case", "severity"),
    [
        ("example", Severity.WARNING),
        ("example 2", Severity.WARNING),
        ("other values", Severity.INFO),
        ("example, batch=7", Severity.INFO),
    ],
)
def test_values_that_the_proof_made_up_are_no_reason_to_warn(case: str, severity: Severity) -> None:
    row = Row(case, "y", {}, Verdict.PASS, choices=(Choice.ROUNDING,))
    (found,) = diagnose(Verified((row,)))
    assert (found.rule, found.severity) == ("NUM707", severity)


@pytest.mark.parametrize("branched", [False, True])
def test_an_order_by_anything_else_is_not(tmp_path: Path, branched: bool) -> None:
    file = _file(tmp_path / "m.onnx", 0, branched=branched)
    report = onnxpert.verify(file, Ranked().eval(), _given())
    assert [each.rule for each in report.findings if each.blocks] == ["NUM701"]


class Sums(torch.nn.Module):
    """Each sum twice, its parts in either order: rounding decides which of the two is larger."""

    def __init__(self) -> None:
        super().__init__()
        parts = torch.randn(4096, 32, generator=torch.Generator().manual_seed(0))
        self.parts = torch.nn.Buffer(torch.cat([parts, parts.flip(0)], 1))
        self.start = torch.nn.Buffer(100 * parts[:2].flatten())
        self.start[32:] = self.start[:32]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sums = x @ self.parts
        if x.sum() > 0:
            return (sums + self.start).topk(64).indices
        return (sums - self.start).topk(64).indices


def test_what_is_behind_a_branch_has_the_digits_of_the_file(tmp_path: Path) -> None:
    """Beside each other, the product and the sum would be computed as one, with other digits."""
    report = onnxpert.export(Sums().eval(), (torch.ones(1, 4096),), tmp_path / "sums.onnx")
    example = [row for row in report.verified if row.case == "example"]
    assert [Choice.ROUNDING in row.choices for row in example] == [True]


def test_a_file_is_opened_once_for_what_decides_in_it(tmp_path: Path) -> None:
    ort = targets.find("ort-cpu")
    opened: list[Path] = []

    def counted(path: Path) -> Run:
        opened.append(path)
        return ort.open(path)

    values = deciding(_file(tmp_path / "m.onnx", 1), replace(ort, open=counted))
    assert not opened
    x, more = _given()
    for scale in (1, 2):
        (scores,) = values({"x": (scale * x).numpy(), "more": more.numpy()})
        assert torch.equal(scores, scale * x + more.sum(1))
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("likely", "lends"), [((), False), ((Choice.ORDER,), False), ((Choice.ROUNDING,), True)]
)
def test_what_explained_one_case_is_tried_first_at_the_next(
    likely: tuple[Choice, ...], lends: bool
) -> None:
    reference: Any = None
    first = next(settlings(reference, (), lambda _: [NEAR - 1e-6], {}, likely=likely))
    with first:
        NEAR.clone().topk(2)
    assert (Choice.ROUNDING in first.made) is lends
