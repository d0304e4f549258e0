"""Stage 3: evidence of any stage -> findings."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from onnxpert.core.collect import collect
from onnxpert.core.types import Finding, Hit, replace
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
        key = (_within_its_module(hit), hit.at and (hit.at.file, hit.at.line))
        if key in merged:
            merged[key] = _again(merged[key], hit)
        else:
            stack = hit.at.calls if hit.at else ()
            at = replace(hit.at, calls=()) if stack else hit.at
            merged[key] = Finding(
                rule.id,
                severity,
                hit.message,
                at,
                hit.help,
                hit.notes,
                modules=(at.module,) if at and at.module else (),
                stack=stack,
            )
    return merged.values()


def _again(finding: Finding, hit: Hit) -> Finding:
    """The same once more, as in each layer of a loop: counted, and its module named."""
    module = hit.at.module if hit.at else ""
    new = (module,) if module and module not in finding.modules else ()
    message = finding.message if hit.message == finding.message else _within_its_module(hit)
    return replace(  # type: ignore[no-any-return]
        finding, message=message, count=finding.count + 1, modules=(*finding.modules, *new)
    )


def _within_its_module(hit: Hit) -> str:
    """What is said, as it is said of the same line in another layer: the buffer `cache`, and not
    `blocks.3.cache`."""
    module = hit.at.module if hit.at else ""
    within = rf"(?<![\w.]){re.escape(module)}\."
    return re.sub(within, "", hit.message) if module else hit.message
