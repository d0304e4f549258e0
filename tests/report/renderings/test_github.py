"""Workflow commands: one line per finding, and nothing in a finding can start another."""

from onnxpert.core.types import Finding, Location, Severity
from onnxpert.report import Report
from tests.report import made


def test_an_annotation_per_finding() -> None:
    lines = made.refused().render("github").splitlines()
    assert lines[0] == (
        "::error file=model.py,line=14,col=20,endColumn=59,title=onnxpert OPS501 (error)::"
        "aten.linalg_eigvals has no lowering to ONNX: inside it aten.linalg_eig has none%0A"
        "at 4 places: encoder.layers.[0-3].attn%0A"
        "help: write it with other operators, or compute it outside the model"
    )
    assert [line.split(" ", maxsplit=1)[0] for line in lines] == [
        "::error",
        "::error",
        "::warning",
        "::notice",
        "::error",
    ]
    assert lines[4] == "::error title=onnxpert::Net: not exportable: 2 errors, 1 warning"


def test_a_good_report_is_a_notice(good: Report) -> None:
    assert "::notice title=onnxpert::Net: exported and proven: net.onnx" in good.render("github")


def test_everything_is_escaped() -> None:
    evil = "100% a,b:c\r\n::error::gotcha"
    at = Location("a,b:c%.py", 0)
    finding = Finding("OPS501", Severity.ERROR, evil, at, evil, (evil,))
    text = Report(ok=False, findings=(finding,)).render("github")
    first, *rest = text.splitlines()
    assert "file=a%2Cb%3Ac%25.py,line=1," in first
    assert "::100%25 a,b:c%0D%0A::error::gotcha%0Ahelp: 100%25" in first
    assert not [line for line in rest if "gotcha" in line]
