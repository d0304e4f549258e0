"""What the README shows is what one gets: its script and its command, but for times and rounding."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
TEXT = (REPO / "README.md").read_text(encoding="utf-8")
# The digits that differ from run to run: times, paths in the file, errors of the size of rounding. Columns follow them.
CHANGING = re.compile(r"\d+(\.\d+)? [km]B|\d+(\.\d+)?m?s\b|\d\.\de-\d\d|(?<= )0(?= )")


def settled(text: str) -> list[str]:
    return [
        re.sub(r" +", " ", CHANGING.sub("~", line)).rstrip() for line in text.strip().splitlines()
    ]


def shown(opening: str) -> str:
    """The block of the README that begins with these words."""
    return next(
        block
        for block in re.findall(r"^```\w*\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
        if block.startswith(opening)
    )


def test_its_script_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = next(iter(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)))
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    exec(compile(script, "script.py", "exec"), {"__name__": "script"})
    assert settled(capsys.readouterr().out) == settled(shown("exported and proven"))


def test_its_diagnosis_is_what_the_command_says() -> None:
    command = re.search(r"`onnxpert (diagnose examples/\S+)`", TEXT)
    assert command is not None
    done = subprocess.run(
        [sys.executable, "-m", "onnxpert", *command[1].split()],
        capture_output=True, text=True, check=False, cwd=REPO,
    )  # fmt: skip
    assert settled(done.stdout) == settled(shown("not exportable"))
    assert done.returncode == 1
