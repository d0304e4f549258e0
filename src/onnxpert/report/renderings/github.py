"""Workflow commands: the lines that GitHub turns into annotations of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Finding, Severity
from onnxpert.report import verdict, words
from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


@rendering("github", suffixes=(".github",))
def github(report: Report) -> str:
    """`::error file=..,line=..::..`, printed in a workflow of GitHub's: an annotation per finding."""
    return "\n".join(_commands(report))


def _commands(report: Report) -> Iterator[str]:
    for finding in verdict.ordered(report):
        yield _command(_level(finding), _properties(finding), _message(finding))
    said, quietly = verdict.headline(report)
    subject = f"{report.model}: " if report.model else ""
    yield _command("notice" if report.ok else "error", {"title": "onnxpert"}, subject + said)
    if quietly:
        yield quietly.strip("()").replace("::", ": :")


def _level(finding: Finding) -> str:
    return "notice" if finding.repaired else _LEVELS[finding.severity]


def _properties(finding: Finding) -> dict[str, str]:
    known = {}
    if finding.location and finding.location.file:
        at = finding.location
        known["file"] = words.posix(at.file)
        known["line"] = str(max(at.line, 1))
        if at.column:
            known["col"] = str(at.column)
        if at.end_column > at.column:
            # GitHub counts the last character in.
            known["endColumn"] = str(at.end_column - 1)
    label = "repaired" if finding.repaired else finding.severity.value
    return {**known, "title": f"onnxpert {finding.rule} ({label})"}


def _message(finding: Finding) -> str:
    said = [finding.message, *filter(None, [words.repeated(finding)])]
    if finding.repaired:
        said.append(f"repaired: {finding.repair or 'by onnxpert'}")
    if finding.help:
        said.append(f"help: {finding.help}")
    return "\n".join([*said, *finding.notes])


def _command(name: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    # The percent sign first: it is what the others are escaped with.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
