"""The first line of a report: what came of it, and the file in a few numbers."""

from __future__ import annotations

from onnxpert.core.types import Finding, Severity, Verdict
from onnxpert.report import words
from onnxpert.report.report import Action, Report

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)
# What became of the model, by (what was asked, whether it came out well).
_OUTCOME = {
    (Action.EXPORT, True): "exported",
    (Action.EXPORT, False): "not exported",
    (Action.DIAGNOSE, True): "exportable",
    (Action.DIAGNOSE, False): "not exportable",
    (Action.FILL, True): "filled",
    (Action.FILL, False): "not filled",
}


def headline(report: Report) -> tuple[str, str]:
    """The verdict itself, and what is said after it more quietly."""
    if not report.ok:
        return f"{_failed(report)}: {counts(report)}", ""
    file = f": {words.path(report.path)}" if report.path else ""
    if report.action is Action.VERIFY:
        return f"proven{file}", facts(report)
    if report.action is Action.CHECK:
        how = "by its tables" if report.runtime else "and runs there" if report.verify else ""
        return " ".join(filter(None, (f"fits {report.target}", how))) + file, facts(report)
    done = _OUTCOME[_asked(report), True]
    unproven = ", not proven yet" if report.action is Action.FILL else ", not proven (verify=False)"
    proof = " and proven" if report.verify else unproven
    if report.quantised:
        proof += f", quantised within {words.share(report.quantised.error)}"
    return f"{done}{proof}{file}", facts(report)


def facts(report: Report) -> str:
    """`(opset 20, 34 nodes, 1.2 MB)`, or "" when there is no graph to speak of."""
    known = []
    if report.opset is not None:
        known.append(f"opset {report.opset}")
    if report.nodes is not None:
        known.append(words.several(report.nodes, "node"))
    if report.bytes is not None:
        known.append(words.size(report.bytes))
    return f"({', '.join(known)})" if known else ""


def counts(report: Report) -> str:
    """`2 errors, 1 warning`; a failure without an error of its own is the proof's."""
    said = [
        words.several(many, severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
        if (
            many := sum(each.severity is severity and not each.repaired for each in report.findings)
        )
    ]
    if not any(finding.blocks for finding in report.findings):
        said.insert(0, _unproven(report))
    return ", ".join(said)


def ordered(report: Report) -> tuple[Finding, ...]:
    """Findings as they are read: errors first, what was repaired last, else as they were found."""
    return tuple(
        sorted(report.findings, key=lambda each: (each.repaired, _ORDER.index(each.severity)))
    )


def _asked(report: Report) -> Action:
    # A result without a file cannot have been exported, whatever was asked.
    return report.action if report.path or not report.ok else Action.DIAGNOSE


def _failed(report: Report) -> str:
    if report.action is Action.VERIFY:
        return f"not proven: {words.path(report.path)}" if report.path else "not proven"
    if report.action is Action.CHECK:
        file = f": {words.path(report.path)}" if report.path else ""
        return f"does not fit {report.target}{file}"
    return _OUTCOME[_asked(report), False]


def _unproven(report: Report) -> str:
    if failed := sum(row.verdict is Verdict.FAIL for row in report.verified):
        return f"{words.several(failed, 'comparison')} failed"
    if not report.strategy and report.action is not Action.VERIFY:
        return "the model could not be captured"
    return "nothing could be compared"
