"""HTML: well formed, escaped, light and dark, and nothing fetched from anywhere."""

import dataclasses
from html.parser import HTMLParser
from pathlib import Path

from onnxpert.core.types import Divergence, Finding, Location, Row, Severity, Verdict
from onnxpert.report import Report

EVIL = "<script>alert('&')</script>"
VOID = {"meta"}


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


def test_everything_is_escaped() -> None:
    finding = Finding(
        EVIL, Severity.ERROR, EVIL, Location(EVIL, 1, EVIL, EVIL, EVIL), EVIL, (EVIL,), True, EVIL
    )
    row = Row(EVIL, EVIL, {EVIL: 1}, Verdict.FAIL, detail=EVIL)
    report = Report(
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
        divergence=Divergence(EVIL, EVIL, EVIL, None, EVIL),
    )
    for text in (report._repr_html_(), report.as_html()):
        assert EVIL not in text
        assert "script" not in _read(text).tags


def test_nothing_is_fetched(good: Report) -> None:
    read = _read(good.as_html())
    assert read.tags.isdisjoint({"script", "link", "img", "iframe"})
    assert all(value and value.startswith("#") for name, value in read.attributes if name == "href")
    assert "url(" not in good.as_html()
    assert "@import" not in good.as_html()


def test_both_colour_schemes(good: Report) -> None:
    assert "prefers-color-scheme:dark" in good._repr_html_()


def test_every_finding_has_an_anchor(good: Report) -> None:
    assert {value for name, value in _read(good.as_html()).attributes if name == "id"} == {
        "finding-1",
        "finding-2",
    }


def test_the_page_is_written(good: Report, tmp_path: Path) -> None:
    # A file name that is no UTF-8, as Linux allows.
    odd = dataclasses.replace(good, path=Path("net\udcff.onnx"))
    path = odd.to_html(tmp_path / "why.html")
    assert path == tmp_path / "why.html"
    assert "<title>Net: exported and proven: net" in path.read_text(encoding="utf-8")
