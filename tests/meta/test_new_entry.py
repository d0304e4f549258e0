"""`make new` writes a file that is in its place and that its catalogue takes up."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import onnxpert

REPO = Path(__file__).resolve().parents[2]
CATALOGUES = {
    "rule": "onnxpert.diagnose",
    "repair": "onnxpert.repair",
    "target": "onnxpert.targets",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package to write into."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(onnxpert.__file__).parent, tmp_path / "src/onnxpert", ignore=ignore)
    return tmp_path


def new(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPO / "tools/new_entry.py", *words, "--root", tree],
        capture_output=True,
        text=True,
        check=False,
    )


def catalogue(tree: Path, kind: str) -> list[str]:
    program = f"from {CATALOGUES[kind]} import catalogue; print(*catalogue())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tree / "src",  # the current directory comes before the installed package
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("kind", "id", "name", "file", "key"),
    [
        ("rule", "SHP999", "some-ill", "diagnose/rules/shapes/shp999_some_ill.py", "SHP999"),
        ("repair", "SHP999", "mend-it", "repair/repairs/mend_it.py", "mend-it"),
        ("target", "", "some-cpu", "targets/runtimes/some_cpu.py", "some-cpu"),
    ],
)
def test_a_new_entry_is_in_the_catalogue(
    tree: Path, kind: str, id: str, name: str, file: str, key: str
) -> None:
    if kind == "repair":
        assert new(tree, "rule", "--id", id, "--name", "some-ill").returncode == 0
    done = new(tree, kind, "--id", id, "--name", name)
    assert done.returncode == 0, done.stderr
    assert (tree / "src/onnxpert" / file).exists()
    assert key in catalogue(tree, kind)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rul", "--id", "SHP999", "--name", "a-b"], "KIND=rul is not one of"),
        (["rule", "--id", "SHP9", "--name", "a-b"], "three letters and three digits"),
        (["rule", "--id", "SHP999", "--name", "Some_Name"], "words joined by dashes"),
        (["rule", "--id", "XYZ999", "--name", "a-b"], "there is no family XYZ"),
        (["repair", "--id", "SHP998", "--name", "a-b"], "there is no rule SHP998"),
        (["target", "--name", "ort-cpu"], "targets/runtimes/ort_cpu.py is there already"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    tree: Path, words: list[str], message: str
) -> None:
    done = new(tree, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_taken_id_is_refused_and_a_free_one_named(tree: Path) -> None:
    assert new(tree, "rule", "--id", "SHP997", "--name", "some-ill").returncode == 0
    done = new(tree, "rule", "--id", "SHP997", "--name", "other-ill")
    assert done.returncode == 2
    assert "SHP997 is shp997_some_ill.py; the next free one is SHP998" in done.stderr
