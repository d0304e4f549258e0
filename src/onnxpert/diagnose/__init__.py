"""Stage 3: evidence of any stage -> findings."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from onnxpert.core.collect import collect
from onnxpert.core.types import Finding, replace
from onnxpert.diagnose import rules
from onnxpert.diagnose.rule import Rule


@functools.cache
def catalogue() -> Mapping[str, Rule]:
    """Every rule by its ID."""
    return collect(rules, Rule, lambda rule: (rule.id,))


def diagnose(evidence: Any, known: Mapping[str, Rule] | None = None) -> tuple[Finding, ...]:
    """What the rules say about a value: the same thing said at several places is one finding."""
    found: list[Finding] = []
    for rule in (catalogue() if known is None else known).values():
        if isinstance(evidence, rule.reads):
            found += _findings(rule, evidence)
    return tuple(found)


def _findings(rule: Rule, evidence: Any) -> Iterable[Finding]:
    merged: dict[tuple[Any, ...], Finding] = {}
    for hit in rule.check(evidence):
        severity = hit.severity or rule.severity
        key = (hit.message, hit.at and (hit.at.file, hit.at.line))
        if key in merged:
            merged[key] = replace(merged[key], count=merged[key].count + 1)
        else:
            merged[key] = Finding(rule.id, severity, hit.message, hit.at, hit.help, hit.notes)
    return merged.values()
