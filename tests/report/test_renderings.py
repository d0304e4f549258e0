"""Every rendering is found by its name and by its suffix, and takes any report."""

from pathlib import Path

import pytest
from hypothesis import given

from onnxpert.core.errors import UsageError
from onnxpert.report import Report, catalogue, for_file, named
from tests.report import made
from tests.report.test_json import reports

FORMATS = {"text", "json", "sarif", "junit", "github", "markdown", "html"}


def test_the_formats() -> None:
    assert set(catalogue()) == FORMATS
    assert all(each.about for each in catalogue().values())


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.sarif", "sarif"),
        ("a.xml", "junit"),
        ("a.md", "markdown"),
        ("A.HTML", "html"),
        ("a.json", "json"),
        ("a.txt", "text"),
    ],
)
def test_the_suffix_says_the_format(file: str, name: str, tmp_path: Path) -> None:
    assert for_file(Path(file)).name == name
    written = made.refused().write(tmp_path / file)
    assert written.read_text(encoding="utf-8").strip() == made.refused().render(name).strip()


def test_other_formats_are_refused() -> None:
    with pytest.raises(UsageError, match=r"the suffix of a\.doc says no format"):
        for_file(Path("a.doc"))
    with pytest.raises(UsageError, match="there is no format 'pdf'"):
        named("pdf")


@given(reports)
def test_every_report_has_every_rendering(report: Report) -> None:
    for name in FORMATS:
        assert report.render(name)
    assert report._repr_html_()
