"""What a run of random programs found as a page: docs/random-programs.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from conformance.page import made_with
from conformance.results import Outcome, Row

FINE = (Outcome.RIGHT, Outcome.REFUSED, Outcome.IDLE)
_ABOUT = """\
# Random programs

Modules whose `forward` is drawn by a seed as Python is written: branches on values and sizes, loops over a size, over rows,
over what a mask leaves and over a number read from the data, `while`, `break`, `continue`, `for ... else`, early returns,
`try`, helpers with defaults and closures, writes in place through a second name, lists, dicts and `None` as state, and
`int()`, `float()` and `.item()` of tensors in arithmetic, as ends of slices, as indices and compared. Each is a Python file of
its own. It is exported as a user would, two of three with dynamic sizes, run by ONNX Runtime at up to 49 inputs (seven
sizes, and values that make the numbers read 0, 1, 2, negative and large) and compared with torch.

- *right*: a proven file, which agrees with torch at all of them.
- *refused*: no file, and a finding at the line of the program that it is about.
- *failed*: anything else without a file: an exception, a reason without a line. There must be none.
- *unloadable* and *wrong*: a file that the runtime does not run, or that computes something else. There must be none.
- *idle*: torch itself fails at the example.

Inputs at which torch fails, or where a nudge of a millionth moves its own result (rounding decides a branch), judge nobody.
`make flows` writes this page; `make flows ARGS="--first 1000 --count 100"` tries other seeds, and prints the sum.
"""
_ORDER = (
    Outcome.RIGHT, Outcome.REFUSED, Outcome.FAILED, Outcome.UNLOADABLE, Outcome.WRONG, Outcome.IDLE,
    Outcome.CRASHED, Outcome.TIMED_OUT,
)  # fmt: skip


def page(rows: Sequence[Row]) -> str:
    return "\n".join((_ABOUT, made_with(), *sums(rows), *_others(rows))) + "\n"


def sums(rows: Sequence[Row]) -> list[str]:
    """The figures, and by which rules programs were refused."""
    found = Counter(row.outcome for row in rows)
    shown = [outcome for outcome in _ORDER if found[outcome] or outcome in _ORDER[:6]]
    rules = Counter(rule for row in rows if row.outcome is Outcome.REFUSED for rule in _rules(row))
    return [
        f"| seeds | {' | '.join(shown)} |",
        f"|---:|{'---:|' * len(shown)}",
        f"| {len(rows)} | {' | '.join(str(found[outcome]) for outcome in shown)} |",
        "",
        f"Refused by rule: {', '.join(f'{k} {n}' for k, n in rules.most_common()) or 'none'}.",
    ]


def _rules(row: Row) -> set[str]:
    return {told.split(":")[0] for told in row.detail.split("; ") if told[3:6].isdigit()}


def _others(rows: Sequence[Row]) -> list[str]:
    lines = ["\n## Those without a file\n"]
    for row in rows:
        if row.outcome not in (Outcome.RIGHT, Outcome.IDLE):
            said = row.detail.replace("|", "/").replace("`", "'")[:200]
            lines.append(f"- {row.sample}, {row.outcome}: {said}")
    return lines if len(lines) > 1 else [*lines, "None."]
