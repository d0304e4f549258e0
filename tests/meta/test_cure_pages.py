"""docs/fix.md, docs/doctor.md and docs/limits.md are true: their code and commands run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from onnxpert.cli import main
from onnxpert.repair.rewriting import catalogue

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["doctor.md", "limits.md"])
def test_the_code_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(BLOCK.findall((DOCS / name).read_text(encoding="utf-8")))
    script = tmp_path / f"{Path(name).stem}_page.py"
    script.write_text(text, encoding="utf-8")
    exec(compile(text, str(script), "exec"), {"__name__": "page"})
    if name == "limits.md":
        assert list((tmp_path / "repro").glob("*.py"))


@pytest.mark.parametrize(
    "words", [["doctor", "--runtime-version", "1.17", "--quiet"], ["doctor", "--json", "--quiet"]]
)
def test_the_commands_of_the_doctor(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert f"$ onnxpert {' '.join(words[:-1])}" in (DOCS / "doctor.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out


def test_the_diff_of_the_page_is_what_is_printed_and_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "fix.md").read_text(encoding="utf-8")
    found = re.search(r"```python file=net\.py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown = re.search(r"^\$ onnxpert fix [^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found
    assert shown
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(found[1], encoding="utf-8")
    assert main(["fix", "net.py:Net", "--quiet", "--apply", "--report", "fix.sarif"]) == 0
    assert "torch.where" in Path("fix.sarif").read_text(encoding="utf-8")
    told = capsys.readouterr()
    assert told.out == shown[1]
    assert "torch.onnx.export takes it by itself" in told.err
    assert "torch.where(x.sum() > 0, self.fc(x), -x)" in Path("net.py").read_text(encoding="utf-8")
    assert main(["fix", "net.py:Net", "--quiet"]) == 0
    assert "nothing to mend" in capsys.readouterr().err


def test_every_codemod_is_on_the_page() -> None:
    text = (DOCS / "fix.md").read_text(encoding="utf-8")
    for each in catalogue().values():
        rules = " ".join(f"[{rule}](rules/{rule}.md)" for rule in each.cures)
        assert f"| `{each.name}` | {rules} | {each.about.splitlines()[0]} |" in text


@pytest.mark.parametrize("name", ["fix.md", "doctor.md", "limits.md"])
def test_every_rule_that_a_page_names_is_there(name: str) -> None:
    for page in re.findall(r"\((rules/\w+\.md)\)", (DOCS / name).read_text(encoding="utf-8")):
        assert (DOCS / page).is_file(), page


def test_without_libcst_only_fix_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "libcst", None)
    assert main(["fix", "net.py:Net", "--quiet"]) == 2
    assert "pip install libcst" in capsys.readouterr().err
    package = DOCS.parent / "src" / "onnxpert"
    users = [path for path in package.rglob("*.py") if "import libcst" in path.read_text("utf-8")]
    assert {path.parent.name for path in users} == {"codemods", "source"}
    fixing = re.compile(r"^from onnxpert\.repair\.(rewriting|codemod|source)", re.MULTILINE)
    outside = [path for path in package.rglob("*.py") if fixing.search(path.read_text("utf-8"))]
    assert {path.relative_to(package).parts[0] for path in outside} == {"repair", "engine"}
    engine = {path.stem for path in outside if "engine" in path.relative_to(package).parts}
    assert engine == {"fix", "searching", "offering", "trying"}
    of_fix = re.compile(
        rf"^\s*from onnxpert\.engine\.fixing(\.({'|'.join(engine)})\b| import .*\bfix\b)",
        re.MULTILINE,
    )
    users = [path for path in package.rglob("*.py") if of_fix.search(path.read_text("utf-8"))]
    assert {path.stem for path in users} <= engine
    assert {path.parent.name for path in users} == {"fixing", "commands"}
