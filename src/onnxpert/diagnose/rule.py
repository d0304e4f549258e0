"""What a rule is: an ID, the type of evidence it reads, a check that yields hits, and its page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from onnxpert.core.types import Hit, Severity

E = TypeVar("E")


@dataclass(frozen=True)
class Rule:
    """One reason why a model cannot be exported as it stands, and the page that explains it."""

    id: str
    name: str
    reads: type[Any]
    severity: Severity
    since: str
    check: Callable[[Any], Iterable[Hit]]
    page: str

    def section(self, title: str) -> str:
        """The text below `## title` on the page, or ""."""
        for part in self.page.split("\n## ")[0:]:
            head, _, body = part.removeprefix("## ").partition("\n")
            if head.strip() == title:
                return body.strip("\n")
        return ""


def rule(
    id: str, name: str, *, reads: type[E], severity: Severity, since: str
) -> Callable[[Callable[[E], Iterable[Hit]]], Rule]:
    """Make a `Rule` of a function; its docstring is the rule's page."""

    def decorate(check: Callable[[E], Iterable[Hit]]) -> Rule:
        return Rule(id, name, reads, severity, since, check, inspect.getdoc(check) or "")

    return decorate
