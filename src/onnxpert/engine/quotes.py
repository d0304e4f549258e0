"""What a report quotes: the source around each place, and the pages of the rules that fired."""

from __future__ import annotations

import functools
import importlib.metadata
import linecache
from collections.abc import Iterable, Iterator, Sequence

from onnxpert.core.types import Divergence, Finding, Location
from onnxpert.diagnose import catalogue
from onnxpert.engine.pages import gist
from onnxpert.report.excerpt import Excerpt
from onnxpert.report.rule_note import RuleNote

AROUND = 3  # lines before and after


def excerpts(findings: Iterable[Finding], divergence: Divergence | None) -> tuple[Excerpt, ...]:
    """The lines around every place that the report names, each place once."""
    found: dict[tuple[str, int], Excerpt] = {}
    for at in _places(findings, divergence):
        if (at.file, at.line) not in found and (made := _excerpt(at)):
            found[at.file, at.line] = made
    return tuple(found.values())


def _places(findings: Iterable[Finding], divergence: Divergence | None) -> Iterator[Location]:
    for finding in findings:
        if finding.location:
            yield finding.location
    if divergence and divergence.location:
        yield divergence.location


def _excerpt(at: Location) -> Excerpt | None:
    lines = linecache.getlines(at.file)
    if not 0 < at.line <= len(lines):
        return None
    first = max(1, at.line - AROUND)
    text = (each.rstrip("\r\n") for each in lines[first - 1 : at.line + AROUND])
    return Excerpt(at.file, first, tuple(text))


def notes(findings: Sequence[Finding]) -> tuple[RuleNote, ...]:
    """Those rules of the catalogue that fired."""
    fired = dict.fromkeys(finding.rule for finding in findings)
    rules = [catalogue()[id] for id in fired if id in catalogue()]
    home = _documentation()
    return tuple(
        RuleNote(
            rule.id,
            rule.name,
            rule.severity,
            gist(rule),
            rule.page,
            f"{home}/rules/{rule.id}.md" if home else "",
        )
        for rule in rules
    )


def checked() -> tuple[str, ...]:
    return tuple(sorted(catalogue()))


@functools.cache
def _documentation() -> str:
    """Where the package says that its docs are published; "" if it says nothing."""
    try:
        urls = importlib.metadata.metadata("onnxpert").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return ""
    known = {name: url for name, _, url in (str(each).partition(", ") for each in urls)}
    return known.get("Documentation", "").rstrip("/")
