"""Why a change of a source is not offered: what was tried, and where it failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpert.core.types import Finding, Verdict
from onnxpert.report import Report

_FEW = 3  # of each kind


def reasons(names: Sequence[str], refusal: str, ours: Sequence[Report]) -> Iterator[str]:
    """Notes for the user: `refusal` is how the changed model fails before there is a file, "" if it does not;
    `ours` are the reports of the file that was made of it."""
    tried = ", ".join(names)
    yield f"what was tried could not be proven, so it is not offered: {tried}"
    if refusal:
        yield f"with it {refusal}"
        return
    for report in ours:
        errors = [finding for finding in report.findings if finding.blocks]
        wrong = [row for row in report.verified if row.verdict is Verdict.FAIL]
        if errors or wrong:
            yield from (f"with it there is {_said(each)}" for each in errors[:_FEW])
            for row in wrong[:_FEW]:
                detail = f": {row.detail}" if row.detail else ""
                yield f"with it output {row.output} is wrong at {row.case}{detail}"
            return


def _said(finding: Finding) -> str:
    at = finding.location
    code = f", in `{at.code.strip()}`" if at is not None and at.code.strip() else ""
    return f"{finding.rule}{code}: {finding.message}"
