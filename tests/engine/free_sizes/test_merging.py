"""Two dimensions that have a name each and are of one length in the example."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor

import onnxpert

R = torch.randn
APART = ({0: "a"}, {0: "b"})


class Product(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y


class Doubled(torch.nn.Module):
    """At b = 1 another side of the branch, which the file of one size would not have."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if y.shape[0] != x.shape[0]:
            y = y.expand(x.shape[0], -1) * 2
        return x * y


class Expanded(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y.expand_as(x) + torch.broadcast_to(y, x.shape)


class Repeated(torch.nn.Module):
    """Only one row and as many rows as there are of the other: to a trace one row is none of these."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        if y.shape[0] == 1:
            y = y.repeat(x.shape[0], 1) - 1
        return torch.cat([x, y], 1) + torch.stack([x, y]).sum()


class Joined(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, y], 1)


class Multiplied(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ y.mT


@pytest.mark.parametrize("rows", [3, 1])
@pytest.mark.parametrize("kind", [Product, Doubled, Expanded])
def test_one_that_may_be_1_stays_a_size_of_its_own(
    kind: type[torch.nn.Module], rows: int, tmp_path: Path
) -> None:
    model, file = kind().eval(), tmp_path / "m.onnx"
    report = onnxpert.export(model, (R(3, 4), R(rows, 4)), file, dynamic_shapes=APART)
    assert not {"SHP204", "SHP207"} & {finding.rule for finding in report.findings}
    session = onnxruntime.InferenceSession(file)
    names = [each.name for each in session.get_inputs()]
    assert [each.shape[0] for each in session.get_inputs()] == ["a", "b"]
    for long, short in ((3, 3), (5, 1), (1, 1), (7, 7)):
        given = (R(long, 4), R(short, 4))
        (got,) = session.run(
            None, {name: each.numpy() for name, each in zip(names, given, strict=True)}
        )
        torch.testing.assert_close(torch.from_numpy(got), model(*given))


def test_one_row_of_an_example_is_shown_as_many(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    report = onnxpert.export(Repeated(), (R(4, 3), R(1, 3)), file, dynamic_shapes=APART)
    assert not any(found.severity is onnxpert.Severity.WARNING for found in report.findings)
    session = onnxruntime.InferenceSession(file)
    for long, short in ((4, 4), (5, 1), (1, 1), (7, 7)):
        x, y = R(long, 3), R(short, 3)
        (got,) = session.run(None, {"x": x.numpy(), "y": y.numpy()})
        torch.testing.assert_close(torch.from_numpy(got), Repeated()(x, y))


def test_those_that_the_model_needs_to_be_equal_are_told() -> None:
    report = onnxpert.diagnose(Joined().eval(), (R(3, 4), R(3, 4)), dynamic_shapes=APART)
    (found,) = [finding for finding in report.findings if finding.rule == "SHP207"]
    assert found.severity is onnxpert.Severity.INFO
    assert found.message == "a and b have to be equal and are both named a in the file"
    assert "Sizes of tensors must match" in found.notes[0]


def test_one_that_the_file_does_not_take_to_be_1_is_a_warning() -> None:
    given = (R(3, 4, 4), R(3, 4, 4))
    report = onnxpert.diagnose(Multiplied().eval(), given, dynamic_shapes=APART)
    (found,) = [finding for finding in report.findings if finding.rule == "SHP207"]
    assert found.severity is onnxpert.Severity.WARNING
    assert "the model runs at a=3, b=1 too" in found.message
    assert report.ok


class Compared(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        total = x + y
        return total * 2 if y.shape[0] == x.shape[0] else total


class Masked(torch.nn.Module):
    """One row fits here as well, and the file takes it as the model does."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return (x * mask).sum(-1)


@pytest.mark.parametrize("kind", [Doubled, Compared])
def test_offered_sizes_are_not_made_one_where_the_file_would_be_wrong(
    kind: type[torch.nn.Module], tmp_path: Path
) -> None:
    model, file = kind().eval(), tmp_path / "m.onnx"
    report = onnxpert.export(model, (R(4, 3), R(4, 3)), file, dynamic_shapes="auto")
    assert not {"SHP204", "SHP207"} & {finding.rule for finding in report.findings}
    session = onnxruntime.InferenceSession(file)
    names = [each.name for each in session.get_inputs()]
    one, other = (each.shape[0] for each in session.get_inputs())
    assert one != other
    for long, short in ((4, 4), (5, 1), (1, 1), (7, 7)):
        given = (R(long, 3), R(short, 3))
        (got,) = session.run(
            None, {name: each.numpy() for name, each in zip(names, given, strict=True)}
        )
        torch.testing.assert_close(torch.from_numpy(got), model(*given))


def test_offered_sizes_stay_one_where_one_row_is_no_other_case(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    onnxpert.export(Masked(), (R(4, 3), R(4, 3)), file, dynamic_shapes="auto")
    one, other = (each.shape for each in onnxruntime.InferenceSession(file).get_inputs())
    assert one == other


class BehindAnother(torch.nn.Module):
    """A branch on other sizes comes first, and no two sizes become one."""

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
        count = torch.zeros(())
        if z.shape[0] < x.shape[0]:
            count = count + 1
        if y.shape[0] != x.shape[0]:
            y = y.expand(x.shape[0], -1) * 2
        return x, y, z, count


class ComparedElsewhere(torch.nn.Module):
    """What the size is compared with has to be smaller for the difference to show."""

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        count = torch.zeros(())
        x = x.masked_fill(y > 0.5, 0.0)
        if z.shape[0] < x.shape[0]:
            count = count + 1
        return x, count


@pytest.mark.parametrize("shapes", ["auto", ({0: "a"}, {0: "b"}, {0: "c"})])
@pytest.mark.parametrize("kind", [BehindAnother, ComparedElsewhere])
def test_each_of_two_sizes_is_1_in_the_proof(
    kind: type[torch.nn.Module], shapes: object, tmp_path: Path
) -> None:
    file = tmp_path / "m.onnx"
    onnxpert.export(kind(), (R(4, 3), R(4, 3), R(4, 3)), file, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(file)
    wide = ((1, 5, 2), (1, 5, 1)) if kind is ComparedElsewhere else ()
    for rows in ((4, 4, 4), (5, 1, 2), (2, 1, 5), (1, 1, 3), *wide):
        x, y, z = (R(count, 3) for count in rows)
        got = session.run(None, {"x": x.numpy(), "y": y.numpy(), "z": z.numpy()})
        for one, want in zip(got, kind()(x, y, z), strict=True):
            torch.testing.assert_close(torch.tensor(one), want)
