"""`make docs` writes what the catalogues say, and its --check sees every kind of difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from onnxpert.diagnose import catalogue

REPO = Path(__file__).resolve().parents[2]


def build(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPO / "tools/build_docs.py", "--root", root, *words],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    done = build(root)
    assert done.returncode == 0, done.stderr
    return root


def test_every_rule_has_its_page_and_a_line_in_the_index(built: Path) -> None:
    index = (built / "docs/rules/README.md").read_text(encoding="utf-8")
    for rule in catalogue().values():
        page = (built / f"docs/rules/{rule.id}.md").read_text(encoding="utf-8")
        assert rule.page in page
        assert f"[{rule.id}]({rule.id}.md)" in index
    assert "`aten.relu.default`" in (built / "docs/lowerings.md").read_text(encoding="utf-8")


def test_what_was_just_written_is_fresh(built: Path) -> None:
    done = build(built, "--check")
    assert done.returncode == 0, done.stdout


def test_a_missing_a_changed_and_a_left_over_page_are_named(built: Path) -> None:
    docs = built / "docs"
    kept = {path: path.read_bytes() for path in docs.rglob("*.md")}
    (docs / "lowerings.md").unlink()
    (docs / "rules/README.md").write_text("something else", encoding="utf-8")
    (docs / "rules/OLD001.md").write_text("a rule that is gone", encoding="utf-8")

    done = build(built, "--check")

    (docs / "rules/OLD001.md").unlink()
    for path, content in kept.items():
        path.write_bytes(content)
    assert done.returncode == 1
    assert "docs/lowerings.md is missing" in done.stdout
    assert "docs/rules/README.md differs" in done.stdout
    assert "docs/rules/OLD001.md belongs to no rule" in done.stdout
    assert "make docs" in done.stderr
