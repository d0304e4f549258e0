"""What a run found as a page: docs/operators.md, and its first lines for a terminal."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import groupby

from conformance.causes import CAUSES, ONLY_IF_ALLOWED
from conformance.results import Entry, Facts, Form, Outcome, Row
from conformance.scope import OUT_OF_SCOPE

PACKAGES = ("torch", "onnxruntime", "onnx", "onnxscript")
_ABOUT = """\
# Operators

Every operator of torch's own database (`torch.testing._internal`), exported by onnxpert, run by ONNX Runtime
and compared with torch: shape, dtype, NaNs and values. `make conformance` runs it and writes this page;
`make conformance ARGS="--only '^linalg' --samples 0"` tries all samples of some, and prints the sum.

Of each operator and form some of torch's samples are tried, from the first to the last, always with a 0-d and an
empty tensor where it has them. *Dynamic* means every dimension of every input. Operators with random results are
exported with `randomness="allow"`, which proves their distribution; shape and dtype are what is compared here. An
operator that does not take float32 is tried in the first of int64, bool and complex64 that it takes.

What torch leaves open (the signs of eigenvectors, the order of equal elements) is exported with `undetermined="allow"`
and compared with torch where it is made to choose as the file does; by default such a result is refused (NUM706, NUM707).
A float16 result further from torch's own than its digits allow is right if it is nearer to torch's float32.
"""


@dataclass
class Tally:
    """Samples that were right, of those that were tried."""

    right: int = 0
    tried: int = 0

    def add(self, row: Row) -> None:
        self.right += row.outcome is Outcome.RIGHT
        self.tried += 1

    @property
    def whole(self) -> bool:
        return self.tried > 0 and self.right == self.tried

    def __str__(self) -> str:
        return f"{self.right}/{self.tried}" if self.tried else "-"


@dataclass
class Sheet:
    """All that is known of one operator."""

    own: Tally = field(default_factory=Tally)
    dynamic: Tally = field(default_factory=Tally)
    dtypes: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    facts: Facts | None = None

    def add(self, row: Row, first: str) -> None:
        if row.dynamic:
            self.dynamic.add(row)
            return
        if row.dtype == first:
            self.own.add(row)
        self.dtypes[row.dtype].add(row)


def page(entries: Iterable[Entry], in_scope: int = 0) -> str:
    """`in_scope` is how many operators there are to try: a run of some says so."""
    rows, facts = _parted(entries)
    tried = len({row.operator for row in rows})
    sections = (
        _ABOUT,
        made_with(),
        *([f"A part: {tried} of {in_scope} operators were tried.\n"] if tried < in_scope else []),
        *_sums(rows),
        *_table(_sheets(rows, facts)),
        *_failures(rows),
        "\n## Only if it is allowed\n",
        "\n".join(f"- `{name}`: {why}" for name, why in sorted(ONLY_IF_ALLOWED.items())),
        "\n## Out of scope\n",
        "\n".join(f"- `{name}`: {why}" for name, why in sorted(OUT_OF_SCOPE.items())),
    )
    return "\n".join(sections) + "\n"


def summary(entries: Iterable[Entry]) -> str:
    """What did not go well, and the sums."""
    rows, _ = _parted(entries)
    return "\n".join((*_failures(rows), *_sums(rows)))


def _parted(entries: Iterable[Entry]) -> tuple[list[Row], dict[str, Facts]]:
    kept = list(entries)
    rows = [e for e in kept if isinstance(e, Row) and e.outcome is not Outcome.IDLE]
    return rows, {e.operator: e for e in kept if isinstance(e, Facts)}


def made_with() -> str:
    """The versions that a page is true of."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"Made with {packages}, Python {platform.python_version()}.\n"


def _sums(rows: Sequence[Row]) -> list[str]:
    forms: dict[Form, dict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
    for row in rows:
        forms[row.form][row.operator].add(row)
    lines = ["| form | samples right | | operators right in every sample | wrong without a word |"]
    lines.append("|---|---:|---:|---:|---:|")
    for form, tallies in forms.items():
        right, tried = (
            sum(getattr(t, name) for t in tallies.values()) for name in ("right", "tried")
        )
        whole = sum(tally.whole for tally in tallies.values())
        silent = sum(row.form == form and row.outcome is Outcome.WRONG for row in rows)
        lines.append(
            f"| {form} | {right}/{tried} | {100 * right / tried:.1f} % "
            f"| {whole}/{len(tallies)} | {silent} |"
        )
    return lines


def _sheets(rows: Sequence[Row], facts: Mapping[str, Facts]) -> dict[str, Sheet]:
    sheets: dict[str, Sheet] = defaultdict(Sheet)
    first = {row.operator: row.dtype for row in rows if row.dynamic}
    for row in rows:
        sheets[row.operator].add(row, first.get(row.operator, row.dtype))
    for name, known in facts.items():
        sheets[name].facts = known
    return dict(sorted(sheets.items()))


def _table(sheets: Mapping[str, Sheet]) -> list[str]:
    lines = ["\n## The operators\n"]
    lines.append(
        "Where a lowering comes from: our own, onnxscript's torchlib, or torch's decomposition"
    )
    lines.append(
        "into operators that have one. The lowest opset is that of one sample, tried from 20"
    )
    lines.append(
        "down to 13. A dtype is proven when every sample of it is right; else it is counted.\n"
    )
    lines.append("| operator | lowering | lowest opset | dtypes proven | static | dynamic |")
    lines.append("|---|---|---:|---|---:|---:|")
    for name, sheet in sheets.items():
        sources = " + ".join(sheet.facts.sources) if sheet.facts else ""
        opset = str(sheet.facts.lowest_opset) if sheet.facts else ""
        dtypes = ", ".join(
            dtype if tally.whole else f"{dtype} {tally}" for dtype, tally in sheet.dtypes.items()
        )
        lines.append(
            f"| `{name}` | {sources or '-'} | {opset or '-'} | {dtypes} "
            f"| {sheet.own} | {sheet.dynamic} |"
        )
    return lines


def _failures(rows: Sequence[Row]) -> list[str]:
    """Every operator and form with a sample that is not right, and the cause of the first."""
    lines = ["\n## What is not right yet\n"]

    def key(row: Row) -> tuple[str, str]:
        return row.operator, str(row.form)

    for (name, form), group in groupby(sorted(rows, key=key), key):
        tried = list(group)
        bad = [row for row in tried if row.outcome is not Outcome.RIGHT]
        if bad:
            first = bad[0]
            cause = first.detail.replace("|", "/").replace("`", "'")[:240]
            known = f"{CAUSES[name]}. " if name in CAUSES else ""
            lines.append(
                f"- `{name}`, {form}: {len(bad)} of {len(tried)} {first.outcome}: {known}{cause} "
                f"(`{first.call[:80]}`)"
            )
    return lines if len(lines) > 1 else [*lines, "Nothing."]
