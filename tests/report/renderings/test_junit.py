"""JUnit: what fails in the report fails in CI, and nothing else does."""

import dataclasses
from xml.etree.ElementTree import Element, fromstring

from onnxpert.core.types import Finding, Severity
from onnxpert.report import Report
from tests.report import made


def _read(report: Report) -> Element:
    return fromstring(report.render("junit").encode())


def _failed(root: Element) -> list[str]:
    return [
        str(case.get("name")) for case in root.iter("testcase") if case.find("failure") is not None
    ]


def test_a_proven_model_passes() -> None:
    report = made.proven()
    root = _read(report)
    assert _failed(root) == []
    assert root.get("failures") == "0"
    assert int(root.get("tests", "0")) == len(list(root.iter("testcase")))
    names = [case.get("name") for case in root.iter("testcase")]
    assert "example (batch=2 seq=16): logits" in names
    assert [
        case.get("name") for case in root.iter("testcase") if case.find("skipped") is not None
    ] == ["seq=0 (batch=2 seq=0): logits"]
    (verify,) = (case for case in root.iter("testcase") if case.get("name") == "verify")
    assert verify.get("time") == "0.840"


def test_each_blocker_fails_and_each_silent_rule_passes() -> None:
    root = _read(made.refused())
    assert _failed(root) == [
        "diagnose",
        "OPS501 unsupported-operator at model.py:14 in encoder.layers.0.attn",
        "STA301 at model.py:18 in forward",
    ]
    case = next(case for case in root.iter("testcase") if case.get("file") == "model.py")
    assert case.get("line") == "14"
    assert "torch.linalg.eigvals" in (case.findtext("failure") or "")
    assert "CAP001" in [case.get("name") for case in root.iter("testcase")]


def test_a_failed_comparison_fails(bad: Report) -> None:
    assert "example: y" in _failed(_read(bad))


def test_a_failure_without_a_reason_still_fails() -> None:
    assert _failed(_read(Report(ok=False))) == ["export"]


def test_characters_that_xml_lacks() -> None:
    odd = Finding("OPS501", Severity.ERROR, "<&\"'\x00\x1b[31m\udcff]]>")
    root = _read(dataclasses.replace(made.refused(), findings=(odd,)))
    messages = [failure.get("message") for failure in root.iter("failure")]
    assert "<&\"'\ufffd\ufffd[31m\ufffd]]>" in messages
