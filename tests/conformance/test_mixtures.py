"""Random models: the same in every run, judged by their findings, and some of them for real."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import torch

from conformance.mixtures.drawing import DTYPES, draw, tensor
from conformance.mixtures.library import library
from conformance.mixtures.run import STUDY
from conformance.mixtures.trial import attempt
from conformance.results import Outcome, Row

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, of odd arguments


def test_a_seed_is_one_model() -> None:
    first, again = draw(5), draw(5)
    assert first.source == again.source
    assert all(map(torch.equal, first.inputs, again.inputs))
    assert draw(6).source != first.source
    assert 3 <= len(first.calls) <= 10
    compile(first.source, "mixture", "exec")
    assert re.match(r"        v0 = ", first.source.splitlines()[first.first_line - 1])


def test_the_library_is_wide() -> None:
    calls = library()
    assert len(calls) == len(set(calls)) > 250
    for name in ("torch.add({a}, {b})", "torch.sin({a})", "torch.amax({a}, dim={d})"):
        assert name in calls


def test_every_dtype_has_inputs() -> None:
    for dtype in DTYPES:
        drawn = tensor(random.Random(0), dtype, (3, 4))
        assert (str(drawn.dtype), drawn.shape) == (f"torch.{dtype}", (3, 4))


@pytest.mark.parametrize("first", [0, 40, 80, 120])
def test_some_of_them(first: int) -> None:
    found = {seed: attempt(seed) for seed in range(first, first + 4)}
    bad = {
        seed: (outcome, detail, source)
        for seed, (outcome, detail, source) in found.items()
        if outcome not in (Outcome.RIGHT, Outcome.REFUSED)
    }
    assert not bad
    assert sum(outcome is Outcome.RIGHT for outcome, *_ in found.values()) >= 3


def test_a_run_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert STUDY.main(["--first=0", "--count=2", "--jobs=1", f"--out={out}"]) == 0
    assert "| seeds | right | refused |" in capsys.readouterr().out
    assert f"from {len(library())} operators of torch" in out.read_text(encoding="utf-8")


def test_the_page_names_what_has_no_file() -> None:
    rows = [
        Row("mixture", "mixed", False, 0, Outcome.RIGHT, "", "v0 = x  # float32[2]"),
        Row("mixture", "mixed", False, 1, Outcome.REFUSED, "OPS501: no", "v0 = x  # bool[2]"),
    ]
    text = STUDY.written(rows)
    assert "| 2 | 1 | 1 | 0 | 0 | 0 |" in text
    assert "- 1, refused: OPS501: no" in text
    assert "float32 1, bool 1" in text
