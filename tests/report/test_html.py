"""HTML: well formed, escaped, readable without script, and nothing fetched from anywhere."""

import dataclasses
import math
from html.parser import HTMLParser
from pathlib import Path

import pytest

from onnxpert.core.types import Divergence, Finding, Location, Row, Severity, Verdict
from onnxpert.report import Report
from onnxpert.report.excerpt import Excerpt
from onnxpert.report.graph import Graph, GraphNode, NodeKind
from onnxpert.report.page.code import markdown
from onnxpert.report.page.proof import plot, share
from onnxpert.report.rule_note import RuleNote
from tests.report import made

EVIL = "<script>alert('&')</script>"
VOID = {"meta", "input"}


class Balance(HTMLParser):
    """Fails on a tag that is closed out of turn, and gathers the tags and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(text: str) -> Balance:
    parser = Balance()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_it_is_well_formed_and_says_everything(good: Report, bad: Report) -> None:
    for report in (good, bad):
        for text in (report._repr_html_(), report.as_html()):
            read = _read(text)
            for finding in report.findings:
                assert finding.message in read.text
                assert finding.help in read.text
            for row in report.verified:
                assert row.detail in read.text


def _evil() -> Report:
    at = Location(EVIL, 1, EVIL, EVIL, EVIL)
    finding = Finding(
        EVIL,
        Severity.ERROR,
        EVIL,
        at,
        EVIL,
        (EVIL,),
        True,
        EVIL,
        2,
        (EVIL, EVIL + "2"),
        (at,),
        EVIL,
    )
    row = Row(EVIL, EVIL, {EVIL: 1}, Verdict.FAIL, 1.0, 1.0, 1e-3, 1e-5, detail=EVIL)
    node = GraphNode(
        NodeKind.OPERATOR, EVIL, EVIL, (), (EVIL,), (EVIL,), EVIL, EVIL, place=0, findings=(0,)
    )
    return Report(
        ok=True,
        path=Path("x"),
        model=EVIL,
        target=EVIL,
        findings=(finding,),
        verified=(row,),
        timings={EVIL: 1.0},
        inputs=(EVIL,),
        outputs=(EVIL,),
        repairs=(EVIL,),
        versions={EVIL: EVIL},
        sha256=EVIL,
        divergence=Divergence(EVIL, EVIL, EVIL, at, EVIL),
        rules=(RuleNote(EVIL, EVIL, Severity.ERROR, EVIL, EVIL, EVIL),),
        excerpts=(Excerpt(EVIL, 1, (EVIL,)),),
        graph=Graph((node,), (at,)),
    )


def test_everything_is_escaped() -> None:
    assert "script" not in _read(_evil()._repr_html_()).tags
    text = _evil().as_html()
    assert text.count("<script") == 2  # the data and the page's own
    for each in (text, _evil()._repr_html_()):
        assert EVIL not in each
        assert "alert('&')" not in each.replace("alert('&')\\u003c", "")


def test_nothing_is_fetched() -> None:
    for report in (made.refused(), made.proven()):
        text = report.as_html()
        read = _read(text)
        assert read.tags.isdisjoint({"link", "img", "iframe", "object", "base"})
        links = [value for name, value in read.attributes if name in ("href", "src")]
        assert all(value and value.startswith("#") for value in links)
        assert "url(" not in text
        assert "@import" not in text
        assert "default-src 'none'" in text


def test_without_a_graph_there_is_no_script(good: Report) -> None:
    assert "script" not in _read(good.as_html()).tags


def test_a_notebook_gets_no_script() -> None:
    read = _read(made.refused()._repr_html_())
    assert "script" not in read.tags
    assert "onnxpert" in {value for name, value in read.attributes if name == "class"}


def test_both_colour_schemes(good: Report) -> None:
    assert "prefers-color-scheme:dark" in good._repr_html_()
    assert "prefers-color-scheme: dark" in good.as_html()


def test_links_lead_somewhere() -> None:
    for report in (made.refused(), made.proven()):
        attributes = _read(report.as_html()).attributes
        ids = [value for name, value in attributes if name == "id"]
        assert len(ids) == len(set(ids))
        wanted = {value for name, value in attributes if name == "href" and value}
        assert {value.removeprefix("#") for value in wanted} <= set(ids)
        assert [value for value in ids if value and value.startswith("finding-")] == [
            f"finding-{at}" for at in range(1, len(report.findings) + 1)
        ]


def test_many_findings_have_a_list_that_leads_to_each() -> None:
    few = made.refused()
    assert 'class="card contents"' not in few.as_html()
    many = dataclasses.replace(few, findings=few.findings[:1] * 6)
    links = [value for name, value in _read(many.as_html()).attributes if name == "href"]
    for at in range(1, 7):
        assert links.count(f"#finding-{at}") == 2, "in the list, and on the card"


def test_the_code_has_numbers_and_a_caret() -> None:
    text = made.refused().as_html()
    hit = '<span class="hit"><i>14</i>    spectrum = torch.linalg.eigvals(scores @ scores.mT).real'
    assert hit in text
    below = " " * 15 + "^" * 40
    assert f'<span class="caret" aria-hidden="true"><i></i>{below}</span>' in text
    assert '<span class="del">-        self.calls += 1</span>' in text
    assert '<span class="add">+        calls = self.calls + 1</span>' in text
    assert '<span class="at">--- a/model.py</span>' in text


def test_the_modules_are_listed_for_who_has_no_script() -> None:
    text = made.refused().as_html()
    assert "<b>attn</b>" in text
    assert "1 with a finding" in text


def test_the_page_of_a_rule_is_read() -> None:
    read = markdown(made.PAGE)
    assert "<h4>What it does</h4>" in read
    assert "<code>onnxpert</code>" in read
    assert "<ul><li>silently, if nobody looks</li><li>or not at all</li></ul>" in read
    assert "<pre>y = torch.linalg.eigvals(x)</pre>" in read


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (Row("a", "y", {}, Verdict.PASS, 0.0, 0.0, 1e-3, 1e-5), 0.0),
        (Row("a", "y", {}, Verdict.PASS, 1e-6, 1e-2, 1e-3, 1e-5), 0.1),
        (Row("a", "y", {}, Verdict.PASS, 1.0, 1e-4, 1e-3, 1e-5), 0.1),
        (Row("a", "y", {}, Verdict.FAIL, 1.0, 1.0, 0.0, 0.0), math.inf),
        (Row("a", "y", {}, Verdict.FAIL, math.nan, 0.0, 1e-3, 1e-5), math.inf),
        (Row("a", "y", {}, Verdict.REFUSED), None),
    ],
)
def test_the_share_of_the_tolerance(row: Row, wanted: float | None) -> None:
    assert share(row) == (wanted if wanted is None else pytest.approx(wanted))


def test_the_plot_has_a_dot_per_comparison() -> None:
    rows = made.proven().verified
    assert plot(rows).count("<circle") == sum(row.verdict is Verdict.PASS for row in rows)
    assert plot(rows * 3).count("<circle") == 45  # one lane per output then
    assert plot(()) == ""


def test_the_page_is_written(good: Report, tmp_path: Path) -> None:
    # A file name that is no UTF-8, as Linux allows.
    odd = dataclasses.replace(good, path=Path("net\udcff.onnx"))
    path = odd.to_html(tmp_path / "why.html")
    assert path == tmp_path / "why.html"
    assert "<title>Net: exported and proven: net" in path.read_text(encoding="utf-8")
