"""What quantising cost, as every rendering tells it."""

from __future__ import annotations

import math

import pytest

from onnxpert.core.types import Accuracy, Kept, Quantised, QuantisedLayer
from onnxpert.report import Report
from onnxpert.report.quantised import MOST_LAYERS, MOST_ROWS, heading, sheets

EVIL = "<script>alert('&')</script>|*`"


def made(**changes: object) -> Quantised:
    layers = (
        *(QuantisedLayer(f"layers.{at}", "MatMul", at / 1000, at / 500) for at in range(12)),
        QuantisedLayer("head", "MatMul", 0.4, kept=Kept.HURTS),
        QuantisedLayer("rnn", "LSTM", None, kept=Kept.NO_FORM),
        QuantisedLayer("first", "Conv", None, kept=Kept.ASKED),
    )
    rows = (
        Accuracy("batch=3", "y", {"batch": 3}, 1e-7, 0.3, 0.5, 10.0, 0.9, given=False),
        Accuracy("example", "y", {}, 1e-7, 0.02, 0.1, 34.0, 0.999),
        Accuracy("example", "ids", {}, 0.0, 0.05),
        *(Accuracy(f"calibration {at}", "y", {}, 0.0, 0.001) for at in range(9)),
    )
    return Quantised("int8-static", 0.1, layers, rows, 4_000_000, 1_000_000, 9, **changes)  # type: ignore[arg-type]


def test_the_error_is_of_what_the_user_gave() -> None:
    assert made().error == 0.05
    assert math.isinf(Quantised("s", 0.1, (), (Accuracy("a", "y", {}, 0.0, math.nan),)).error)
    assert Quantised("s", 0.1, ()).error == 0


def test_the_heading_has_sizes_and_error() -> None:
    said = heading(made())
    assert said == "int8-static: 4.0 MB -> 1.0 MB (25%), error 5.00% of 10.00% allowed"
    assert heading(made(problem="no kernel")).endswith("no kernel")
    assert heading(Quantised("int4-weight", 0.1, ())) == "int4-weight: no layer was turned"


def test_the_worst_come_first_and_the_rest_is_counted() -> None:
    accuracy, layers = sheets(made())
    assert len(accuracy.rows) == MOST_ROWS
    assert [row[:2] for row in accuracy.rows[:2]] == [("example", "ids"), ("example", "y")]
    assert "and 4 more" in accuracy.below
    assert len(layers.rows) == MOST_LAYERS
    assert layers.rows[0] == ("head", "MatMul", "40.00%", "-", "float32, it would hurt")
    assert layers.rows[1][:4] == ("layers.11", "MatMul", "1.10%", "2.20%")
    assert "and 5 more that hurt less" in layers.below
    assert "float32, no form for it: 1 LSTM" in layers.below
    assert "float32, as asked: 1 Conv" in layers.below


def test_a_problem_has_a_column() -> None:
    row = Accuracy("batch=3", "y", {}, None, None, given=False, problem="shape [3]")
    (accuracy,) = sheets(Quantised("s", 0.1, (), (row,)))
    assert accuracy.columns[-1] == "problem"
    assert accuracy.rows == (("batch=3 *", "y", "-", "-", "-", "-", "-", "shape [3]"),)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_every_rendering_tells_it(form: str) -> None:
    text = Report(ok=True, quantised=made()).render(form)
    assert "4.0 MB" in text
    assert "layers that hurt most" in text
    assert "layers.11" in text.replace("\\", "")


def test_no_name_gets_out_of_its_cell() -> None:
    layer = QuantisedLayer(EVIL, EVIL, 0.1)
    row = Accuracy(EVIL, EVIL, {}, 0.0, 0.1, problem=EVIL)
    report = Report(ok=False, quantised=Quantised(EVIL, 0.1, (layer,), (row,), 10, 5, problem=EVIL))
    for form in ("markdown", "html"):
        assert "<script>alert" not in report.render(form)


def test_json_and_back() -> None:
    report = Report(ok=True, quantised=made())
    assert Report.from_json(report.to_json()).quantised == made()
