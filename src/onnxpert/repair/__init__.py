"""Stage 4: a model and a finding -> the model with its cure applied to a copy."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from onnxpert.core.collect import collect
from onnxpert.core.types import Finding, Loaded, Safety
from onnxpert.repair import repairs
from onnxpert.repair.repair import Repair

ALLOWED: Mapping[str, frozenset[Safety]] = {
    "off": frozenset(),
    "safe": frozenset({Safety.SAFE}),
    "all": frozenset({Safety.SAFE, Safety.UNSAFE}),
}


@functools.cache
def catalogue() -> Mapping[str, Repair]:
    """Every repair by its name."""
    return collect(repairs, Repair, lambda repair: (repair.name,))


def choose(
    findings: Iterable[Finding], level: str, tried: Iterable[tuple[Finding, str]]
) -> tuple[Finding, Repair] | None:
    """The first cure that is allowed at `level` and was not tried for its finding before."""
    seen = set(tried)
    for finding in findings:
        for known in catalogue().values():
            fits = finding.rule in known.cures and known.safety in ALLOWED[level]
            if fits and (finding, known.name) not in seen:
                return finding, known
    return None


def repair(loaded: Loaded, finding: Finding, cure: Repair) -> Loaded:
    return cure.apply(loaded, finding)
