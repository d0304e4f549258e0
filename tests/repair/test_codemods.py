"""Every codemod on the code it is for: the text that comes out, and that it computes the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnxpert.core.types import Safety
from onnxpert.diagnose import catalogue as rules
from onnxpert.engine.fixing import fix, searching
from onnxpert.engine.fixing.plain import agree
from onnxpert.engine.fixing.trying import Job, Tried
from onnxpert.repair.rewriting import catalogue, diff, rewritten
from onnxpert.repair.source import text as files
from onnxpert.report import Report

from .cases import CASES, source

ALL = [
    pytest.param(name, body, new, id=f"{name}-{number}")
    for name, cases in CASES.items()
    for number, (body, new) in enumerate(cases)
]


def test_every_codemod_has_a_case_and_cures_a_rule() -> None:
    assert CASES.keys() == catalogue().keys()
    for each in catalogue().values():
        assert each.cures
        assert set(each.cures) <= rules().keys(), each.name
        assert each.about


def job(path: Path) -> Job:
    return Job(f"{path}:Net", (), None, True, {})


@pytest.mark.parametrize(("name", "body", "new"), ALL)
def test_a_codemod(name: str, body: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(source(body), encoding="utf-8")
    work = job(path)
    before = {path: source(body)}
    after = rewritten(before, [catalogue()[name]], work.look)
    if new or name == "stop-printing":
        assert after != before
    assert new in after[path]
    kept = before if catalogue()[name].safety is Safety.SAFE else after
    if after != before:
        assert agree(work.outcomes(kept), work.outcomes(after))
        # What is not the codemod's business is as it was, to the last blank.
        shown = [line for line in diff(before, after).splitlines() if line[:1] in "+-"]
        assert len(shown) <= 15, shown


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_clean_model_is_left_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    text = source("x = x + 1\nb, n = x.shape\nreturn self.fc(x).reshape(b, n) * math.sqrt(2)")
    path.write_text(text, encoding="utf-8")
    assert rewritten({path: text}, [catalogue()[name]], job(path).look)[path] == text


def test_a_file_is_written_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    head = "# -*- coding: latin-1 -*-\n# gr\xf6\xdfe\n"
    raw = (head + source("if x.sum() > 0:\n    x = x * 2\nreturn x")).replace("\n", "\r\n")
    path.write_bytes(raw.encode("latin-1"))
    path.chmod(0o751)
    work = job(path)
    text = files.read(path)
    after = rewritten({path: text.content}, [catalogue()["choose-with-where"]], work.look)
    files.write(text, after[path])
    written = path.read_bytes()
    assert b"torch.where(x.sum() > 0, x * 2, x)\r\n" in written
    assert written.count(b"\n") == written.count(b"\r\n")
    assert b"gr\xf6\xdfe" in written
    assert oct(path.stat().st_mode & 0o777) == "0o751"
    assert os.listdir(tmp_path) == ["net.py"]


def test_what_needs_torch_imports_it(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    text = (
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport torch.nn as nn\n\n\n'
        "class Net(nn.Module):\n    def forward(self, x):\n        return x if x.sum() > 0 else -x\n\n\n"
        "def example_inputs():\n    import torch\n\n    return (torch.randn(3),)\n"
    )
    path.write_text(text, encoding="utf-8")
    after = rewritten({path: text}, [catalogue()["choose-with-where"]], job(path).look)[path]
    assert "annotations\n\nimport torch\nimport torch.nn as nn\n" in after


def test_a_codemod_is_kept_where_it_does_no_harm(tmp_path: Path) -> None:
    """Of two numbers taken out of tensors, Python needs one: it is a part of a name."""
    path = tmp_path / "net.py"
    text = source(
        "kinds = {'0': 1.0, '1': 2.0}\nkind = kinds[str((x > 9).sum().item())]\n"
        "top = x.max().item()\nreturn x * kind / top"
    )
    path.write_text(text, encoding="utf-8")
    work = job(path)
    goal = searching.Score(traced=False, runs=0)
    as_it_is = Tried(Report(ok=False))
    (sound,) = searching.Search(work, {path: text}, as_it_is, goal).sound()
    assert sound.name == "keep-as-tensor"
    after = rewritten({path: text}, [sound], work.look)[path]
    assert "top = x.max()\n" in after
    assert "kinds[str((x > 9).sum().item())]" in after


def test_two_changes_that_only_do_together(tmp_path: Path) -> None:
    """A tensor is no key of a dict, and a number needs no comparison with each of them."""
    path = tmp_path / "net.py"
    body = (
        "gains = {0: 1.0, 1: 0.5, 2: 4.0}\nk = x.sum(0).argmax().item() % 3\n"
        "m = x.max().item()\nreturn x * gains[k] / m"
    )
    path.write_text(source(body), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert fixed.plain
    assert {"keep-as-tensor", "compare-with-each-key"} <= {name for name, _ in fixed.codemods}


def test_a_vote_by_a_counter(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    body = (
        "from collections import Counter\nvotes = (x.T.argmax(1) + 1).tolist()\n"
        "return x * Counter(votes).most_common(1)[0][0]"
    )
    path.write_text(source(body), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert fixed.plain, fixed.notes
    assert "votes[(votes[:, None] == votes).sum(1).argmax()]" in fixed.diff


def test_a_cell_by_hand_is_a_scan_at_every_length(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    body = (
        "h, rows = torch.zeros(len(x), 8), []\nfor t in range(x.shape[1]):\n"
        "    h = torch.tanh(self.fc(x[:, t]) + h)\n    if t % 2 == 0:\n        h = h * 0.9\n"
        "    rows.append(h)\nreturn torch.stack(rows, 1)"
    )
    path.write_text(source(body), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", ["x=float32[b=2,t=5,8]"], evaluate=True)
    assert fixed.plain
    assert "torch._higher_order_ops.scan(step, h, " in fixed.diff


def test_rows_repeated_by_numbers_are_repeated_at_once(tmp_path: Path) -> None:
    """A number that a turn takes out of its row is kept in it first: no map of all rows could take it."""
    path = tmp_path / "net.py"
    body = (
        "many, rows = (x.sum(1).abs() * 3).long(), []\nfor i in range(len(x)):\n"
        "    n = int(many[i].item())\n    rows.append(x[i : i + 1].expand(max(n, 0), -1))\n"
        "return torch.cat(rows, dim=0)"
    )
    path.write_text(source(body), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", ["x=float32[n=3,8]"], evaluate=True)
    assert "torch.repeat_interleave(rows, rows_times, dim=0)" in fixed.diff, fixed.notes
    assert "rows, rows_times = torch.vmap(each)(" in fixed.diff


def test_a_loop_that_reads_a_global_name_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "turning.py"  # torch remembers modules by their names
    body = (
        "steps = 0\nwhile True:\n    y = torch.tanh(x) * 0.9\n    change = (y - x).abs().max()\n"
        "    x = y\n    steps += 1\n    if change < 1e-3 or steps >= MOST:\n        break\nreturn x"
    )
    path.write_text(source(body).replace("TABLES =", "MOST = 30\nTABLES ="), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", evaluate=True)
    assert fixed.plain, fixed.notes
    assert "while_loop(goes_on, turn, " in fixed.diff


def test_no_comment_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    text = source(
        "# one\nif x.sum() > 0:  # two\n    # three\n    y = x  # four\nelse:  # five\n    y = -x\n"
        "    # six\n# seven\nreturn y"
    )
    path.write_text(text, encoding="utf-8")
    after = rewritten({path: text}, [catalogue()["choose-with-where"]], job(path).look)[path]
    assert "torch.where" in after
    for word in ("one", "two", "three", "four", "five", "six", "seven"):
        assert f"# {word}\n" in after


HALVES = """\
import torch


def gain(x):
    return x.abs().max().item()


class Base(torch.nn.Module):
    def forward(self, x):
        top = gain(x)
        if top > 1:
            x = self.part(x) / top
        return x
"""
WHOLE = """\
import torch
from halves import Base


class Net(Base):
    def __init__(self):
        super().__init__()
        self.part = torch.nn.Linear(8, 8)


def example_inputs():
    return (torch.full((2, 8), 0.5),)
"""


def test_every_file_that_the_model_runs_through_is_mended_on_both_sides_of_a_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the class nor its parts are in the file with the trouble, and the example misses a side."""
    (tmp_path / "halves.py").write_text(HALVES, encoding="utf-8")
    (tmp_path / "net.py").write_text(WHOLE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fixed = fix.fix("net.py:Net", evaluate=True)
    assert fixed.plain
    assert "+    return x.abs().max()\n" in fixed.diff
    assert "+        x = torch.where(top > 1, self.part(x) / top, x)\n" in fixed.diff


LOGS = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.means, self.tops, self.calls = [], {}, 0
        self.register_buffer("turns", torch.zeros(()))

    def forward(self, x):
        self.means.append(x.mean())
        self.tops["x"] = x.max()
        self.calls += 1
        self.turns += 1
        return x * 2


class Loop:
    def step(self, x):
        self.losses.append(x)


def example_inputs():
    return (torch.randn(2, 8),)
"""


def test_a_log_that_nobody_reads_is_kept_outside_of_exports_and_state_stays(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(LOGS, encoding="utf-8")
    after = rewritten({path: LOGS}, [catalogue()["keep-values-local"]], job(path).look)[path]
    for line in ("self.means.append(x.mean())", 'self.tops["x"] = x.max()', "self.calls += 1"):
        assert f"if not torch.compiler.is_exporting():\n            {line}\n" in after
    assert "        self.turns += 1\n        return x * 2\n" in after
    assert "self.losses.append(x)" in after, "no part of the model"


BY_SIZE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        {}n = x.shape[1]
        if n % 2:
            x = torch.cat([x, x[:, -1:]], 1)
        return x.unflatten(1, (-1, 2)).sum(2)
"""


@pytest.mark.parametrize(
    "more", ["", "print(x.sum().item())\n        "], ids=["as it is", "mended"]
)
def test_a_wrong_file_of_torchs_is_not_praised(more: str, tmp_path: Path) -> None:
    """It has the side of odd sizes only, which no larger prime shows."""
    path = tmp_path / "net.py"
    path.write_text(BY_SIZE.format(more), encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", ["x=float32[2,n=9]"], evaluate=True)
    assert not fixed.plain
    assert bool(fixed.diff) is bool(more)
    (warning,) = (note for note in fixed.notes if "torch.onnx.export" in note)
    assert "wrong at n=" in warning


def test_a_number_in_a_product_is_read_from_the_input(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    text = source("b = x.shape[0]\nreturn self.fc(x.reshape(b * 5, 8)).reshape(b, 5, 8)")
    path.write_text(text, encoding="utf-8")
    fixed = fix.fix(f"{path}:Net", ["x=float32[b=2,n=5,8]"], evaluate=True)
    assert fixed.plain
    assert "x.reshape(b * x.shape[1], 8)).reshape(b, x.shape[1], 8)" in fixed.diff
