"""A study of what is drawn from seeds: it runs them, prints what went wrong and writes its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.page import made_with
from conformance.results import Outcome, Row
from conformance.seeds import parser, rows

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_FINE = (Outcome.RIGHT, Outcome.REFUSED, Outcome.IDLE)
_ALWAYS = (Outcome.RIGHT, Outcome.REFUSED, Outcome.FAILED, Outcome.UNLOADABLE, Outcome.WRONG)
_SELDOM = (Outcome.IDLE, Outcome.CRASHED, Outcome.TIMED_OUT)


def by_rule(found: Sequence[Row]) -> str:
    """Which rules refused how many."""
    told = (set(row.detail.split("; ")) for row in found if row.outcome is Outcome.REFUSED)
    rules = Counter(
        rule
        for said in told
        for rule in {text.split(":")[0] for text in said if text[3:6].isdigit()}
    )
    return f"Refused by rule: {', '.join(f'{k} {n}' for k, n in rules.most_common()) or 'none'}."


def nothing_known(_row: Row) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Study:
    """The package that draws, and the page about it."""

    package: str  # its `trial.attempt` is what a seed goes to
    page: str
    count: int  # of the seeds that the page is about
    timeout: float  # seconds for one model
    about: Callable[[], str]  # how the page begins
    note: Callable[[Sequence[Row]], str] = by_rule  # a line below the figures
    cause: Callable[[Row], str] = nothing_known  # that a finding does not say

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """The exit code is 0 when everything is right, or refused as it should be."""
        page = _DOCS / self.page
        options = parser(self.about().splitlines()[0], self.count, page, self.timeout).parse_args(
            arguments
        )
        found = rows(self.package, options.first, options.count, options.jobs, options.timeout)
        bad = [row for row in found if row.outcome not in _FINE]
        for row in bad:
            print(f"{row.sample} {row.outcome}: {row.detail}\n{row.call}")
        print("\n".join(self.figures(found)))
        if options.out or (options.first, options.count) == (0, self.count):
            (options.out or page).write_text(self.written(found), encoding="utf-8")
        return int(bool(bad))

    def written(self, found: Sequence[Row]) -> str:
        parts = (self.about(), made_with(), *self.figures(found), *self._without_file(found))
        return "\n".join(parts) + "\n"

    def figures(self, found: Sequence[Row]) -> list[str]:
        counts = Counter(row.outcome for row in found)
        shown = (*_ALWAYS, *(outcome for outcome in _SELDOM if counts[outcome]))
        return [
            f"| seeds | {' | '.join(shown)} |",
            f"|---:|{'---:|' * len(shown)}",
            f"| {len(found)} | {' | '.join(str(counts[outcome]) for outcome in shown)} |",
            "",
            self.note(found),
        ]

    def _without_file(self, found: Sequence[Row]) -> list[str]:
        lines = ["\n## Those without a file\n"]
        for row in found:
            if row.outcome not in (Outcome.RIGHT, Outcome.IDLE):
                said = row.detail.replace("|", "/").replace("`", "'")[:300]
                lines.append(f"- {row.sample}, {row.outcome}: {self.cause(row)}{said}")
        return lines if len(lines) > 1 else [*lines, "None."]
