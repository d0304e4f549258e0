"""What a report is: the one value that every rendering reads."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.types import Divergence, Finding, Row, Symbol

if TYPE_CHECKING:
    from rich.console import RenderableType

SCHEMA = 1


class Action(StrEnum):
    """What was asked for, which decides the words of the verdict."""

    EXPORT = "export"
    DIAGNOSE = "diagnose"
    VERIFY = "verify"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A proven file, or every reason why there is none."""

    ok: bool  # exported (or exportable), and proven unless no proof was asked for
    path: Path | None = None
    findings: tuple[Finding, ...] = ()
    verified: tuple[Row, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)  # stage -> seconds, in walk order
    action: Action = Action.EXPORT
    model: str = ""  # the class's name
    target: str = ""
    opset: int | None = None
    ir_version: int | None = None
    strategy: str = ""  # "": nothing was captured
    nodes: int | None = None
    bytes: int | None = None
    sha256: str = ""
    inputs: tuple[str, ...] = ()  # `x: float32[batch, 3, h, w]`
    outputs: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    verify: bool = True  # was a proof asked for
    divergence: Divergence | None = None
    repairs: tuple[str, ...] = ()  # a sentence for each thing that was done
    symbols: tuple[Symbol, ...] = ()
    version: str = ""  # of onnxpert
    schema: int = SCHEMA

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def to_json(self) -> str:
        from onnxpert.report import json

        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that `to_json` wrote. Raises UsageError for any other text."""
        from onnxpert.report import json

        return json.loads(cls, text, schema=SCHEMA)

    def as_html(self) -> str:
        """One self-contained page."""
        from onnxpert.report import html

        return html.page(self)

    def to_html(self, path: str | Path) -> Path:
        """Write the page, and return where."""
        destination = Path(path)
        # A path of the user's may hold bytes that are no UTF-8, which Python keeps as surrogates.
        destination.write_text(self.as_html(), encoding="utf-8", errors="xmlcharrefreplace")
        return destination

    def __str__(self) -> str:
        from onnxpert.report import text

        return text.render(self)

    def __rich__(self) -> RenderableType:
        from onnxpert.report import layout, terminal

        return terminal.Painted(functools.partial(layout.lines, self))

    def _repr_html_(self) -> str:
        from onnxpert.report import html

        return html.fragment(self)
