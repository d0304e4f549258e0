"""The graph on the page: its data for the script that draws it, and its modules as a list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from onnxpert.report import verdict, words
from onnxpert.report.graph import Graph, GraphNode, NodeKind
from onnxpert.report.page.tag import Markup, tag
from onnxpert.report.report import Report

MOST_KINDS = 6  # operator types named for a module
HINT = "drag to move, ctrl + wheel or pinch to zoom, double click to fold"
_LEGEND = {
    "matrix": "matrix and convolution",
    "norm": "normalisation",
    "act": "activation",
    "reduce": "reduction and pooling",
    "math": "arithmetic",
    "shape": "shape and indexing",
    "flow": "control flow",
}


def section(report: Report) -> Markup:
    if report.graph is None or not report.graph.nodes:
        return Markup("")
    legend = [tag("span", text, style=f"--of:var(--c-{key})") for key, text in _LEGEND.items()]
    live = tag(
        "div",
        _tools(),
        tag(
            "div",
            tag("canvas", tabindex=0, aria_label="the graph; its modules are listed below"),
            tag("div", hidden="", class_="panel", aria_live="polite"),
            class_="stage",
        ),
        tag("div", *legend, tag("span", HINT, class_="hint"), class_="legend"),
        class_="needs-script",
    )
    return tag(
        "section",
        tag("h2", "Graph"),
        tag("p", _said(report.graph)),
        tag("div", live, _outline(report.graph), class_="card graph"),
        _data(report),
        id="graph",
    )


def _tools() -> Markup:
    return tag(
        "div",
        Markup(
            '<input type="search" placeholder="search operator, name, module, shape, line"'
            ' aria-label="search the graph" spellcheck="false">'
        ),
        tag("span", class_="found", aria_live="polite"),
        tag("button", "next", type="button", data_do="next", hidden=""),
        tag("button", "fold all", type="button", data_do="fold"),
        tag("button", "unfold all", type="button", data_do="unfold"),
        tag("button", "fit", type="button", data_do="fit"),
        tag(
            "button", "\u2212", type="button", data_do="out", class_="square", aria_label="zoom out"
        ),
        tag("button", "+", type="button", data_do="in", class_="square", aria_label="zoom in"),
        class_="tools",
    )


def _said(graph: Graph) -> str:
    operators = sum(node.op != "" for node in graph.nodes)
    bad = sum(bool(node.findings) or node.diverges or _missing(node) for node in graph.nodes)
    marked = f", {bad:,} of them with a finding" if bad else ""
    return words.several(operators, "operator") + marked


def _missing(node: GraphNode) -> bool:
    return node.kind is NodeKind.MISSING


def _data(report: Report) -> Markup:
    """What the script draws; a `<` inside would end the element that holds it."""
    assert report.graph is not None
    order = [report.findings.index(each) for each in verdict.ordered(report)]
    number = {index: at for at, index in enumerate(order, start=1)}
    plain = {
        "nodes": [
            [
                list(NodeKind).index(node.kind),
                node.op,
                node.name,
                node.inputs,
                node.types,
                node.weights,
                node.module,
                node.body,
                -1 if node.place is None else node.place,
                sorted(number[index] for index in node.findings if index in number),
                int(node.diverges),
            ]
            for node in report.graph.nodes
        ],
        "places": [[words.path(at.file), at.line, at.code] for at in report.graph.places],
        "findings": {
            str(at): [
                "repaired" if each.repaired else each.severity.value,
                each.rule,
                each.message,
            ]
            for at, each in enumerate(verdict.ordered(report), start=1)
        },
    }
    text = json.dumps(plain, separators=(",", ":")).replace("<", "\\u003c")
    return tag("script", Markup(text), type="application/json", id="graph-data")


@dataclass
class _Module:
    """A module of the model, while its nodes are counted."""

    parts: dict[str, _Module] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    bad: int = 0

    def total(self) -> int:
        return self.kinds.total() + sum(part.total() for part in self.parts.values())

    def sick(self) -> int:
        return self.bad + sum(part.sick() for part in self.parts.values())


def _outline(graph: Graph) -> Markup:
    """Every module with what is in it: what can be read without a script."""
    root = _Module()
    for node in graph.nodes:
        if not node.op:
            continue
        here = root
        for part in filter(None, (*node.module.split("."), node.body)):
            here = here.parts.setdefault(part, _Module())
        here.kinds[node.op] += 1
        here.bad += bool(node.findings) or node.diverges or _missing(node)
    return tag("details", tag("summary", "Modules"), tag("ul", *_items(root)), class_="tree")


def _items(module: _Module) -> Iterable[Markup]:
    if module.kinds:
        yield tag("li", tag("code", _kinds(module)))
    for name, part in module.parts.items():
        label = [tag("b", name), tag("span", words.several(part.total(), "node"), class_="mute")]
        if part.sick():
            label.append(tag("span", f" {part.sick()} with a finding", class_="sick"))
        yield tag("li", tag("details", tag("summary", *label), tag("ul", *_items(part))))


def _kinds(module: _Module) -> str:
    many = module.kinds.most_common()
    shown = [f"{kind} \u00d7{count}" if count > 1 else kind for kind, count in many[:MOST_KINDS]]
    rest = len(many) - len(shown)
    return ", ".join(shown) + (f" and {rest} more kinds" if rest else "")
