"""The rules' pages, ready to be printed: one of them, or the list of all."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Severity
from onnxpert.diagnose import catalogue as known_rules
from onnxpert.diagnose.rule import Rule
from onnxpert.repair import catalogue as known_repairs
from onnxpert.report.grid import grid
from onnxpert.report.line import Line, Part, Role, line

if TYPE_CHECKING:
    from rich.console import RenderableType

_ROLES = {Severity.ERROR: Role.BAD, Severity.WARNING: Role.WARN, Severity.INFO: Role.INFO}


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to say about one rule."""

    rule: Rule
    repairs: tuple[str, ...]  # `cast-inputs (safe)`

    @property
    def title(self) -> str:
        return f"{self.rule.id} {self.rule.name}"

    @property
    def facts(self) -> str:
        cures = f", repaired by {', '.join(self.repairs)}" if self.repairs else ""
        return f"{self.rule.severity.value}, since {self.rule.since}{cures}"

    def __str__(self) -> str:
        return f"# {self.title}\n\n{self.facts}\n\n{self.rule.page.strip()}"

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.markdown import Markdown
        from rich.padding import Padding
        from rich.text import Text

        # rich centres a heading of the first level in a box; a page wants a plain title.
        title = Text.assemble((self.title, "bold"), f"  ({self.facts})")
        return Group(title, Padding(Markdown(self.rule.page), (1, 0, 0, 0)))


@dataclass(frozen=True, slots=True)
class Index:
    """Every rule in a line."""

    rules: tuple[Rule, ...]

    def lines(self, width: int | None = None) -> Iterator[Line]:
        rows = [
            (
                Part(rule.id, _ROLES[rule.severity]),
                Part(rule.severity.value),
                Part(rule.name, Role.STRONG),
                Part(gist(rule)),
            )
            for rule in self.rules
        ]
        heads = tuple(
            Part(name, Role.FAINT) for name in ("rule", "severity", "name", "what it does")
        )
        for block in grid([heads, *rows], width=width):
            yield from block
        yield Line()
        yield line("more: onnxpert explain ID")

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines()))

    def __rich__(self) -> RenderableType:
        from onnxpert.report.terminal import Painted

        return Painted(self.lines)


def page(asked: str) -> Page:
    """The page of a rule, by its ID or its name. Raises UsageError with the closest for others."""
    rules = known_rules()
    by_name = {rule.name: rule for rule in rules.values()}
    found = rules.get(asked.strip().upper()) or by_name.get(asked.strip().lower())
    if found is None:
        close = difflib.get_close_matches(asked.upper(), rules, n=3)
        close += difflib.get_close_matches(asked.lower(), by_name, n=3)
        help = f"did you mean {' or '.join(close)}?" if close else "onnxpert explain lists them all"
        raise UsageError(f"there is no rule {asked!r}", help)
    cures = (
        f"{cure.name} ({cure.safety.value})"
        for cure in known_repairs().values()
        if found.id in cure.cures
    )
    return Page(found, tuple(cures))


def index() -> Index:
    rules = known_rules()
    return Index(tuple(rules[id] for id in sorted(rules)))


def gist(rule: Rule) -> str:
    """The first sentence of the page."""
    text = " ".join(rule.section("What it does").split())
    first, stop, _ = text.partition(". ")
    return first if stop else text.removesuffix(".")
