"""SARIF 2.1.0: what code scanning and editors read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from onnxpert.core.types import Finding, Location, Severity
from onnxpert.report import verdict, words
from onnxpert.report.excerpt import shown
from onnxpert.report.patch import Replacement, changes
from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report
from onnxpert.report.rule_note import RuleNote

Plain: TypeAlias = dict[str, Any]

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
BASE = "SRCROOT"
AROUND = 2  # lines of context
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


@rendering("sarif", suffixes=(".sarif",))
def sarif(report: Report) -> str:
    """Findings for code scanning and editors; paths are relative to the working directory."""
    rules = _rules(report)
    places = {rule.id: at for at, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {**_driver(report), "rules": [_rule(each) for each in rules]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {BASE: {"uri": Path.cwd().as_uri().rstrip("/") + "/"}},
        "invocations": [{"executionSuccessful": True, "exitCode": report.exit_code}],
        "results": [_result(each, report, places) for each in verdict.ordered(report)],
        "properties": {"verdict": verdict.headline(report)[0], "model": report.model},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _driver(report: Report) -> Plain:
    return {"name": "onnxpert", **({"version": report.version} if report.version else {})}


def _rules(report: Report) -> list[RuleNote]:
    """Every rule that fired, also one that brought no note of itself."""
    known = {note.id: note for note in report.rules}
    fired = dict.fromkeys(finding.rule for finding in verdict.ordered(report))
    severities = {finding.rule: finding.severity for finding in report.findings}
    return [known.get(id) or RuleNote(id, id, severities[id], "") for id in fired]


def _rule(note: RuleNote) -> Plain:
    made: Plain = {
        "id": note.id,
        "name": "".join(part.capitalize() for part in note.name.split("-")),
        "defaultConfiguration": {"level": _LEVELS[note.severity]},
    }
    if note.gist:
        made["shortDescription"] = {"text": note.gist}
    if note.page:
        made["fullDescription"] = {"text": _section(note.page, "Why it matters") or note.gist}
        made["help"] = {"text": note.page, "markdown": note.page}
    if note.uri:
        made["helpUri"] = note.uri
    return made


def _section(page: str, title: str) -> str:
    _, found, rest = page.partition(f"## {title}\n")
    return " ".join(rest.partition("\n## ")[0].split()) if found else ""


def _result(finding: Finding, report: Report, places: Mapping[str, int]) -> Plain:
    result: Plain = {
        "ruleId": finding.rule,
        "ruleIndex": places[finding.rule],
        "level": "note" if finding.repaired else _LEVELS[finding.severity],
        "message": {"text": "\n".join(_said(finding))},
        "partialFingerprints": {"onnxpertFinding/v1": _fingerprint(finding)},
        "occurrenceCount": max(finding.count, 1),
        "properties": {"repaired": finding.repaired, "repair": finding.repair},
    }
    if finding.location:
        result["locations"] = [_location(finding.location, report, finding.modules)]
    if finding.stack:
        result["stacks"] = [_stack(finding, report)]
    if fix := _fix(finding):
        result["fixes"] = [fix]
    return result


def _said(finding: Finding) -> Iterator[str]:
    yield finding.message
    if repeated := words.repeated(finding):
        yield f"Seen {repeated}."
    if finding.repaired:
        yield f"Repaired: {finding.repair or 'by onnxpert'}."
    if finding.help:
        yield f"Help: {finding.help}."
    yield from finding.notes


def _location(at: Location, report: Report, modules: tuple[str, ...] = ()) -> Plain:
    location: Plain = {"physicalLocation": {"artifactLocation": _artifact(at.file)}}
    if at.line > 0:
        location["physicalLocation"] |= _regions(at, report)
    paths = modules or ((at.module,) if at.module else ())
    if paths:
        location["logicalLocations"] = [
            {"name": path.rpartition(".")[2], "fullyQualifiedName": path, "kind": "module"}
            for path in paths
        ]
    return location


def _artifact(file: str) -> Plain:
    relative = words.posix(file)
    if Path(relative).is_absolute():
        return {"uri": Path(relative).as_uri()}
    # Bytes that are no UTF-8 are kept in a path as surrogates, and quoted as what they were.
    return {"uri": quote(relative.encode("utf-8", "surrogateescape")), "uriBaseId": BASE}


def _regions(at: Location, report: Report) -> Plain:
    region: Plain = {"startLine": at.line}
    if at.column > 0:
        region["startColumn"] = at.column
        if at.end_column > at.column:
            region["endColumn"] = at.end_column
    if at.code.strip():
        region["snippet"] = {"text": at.code.strip()}
    around = shown(at, report.excerpts, AROUND)
    if around is None or len(around.lines) < 2:
        return {"region": region}
    context = {
        "startLine": around.lines[0][0],
        "endLine": around.lines[-1][0],
        "snippet": {"text": "\n".join(text for _, text in around.lines)},
    }
    return {"region": region, "contextRegion": context}


def _stack(finding: Finding, report: Report) -> Plain:
    """Innermost first, as SARIF wants it."""
    calls = [*finding.stack, *([finding.location] if finding.location else [])]
    frames = [{"location": _location(each, report)} for each in reversed(calls)]
    return {"message": {"text": "the calls that led there"}, "frames": frames}


def _fix(finding: Finding) -> Plain | None:
    made = changes(finding.diff)
    if not any(change.replacements for change in made):
        return None
    return {
        "description": {"text": finding.help or finding.message},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(change.file),
                "replacements": [_replacement(each) for each in change.replacements],
            }
            for change in made
            if change.replacements
        ],
    }


def _replacement(each: Replacement) -> Plain:
    end = each.line + each.count
    region = {"startLine": each.line, "startColumn": 1, "endLine": end, "endColumn": 1}
    return {"deletedRegion": region, "insertedContent": {"text": each.text}}


def _fingerprint(finding: Finding) -> str:
    """The same while the finding stays the same, wherever its line moves to."""
    at = finding.location
    place = (words.posix(at.file), at.function, at.code.strip()) if at else ()
    text = "\0".join((finding.rule, finding.message, *place))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
