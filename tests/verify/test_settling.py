"""What torch leaves open: the file may choose where that is allowed, and all else must be equal."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxpert
from onnxpert.core.types import Choice, Severity
from onnxpert.verify.settling import Settling


class Axes(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        vectors = torch.linalg.eigh(x @ x.mT).eigenvectors
        return vectors, vectors.cumsum(-1)


class Parts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.linalg.svd(x, full_matrices=False)


class Best(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best = torch.topk(x.relu(), 3).indices
        return best, x.gather(0, best)


def _random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(0))


CASES = [
    (Axes(), _random(3, 5, 4), "NUM706"),
    (Parts(), _random(2, 5, 3), "NUM706"),
    (Parts(), _random(2, 3, 5), "NUM706"),
    (Best(), -torch.arange(20.0), "NUM707"),
]


@pytest.mark.parametrize(("model", "given", "rule"), CASES)
def test_a_choice_of_the_file_is_refused_until_allowed(
    model: torch.nn.Module, given: torch.Tensor, rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(model.eval(), (given,), path)
    assert [each.rule for each in caught.value.report.findings if each.blocks] == [rule]
    assert not path.exists()
    report = onnxpert.export(model.eval(), (given,), path, undetermined="allow")
    assert rule in [each.rule for each in report.findings]
    assert path.exists()


def test_an_order_of_equals_is_proven_with_a_warning_at_its_line(tmp_path: Path) -> None:
    given = -torch.arange(20.0)
    assert Best()(given)[0].tolist() != [0, 1, 2]  # torch's own choice is another
    report = onnxpert.export(Best().eval(), (given,), tmp_path / "m.onnx", undetermined="allow")
    (found,) = [each for each in report.findings if each.rule == "NUM707"]
    assert found.severity is Severity.WARNING
    assert found.location is not None
    assert "torch.topk(x.relu(), 3)" in found.location.code
    assert all(Choice.ORDER in row.choices for row in report.verified if row.case == "example")


class Full(torch.nn.Module):
    """Scores that single precision cannot tell apart, for their sigmoids are full."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        best = torch.topk(x.sigmoid(), 3).indices
        return 2 * x[best]


def test_equals_that_rounding_makes_are_a_warning_as_nearly_equal_ones_are(tmp_path: Path) -> None:
    given = torch.linspace(20, 30, 20)
    assert not Full()(given).equal(2 * given[:3])  # torch's own choice is another
    report = onnxpert.export(Full().eval(), (given,), tmp_path / "m.onnx")
    (found,) = [each for each in report.findings if each.rule == "NUM707"]
    assert found.severity is Severity.WARNING
    assert any("in double precision" in note for note in found.notes)
    assert found.location is not None
    assert "torch.topk" in found.location.code


def test_what_follows_from_equals_that_rounding_makes_must_be_right(tmp_path: Path) -> None:
    class Thrice(Full):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 1.5 * super().forward(x)

    given = torch.linspace(20, 30, 20)
    onnxpert.export(Thrice().eval(), (given,), tmp_path / "m.onnx")
    report = onnxpert.verify(tmp_path / "m.onnx", Full().eval(), (given,))
    assert [each.rule for each in report.findings if each.blocks] == ["NUM708"]


def test_equals_of_the_users_own_are_refused_and_no_rounding_is_blamed(tmp_path: Path) -> None:
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(Best().eval(), (-torch.arange(20.0),), tmp_path / "m.onnx")
    (found,) = [each for each in caught.value.report.findings if each.blocks]
    assert found.rule == "NUM707"
    assert not found.notes
    assert found.location is not None
    assert "torch.topk" in found.location.code


def test_the_line_of_a_library_is_named_rather_than_who_exports(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "lib.py"
    library.parent.mkdir()
    library.write_text("def best(self, x):\n    return x.relu().topk(3).indices\n")
    spec = importlib.util.spec_from_file_location("lib", library)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    model = type("Library", (torch.nn.Module,), {"forward": made.best})()
    given = -torch.arange(20.0)
    report = onnxpert.export(model.eval(), (given,), tmp_path / "m.onnx", undetermined="allow")
    (found,) = [each for each in report.findings if each.rule == "NUM707"]
    assert found.location is not None
    assert (Path(found.location.file).name, found.location.line) == ("lib.py", 2)


class Scored(torch.nn.Module):
    """Rows of a map that is the same almost everywhere, as a model gives that is not trained yet."""

    def __init__(self, take: int = 0, scale: float = 1.0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.conv = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.score = torch.nn.Linear(16, 2)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
        self.take, self.scale = take, scale

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.conv(x).flatten(2).mT
        best = self.score(rows).amax(-1).topk(10, 1).indices
        places = torch.arange(rows.shape[1], dtype=x.dtype)
        return (best + self.take) % rows.shape[1], self.scale * places[best]


def test_what_follows_from_nearly_equal_scores_is_proven(tmp_path: Path) -> None:
    given = torch.ones(2, 3, 9, 9)
    path = tmp_path / "m.onnx"
    report = onnxpert.export(Scored().eval(), (given,), path, undetermined="allow")
    assert not [each for each in report.findings if each.blocks]
    assert [each.rule for each in report.findings if each.severity is Severity.WARNING] == [
        "NUM707"
    ]


@pytest.mark.parametrize("wrong", [Scored(take=1), Scored(scale=1.01)])
def test_a_wrong_place_or_scale_behind_equal_scores_is_refused(
    wrong: torch.nn.Module, tmp_path: Path
) -> None:
    given = torch.ones(2, 3, 9, 9)
    path = tmp_path / "m.onnx"
    onnxpert.export(wrong.eval(), (given,), path, undetermined="allow")
    report = onnxpert.verify(path, Scored().eval(), (given,))
    assert [each.rule for each in report.findings if each.blocks] == ["NUM701"]


def test_allowing_a_choice_allows_nothing_else(tmp_path: Path) -> None:
    class Whole(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.linalg.svd(x)  # the columns that no singular value belongs to are free

    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(Whole().eval(), (_random(6, 3),), tmp_path / "m.onnx", undetermined="allow")
    assert "NUM701" in {each.rule for each in caught.value.report.findings}


def test_equals_that_only_the_proof_has_made_up_are_no_error(tmp_path: Path) -> None:
    report = onnxpert.export(
        Best().eval(), (torch.arange(20.0) - 16.5,), tmp_path / "m.onnx", dynamic_shapes="auto"
    )
    assert not [each for each in report.findings if each.blocks]


def test_signs_do_not_hang_on_the_last_digit() -> None:
    matrix = torch.tensor([[2.0, 1.0], [1.0, 2.0]])  # both vectors have elements of one size
    with Settling() as settling:
        vectors = torch.linalg.eigh(matrix).eigenvectors
    assert (vectors[0] > 0).all()
    assert settling.made == {Choice.SIGN}


@pytest.mark.parametrize(
    "choose",
    [
        lambda x: torch.topk(x, 4).indices,
        lambda x: torch.sort(x, descending=True).indices[:4],
        lambda x: torch.kthvalue(x, 1).indices,
        lambda x: torch.median(x, 0).indices - (x.shape[0] - 1) // 2,
    ],
)
def test_equals_are_named_in_their_order(choose: Any) -> None:
    with Settling():
        named = choose(torch.zeros(33))
    assert named.tolist() == ([0, 1, 2, 3] if named.dim() else 0)


def test_the_last_of_the_commonest_is_named() -> None:
    with Settling():
        assert torch.mode(torch.tensor([1, 2, 2, 1, 2, 0])).indices.item() == 4
        assert torch.mode(torch.tensor([[1, 1], [0, 0]]), 1, keepdim=True).indices.tolist() == [
            [1],
            [1],
        ]
