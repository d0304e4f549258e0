"""What a report is: the one value that every rendering reads."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.types import Divergence, Finding, Quantised, Row, Symbol, replace
from onnxpert.report.excerpt import Excerpt
from onnxpert.report.graph import Graph
from onnxpert.report.rule_note import RuleNote

if TYPE_CHECKING:
    from rich.console import RenderableType

# Major and minor: a field more is a minor step, which readers of the same major take as it comes.
SCHEMA = "1.3"


class Action(StrEnum):
    """What was asked for, which decides the words of the verdict."""

    EXPORT = "export"
    DIAGNOSE = "diagnose"
    VERIFY = "verify"
    CHECK = "check"
    FILL = "fill"


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
    runtime: str = ""  # what the proof ran on, where that is not the target
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
    schema: str = SCHEMA
    rules: tuple[RuleNote, ...] = ()  # those that fired
    checked: tuple[str, ...] = ()  # the IDs of all rules that were asked
    excerpts: tuple[Excerpt, ...] = ()  # the source around each place
    quantised: Quantised | None = (
        None  # what the last step cost; `verified` is of the file before it
    )
    graph: Graph | None = None  # None: nothing was lowered, or it was left out of the JSON

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def to_json(self, *, graph: bool = False) -> str:
        """The whole report; its graph, which is as long as the model, only on request."""
        from onnxpert.report import json

        return json.dumps(self if graph else replace(self, graph=None))

    @classmethod
    def from_json(cls, text: str) -> Report:
        """The report that `to_json` wrote, in any version of the same major number of the schema.

        Raises UsageError for any other text."""
        from onnxpert.report import json

        return json.loads(cls, text, schema=SCHEMA)

    def render(self, format: str = "text") -> str:
        """The report in one of its renderings: text, json, sarif, junit, github, markdown, html."""
        from onnxpert.report import named

        return named(format).render(self)

    def write(self, path: str | Path, format: str | None = None) -> Path:
        """Write a rendering, by default the one that the suffix asks for, and return where."""
        from onnxpert.report import for_file, named

        destination = Path(path)
        chosen = named(format) if format else for_file(destination)
        # A path of the user's may hold bytes that are no UTF-8, which Python keeps as surrogates.
        lossless = "xmlcharrefreplace" if chosen.name == "html" else "backslashreplace"
        text = chosen.render(self).rstrip("\n") + "\n"
        destination.write_text(text, encoding="utf-8", errors=lossless, newline="\n")
        return destination

    def as_html(self) -> str:
        """One self-contained page."""
        return self.render("html")

    def to_html(self, path: str | Path) -> Path:
        """Write the page, and return where."""
        return self.write(path, "html")

    def __str__(self) -> str:
        return self.render("text")

    def __rich__(self) -> RenderableType:
        from onnxpert.report import layout, terminal

        return terminal.Painted(functools.partial(layout.lines, self))

    def _repr_html_(self) -> str:
        from onnxpert.report.page import notebook

        return notebook.fragment(self)
