"""The pages of the rules on the command line."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from onnxpert.cli import main
from onnxpert.core.types import Captured, Finding, Hit, Loaded, Safety, Severity
from onnxpert.diagnose.rule import rule
from onnxpert.engine import pages
from onnxpert.repair.repair import repair


@rule("SHP201", "data-dependent-dim", reads=Captured, severity=Severity.WARNING, since="0.1")
def data_dependent_dim(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Looks for a size that depends on the values of a tensor. More of it below.

    ## Example
    ```python
    x = torch.ones(3)
    y = x[x > 0]
    ```
    """
    yield from ()


@rule("CAP104", "training-mode", reads=Loaded, severity=Severity.ERROR, since="0.2")
def training_mode(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Sees that the model is in training mode.
    """
    yield from ()


@repair("switch-to-eval", cures=("CAP104",), safety=Safety.UNSAFE)
def switch_to_eval(loaded: Loaded, finding: Finding) -> Loaded:
    return loaded


@pytest.fixture(autouse=True)
def _catalogues(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {each.id: each for each in (data_dependent_dim, training_mode)}
    monkeypatch.setattr(pages, "known_rules", lambda: known)
    monkeypatch.setattr(pages, "known_repairs", lambda: {"switch-to-eval": switch_to_eval})


LIST = """\
  rule    severity  name                what it does
  CAP104  error     training-mode       Sees that the model is in training mode
  SHP201  warning   data-dependent-dim  Looks for a size that depends on the values of a tensor

more: onnxpert explain ID
"""


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert capsys.readouterr().out == LIST


@pytest.mark.parametrize("word", ["CAP104", "cap104", "training-mode"])
def test_a_page(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert main(["explain", word]) == 0
    assert capsys.readouterr().out == (
        "# CAP104 training-mode\n\n"
        "error, since 0.2, repaired by switch-to-eval (unsafe)\n\n"
        "## What it does\nSees that the model is in training mode.\n"
    )


@pytest.mark.parametrize(
    ("word", "help"),
    [
        ("SHP210", "did you mean SHP201?"),
        ("trainingmode", "did you mean training-mode?"),
        ("?", "onnxpert explain lists them all"),
    ],
)
def test_an_unknown_rule(capsys: pytest.CaptureFixture[str], word: str, help: str) -> None:
    assert main(["explain", word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"error: there is no rule '{word}'\n  = help: {help}\n"


def test_in_a_terminal() -> None:
    file = io.StringIO()
    console = Console(file=file, width=60)
    console.print(pages.index())
    console.print(pages.page("SHP201"))
    drawn = file.getvalue()
    assert max(map(len, drawn.splitlines())) <= 60
    assert "SHP201 data-dependent-dim  (warning, since 0.1)" in drawn
    assert "y = x[x > 0]" in drawn
    assert "```" not in drawn
