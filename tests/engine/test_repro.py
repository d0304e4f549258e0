"""Reproducers: small, self-contained, and seen to fail with torch alone."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.engine.repro.code import Part, script

FACTOR = 3


def tripled(t: torch.Tensor) -> torch.Tensor:
    return t * FACTOR


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("w", torch.randn(8))

    def scale(self, t: torch.Tensor) -> torch.Tensor:
        return t * self.w

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.fc(x)
        b = self.scale(a)
        c = tripled(b)
        d = c * int(f"{x.sum():.0f}")
        e = d + 1
        f = e + float(f"{x.mean():.3f}")
        return f.relu()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), Block())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.layers(x)
        return result


class Eigen(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return torch.linalg.eigvals(y @ y.T).abs().sum()


class Pairs(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.relu()
        z = y.view(2, 2, 2)
        return z + 1


class Described(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        text = json.dumps(x.tolist())
        return x + len(text)


def fails(script: Path) -> str:
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, cwd=script.parent
    )
    assert done.returncode != 0
    return done.stderr


def test_a_blocker_of_a_part_has_a_script_of_its_few_lines(tmp_path: Path) -> None:
    report = onnxpert.diagnose(Net().eval(), (torch.randn(2, 8),), repro=tmp_path / "repro")
    assert not report.ok
    scripts = sorted((tmp_path / "repro").glob("*.py"))
    assert len(scripts) == 2, "one for each of the two lines"
    total, mean = (each.read_text(encoding="utf-8") for each in scripts)
    assert "x.sum()" in total
    assert "x.mean()" not in total
    assert "x.mean()" in mean
    assert "x.sum()" not in mean
    for text in (total, mean):
        assert "onnxpert" not in text
        assert "self.fc" not in text
        assert len(text.splitlines()) < 25
    assert "unsupported format string" in fails(scripts[0])
    issue = scripts[0].with_suffix(".md").read_text(encoding="utf-8")
    assert total.strip() in issue
    assert f"- torch: {version('torch')}" in issue


def test_an_operator_without_a_lowering_has_a_script_of_one_call(tmp_path: Path) -> None:
    report = onnxpert.diagnose(Eigen().eval(), (torch.randn(2, 8),), repro=tmp_path)
    assert [finding.rule for finding in report.findings if finding.blocks] == ["OPS501"]
    (script,) = tmp_path.glob("*.py")
    text = script.read_text(encoding="utf-8")
    assert "torch.ops.aten.linalg_eigvals.default(x0)" in text
    assert "args = (torch.randn([2, 2]),)" in text
    assert "linalg_eig" in fails(script)


def test_a_model_that_exports_leaves_no_folder(tmp_path: Path) -> None:
    onnxpert.diagnose(nn.Linear(3, 3).eval(), (torch.randn(2, 3),), repro=tmp_path / "repro")
    assert not (tmp_path / "repro").exists()


def test_a_blocker_that_torch_does_not_have_is_not_blamed_on_torch(tmp_path: Path) -> None:
    model = nn.Linear(3, 3).eval()
    report = onnxpert.diagnose(model, (torch.randn(2, 3),), opset_version=99, repro=tmp_path / "r")
    assert not report.ok
    assert not (tmp_path / "r").exists()


def test_a_size_that_is_fixed_is_shown_with_the_size_dynamic(tmp_path: Path) -> None:
    x = torch.randn(2, 4)
    report = onnxpert.diagnose(Pairs().eval(), (x,), dynamic_shapes=({0: "n"},), repro=tmp_path)
    assert [finding.rule for finding in report.findings if finding.blocks] == ["SHP201"]
    (script,) = tmp_path.glob("*.py")
    text = script.read_text(encoding="utf-8")
    assert 'dynamic_shapes = {"x": {0: torch.export.Dim.DYNAMIC}}' in text
    assert "view(2, 2, 2)" in text
    assert "dynamic" in fails(script)


def test_a_line_has_one_script_which_returns_what_it_makes(tmp_path: Path) -> None:
    report = onnxpert.diagnose(Described().eval(), (torch.randn(2, 4),), repro=tmp_path)
    assert len({finding.location.line for finding in report.findings if finding.location}) == 1
    (script,) = tmp_path.glob("*.py")
    text = script.read_text(encoding="utf-8")
    assert "        text = json.dumps(x.tolist())\n        return text\n" in text
    assert "JSON" in fails(script)


class Unpacked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low, high = x.aminmax()
        span: torch.Tensor = high - low
        return x / span


def test_a_script_returns_what_a_line_unpacks_or_annotates() -> None:
    """Nobody else needs such a line alone, and torch leaves it out rather than to fail at it."""
    part = Part(Unpacked(), (torch.randn(3),), {})
    for dropped, result in (((1, 2), "high"), ((2,), "span")):
        assert f"        return {result}\n" in script(part, dropped)


class Jumps(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + (1 if torch.compiler.is_exporting() else 0)


def test_a_file_of_torchs_that_computes_something_else_is_run_and_compared(tmp_path: Path) -> None:
    report = onnxpert.diagnose(Jumps().eval(), (torch.randn(3),), repro=tmp_path)
    assert [finding.rule for finding in report.findings if finding.blocks] == ["NUM701"]
    (script,) = tmp_path.glob("*.py")
    assert "Tensor-likes are not close" in fails(script)
    issue = script.with_suffix(".md").read_text(encoding="utf-8")
    assert "writes a file that computes something else" in issue


class Lettered(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        text = f"{x.mean().item():.2f}"
        return y * len(text)


def test_what_the_proof_finds_may_be_what_torch_does_not_follow(tmp_path: Path) -> None:
    report = onnxpert.diagnose(Lettered().eval(), (torch.randn(3),), repro=tmp_path)
    assert [finding.rule for finding in report.findings if finding.blocks] == ["NUM701"]
    (script,) = tmp_path.glob("*.py")
    assert "format string" in fails(script)


class Adjacent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("near", torch.eye(3).to_sparse_csr())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sparse.sampled_addmm(self.near, x.tanh(), x.T).to_dense()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_an_operand_keeps_its_layout(tmp_path: Path) -> None:
    report = onnxpert.diagnose(Adjacent().eval(), (torch.randn(3, 4),), repro=tmp_path)
    assert [finding.rule for finding in report.findings if finding.blocks] == ["OPS501"]
    (script,) = tmp_path.glob("*.py")
    assert "torch.randn([3, 3]).to_sparse_csr()" in script.read_text(encoding="utf-8")


class Lookup(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.prices = {str(number): number / 10 for number in range(3)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = f"{x.sum().item():.0f}"
        y = torch.sigmoid(x)
        return y * self.prices[key]


def test_a_script_is_never_cut_until_python_itself_fails(tmp_path: Path) -> None:
    """torch gives up where the text is made, the finding is where it is used: both lines stay, or one."""
    report = onnxpert.diagnose(Lookup().eval(), (torch.zeros(2),), repro=tmp_path)
    assert not report.ok
    (script,) = tmp_path.glob("*.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "NameError" not in done.stderr
    assert "key = f" in script.read_text(encoding="utf-8")


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.fc(x)
        y = y + torch.randn_like(y)
        return x * self.calls


class Hidden(nn.Module):
    """What stands behind a blocker that no capture gets past."""

    def __init__(self) -> None:
        super().__init__()
        self.counting = Counting()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.counting(x)
        x = x + len(json.dumps(x.tolist()))
        return x + torch.linalg.eigvals(x @ x.mT).real.sum()


def test_what_stands_behind_a_blocker_has_scripts_too(tmp_path: Path) -> None:
    model = Hidden().eval()
    onnxpert.diagnose(model, (torch.randn(2, 4),), repro=tmp_path)
    assert model.counting.calls == 0
    scripts = {each.name.partition("-")[0]: each for each in tmp_path.glob("*.py")}
    assert {"OPS501", "STA301"} < set(scripts)
    assert "linalg_eig" in fails(scripts["OPS501"])
    state = scripts["STA301"].read_text(encoding="utf-8")
    assert "self.calls += 1" in state
    assert "randn_like" not in state, "chance is no memory"
    assert "Tensor-likes are not close" in fails(scripts["STA301"])
