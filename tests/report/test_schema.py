"""The published schema is the one that reports keep, and the one in docs/ is fresh."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from onnxpert.report import Report
from onnxpert.report.schema import schema
from tests.report import made
from tests.report.test_json import reports

DOCS = Path(__file__).parents[2] / "docs"
VALIDATOR = Draft202012Validator(schema())


def test_it_is_a_schema_and_published() -> None:
    Draft202012Validator.check_schema(schema())
    published = json.loads((DOCS / "report.schema.json").read_text(encoding="utf-8"))
    assert published == schema()


@given(reports)
def test_every_report_keeps_it(report: Report) -> None:
    VALIDATOR.validate(json.loads(report.to_json()))


def test_the_graph_keeps_it_too() -> None:
    report = made.refused()
    plain = json.loads(report.to_json(graph=True))
    VALIDATOR.validate(plain)
    assert Report.from_json(report.to_json(graph=True)) == report
    assert json.loads(report.to_json())["graph"] is None


@pytest.mark.parametrize(
    "change",
    [{"ok": "yes"}, {"schema": "2.0"}, {"findings": [{"rule": "A"}]}, {"action": "dance"}],
)
def test_other_json_does_not(change: dict[str, object]) -> None:
    assert not VALIDATOR.is_valid({**json.loads(made.proven().to_json()), **change})


def test_a_newer_minor_version_does() -> None:
    assert VALIDATOR.is_valid({**json.loads(made.proven().to_json()), "schema": "1.9", "new": 1})
