"""A report survives JSON bit by bit, and other JSON is refused with the place of the mistake."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Divergence, Finding, Location, Row, Severity, Symbol, Verdict
from onnxpert.report import SCHEMA, Action, Report

numbers = st.integers(min_value=0)
locations = st.builds(Location, st.text(), numbers, st.text(), st.text(), st.text())
texts = st.lists(st.text(), max_size=3).map(tuple)
findings = st.builds(
    Finding,
    rule=st.text(),
    severity=st.sampled_from(Severity),
    message=st.text(),
    location=st.none() | locations,
    help=st.text(),
    notes=texts,
    repaired=st.booleans(),
    repair=st.text(),
    count=numbers,
)
errors = st.none() | st.floats()
rows = st.builds(
    Row,
    case=st.text(),
    output=st.text(),
    sizes=st.dictionaries(st.text(), numbers, max_size=3),
    verdict=st.sampled_from(Verdict),
    max_abs=errors,
    max_rel=errors,
    rtol=errors,
    atol=errors,
    detail=st.text(),
)
symbols = st.builds(
    Symbol,
    st.text(),
    numbers,
    st.none() | numbers,
    numbers,
    st.lists(st.tuples(st.text(), numbers), max_size=2).map(tuple),
)
names = st.text(alphabet=st.characters(blacklist_characters="\0", codec="utf-8"), min_size=1)
reports = st.builds(
    Report,
    ok=st.booleans(),
    path=st.none() | names.map(Path),
    findings=st.lists(findings, max_size=3).map(tuple),
    verified=st.lists(rows, max_size=3).map(tuple),
    timings=st.dictionaries(st.text(), st.floats(), max_size=3),
    action=st.sampled_from(Action),
    model=st.text(),
    opset=st.none() | numbers,
    bytes=st.none() | numbers,
    inputs=texts,
    versions=st.dictionaries(st.text(), st.text(), max_size=2),
    verify=st.booleans(),
    divergence=st.none()
    | st.builds(Divergence, st.text(), st.text(), st.text(), st.none() | locations, st.text()),
    repairs=texts,
    symbols=st.lists(symbols, max_size=2).map(tuple),
)


def _comparable(value: Any) -> Any:
    """NaN equals nothing, not even itself: put a word in its place."""
    if isinstance(value, float) and math.isnan(value):
        return "not a number"
    if isinstance(value, dict):
        return [(key, _comparable(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [_comparable(item) for item in value]
    return (type(value), value)


@given(reports)
def test_the_round_trip_is_exact(report: Report) -> None:
    again = Report.from_json(report.to_json())
    assert _comparable(dataclasses.asdict(again)) == _comparable(dataclasses.asdict(report))


@given(reports)
def test_every_report_has_every_rendering(report: Report) -> None:
    assert str(report)
    assert report._repr_html_()


def test_types_come_back(good: Report, bad: Report) -> None:
    assert Report.from_json(good.to_json()) == good
    again = Report.from_json(bad.to_json())
    assert again.findings[0].severity is Severity.WARNING
    assert again.verified[0].verdict is Verdict.FAIL
    assert again.verified[0].max_abs == math.inf
    assert math.isnan(again.verified[0].max_rel or 0.0)
    assert str(again) == str(bad)


def test_any_parser_reads_it(bad: Report) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    plain = json.loads(bad.to_json(), parse_constant=refuse)
    assert plain["schema"] == SCHEMA
    assert plain["verified"][0]["max_abs"] == "inf"


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    row = Row("example", "y", {"n": np.int64(2)}, Verdict.PASS, np.float32(0.5), np.float64(0.25))
    again = Report.from_json(Report(ok=True, verified=(row,)).to_json()).verified[0]
    assert (again.sizes, again.max_abs, again.max_rel) == ({"n": 2}, 0.5, 0.25)


def test_timings_keep_their_order() -> None:
    report = Report(ok=True, timings={"verify": 1.0, "capture": 2.0, "load": 3.0})
    assert list(Report.from_json(report.to_json()).timings) == ["verify", "capture", "load"]


def _changed(report: Report, **changes: Any) -> str:
    return json.dumps({**json.loads(report.to_json()), **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "2.0"}, 'this Report has schema "2.0", not 1.3'),
        ({"schema": 1}, "this Report has schema 1, not 1.3"),
        ({"schema": None}, "this Report has schema null, not 1.3"),
        ({"ok": 1}, "Report.ok is 1, not of type bool"),
        ({"opset": True}, "Report.opset is true, not of type int"),
        ({"colour": "red"}, "Report has no field 'colour'"),
        ({"action": "dance"}, 'Report.action is "dance", not one of export, diagnose, verify'),
        ({"timings": {"load": "soon"}}, 'Report.timings.load is "soon", not a number'),
        ({"findings": [{"rule": "A"}]}, "Report.findings[0] is not whole"),
        ({"inputs": "x"}, 'Report.inputs is "x", not of type list'),
    ],
)
def test_other_json_is_refused(good: Report, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        Report.from_json(_changed(good, **changes))
    assert message in refused.value.message


def test_a_newer_minor_version_is_read(good: Report) -> None:
    finding = {**json.loads(good.to_json())["findings"][0], "colour": "red"}
    text = _changed(good, schema="1.999", mood="new", findings=[finding])
    again = Report.from_json(text)
    assert again.findings == good.findings[:1]
    assert again.verified == good.verified


def test_an_older_report_lacks_newer_fields(good: Report) -> None:
    plain = json.loads(good.to_json())
    for name in ("rules", "checked", "excerpts", "graph"):
        del plain[name]
    assert Report.from_json(json.dumps(plain)) == good


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="this is not"):
        Report.from_json(text)
