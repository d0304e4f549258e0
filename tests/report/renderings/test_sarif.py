"""SARIF is valid by its official schema, and says where, what, why and how to mend it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from onnxpert.core.types import Finding, Location, Severity
from onnxpert.report import Report
from onnxpert.report.rule_note import RuleNote
from tests.report import made

SCHEMA = Path(__file__).parents[1] / "schemas/sarif-2.1.0.json"
VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _run(report: Report) -> Any:
    document = json.loads(report.render("sarif"))
    VALIDATOR.validate(document)
    (run,) = document["runs"]
    return run


def test_the_schema_refuses_what_is_wrong() -> None:
    document = json.loads(made.refused().render("sarif"))
    document["runs"][0]["results"][0]["level"] = "dreadful"
    assert not VALIDATOR.is_valid(document)


def test_every_report_is_valid(good: Report, bad: Report) -> None:
    for report in (good, bad, made.refused(), made.proven(), Report(ok=True)):
        assert len(_run(report)["results"]) == len(report.findings)


def test_a_place_has_region_snippet_and_modules() -> None:
    result = _run(made.refused())["results"][0]
    (location,) = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "model.py", "uriBaseId": "SRCROOT"}
    assert physical["region"] == {
        "startLine": 14,
        "startColumn": 20,
        "endColumn": 60,
        "snippet": {"text": "spectrum = torch.linalg.eigvals(scores @ scores.mT).real"},
    }
    assert physical["contextRegion"]["startLine"] == 12
    assert [each["fullyQualifiedName"] for each in location["logicalLocations"]] == [
        f"encoder.layers.{at}.attn" for at in range(4)
    ]
    assert result["occurrenceCount"] == 4
    lines = [
        frame["location"]["physicalLocation"]["region"]["startLine"]
        for frame in result["stacks"][0]["frames"]
    ]
    assert lines == [14, 26, 41]  # the innermost first


def test_the_rule_comes_with_its_page() -> None:
    note = RuleNote("OPS501", "no-lowering", Severity.ERROR, "Finds.", made.PAGE, "https://x.y/z")
    run = _run(dataclasses.replace(made.refused(), rules=(note,)))
    rule = run["tool"]["driver"]["rules"][0]
    assert rule["id"] == "OPS501"
    assert rule["name"] == "NoLowering"
    assert rule["shortDescription"] == {"text": "Finds."}
    assert rule["fullDescription"]["text"].startswith("A file without them")
    assert rule["help"]["markdown"] == made.PAGE
    assert rule["helpUri"] == "https://x.y/z"
    assert rule["defaultConfiguration"] == {"level": "error"}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_repaired_finding_is_a_note() -> None:
    result = _run(made.refused())["results"][-1]
    assert result["level"] == "note"
    assert result["properties"] == {"repaired": True, "repair": "cast-inputs"}
    assert "locations" not in result


def test_a_diff_is_a_fix() -> None:
    fix = _run(made.refused())["results"][1]["fixes"][0]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "model.py"
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 18, "startColumn": 1, "endLine": 19, "endColumn": 1},
            "insertedContent": {"text": "        calls = self.calls + 1\n"},
        }
    ]


def test_the_fingerprint_follows_the_finding_not_the_line() -> None:
    def fingerprint(finding: Finding) -> str:
        result = _run(Report(ok=False, findings=(finding,)))["results"][0]
        return str(result["partialFingerprints"]["onnxpertFinding/v1"])

    at = Location("model.py", 6, "", "forward", "y = x")
    finding = Finding("OPS501", Severity.ERROR, "no", at)
    moved = dataclasses.replace(finding, location=dataclasses.replace(at, line=60))
    other = dataclasses.replace(finding, location=dataclasses.replace(at, code="z = x"))
    assert fingerprint(finding) == fingerprint(moved)
    assert fingerprint(finding) != fingerprint(other)


def test_paths_are_quoted_and_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    uris = []
    for file in (tmp_path / "my model.py", Path("/elsewhere/a b.py"), Path("odd\udcff.py")):
        finding = Finding("OPS501", Severity.ERROR, "no", Location(str(file), 1))
        result = _run(Report(ok=False, findings=(finding,)))["results"][0]
        uris.append(result["locations"][0]["physicalLocation"]["artifactLocation"])
    assert uris == [
        {"uri": "my%20model.py", "uriBaseId": "SRCROOT"},
        {"uri": "file:///elsewhere/a%20b.py"},
        {"uri": "odd%FF.py", "uriBaseId": "SRCROOT"},
    ]
    run = _run(Report(ok=True))
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == tmp_path.as_uri() + "/"
