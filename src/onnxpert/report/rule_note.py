"""What a report says of a rule that fired, so that a reader need not have the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from onnxpert.core.types import Severity


@dataclass(frozen=True, slots=True)
class RuleNote:
    """A rule as its page tells it."""

    id: str
    name: str
    severity: Severity
    gist: str  # what it does, in a sentence
    page: str = ""  # the whole page, in Markdown
    uri: str = ""  # where the page is published; "": nowhere that is known
