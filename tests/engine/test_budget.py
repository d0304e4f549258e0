"""Work within limits: what hangs, grows or crashes is ended, and the report says where it was."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import onnxpert
from onnxpert.core.errors import UsageError
from onnxpert.core.types import Finding
from onnxpert.engine.budget import watch
from onnxpert.engine.budget.limits import read_bytes, told_bytes

X = (torch.randn(2, 3),)


class Inner(torch.nn.Module):
    def __init__(self, deed: Callable[[], object]) -> None:
        super().__init__()
        self.deed = deed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.deed()
        return x * 2


class Net(torch.nn.Module):
    def __init__(self, deed: Callable[[], object]) -> None:
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(3, 3), Inner(deed))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.encoder(x)
        return result


@pytest.fixture(autouse=True, scope="module")
def _begun() -> None:
    """What the parent knows, its children need not find out within their time."""
    onnxpert.diagnose(torch.nn.Linear(3, 3).eval(), X)


def sleep() -> None:
    time.sleep(1000)


def spin() -> None:
    while True:
        pass


def read_null() -> None:
    ctypes.string_at(0)


def grow() -> None:
    held = bytearray()
    while len(held) < 100 << 30:
        held += b"1" * (1 << 26)


def only(report: onnxpert.Report) -> Finding:
    (finding,) = report.findings
    assert report.exit_code == 1
    assert finding.blocks
    return finding


@pytest.mark.parametrize("deed", [sleep, spin])
def test_what_hangs_is_ended_and_placed(deed: Callable[[], object]) -> None:
    report = onnxpert.diagnose(Net(deed).eval(), X, timeout=5)
    finding = only(report)
    assert "capture" in report.timings  # which did not end, and took the time
    assert finding.rule == "CAP021"
    assert "the stage `capture` did not end within 5 s" in finding.message
    assert "module `encoder.1`" in finding.message
    assert finding.location is not None
    assert finding.location.file == __file__
    assert finding.location.function == deed.__name__


@pytest.mark.parametrize(("deed", "said"), [(os.abort, "an abort"), (read_null, "segmentation")])
def test_a_crash_is_a_finding_at_its_line(deed: Callable[[], object], said: str) -> None:
    finding = only(onnxpert.diagnose(Net(deed).eval(), X, timeout=100))
    assert finding.rule == "CAP023"
    assert said in finding.message
    assert "module `encoder.1`" in finding.message
    assert finding.location is not None
    assert finding.location.file == __file__


def test_a_process_that_leaves_is_a_crash() -> None:
    finding = only(onnxpert.diagnose(Net(lambda: os._exit(3)).eval(), X, timeout=100))
    assert finding.rule == "CAP023"
    assert "exit code 3" in finding.message


class Leftover:
    """What only a collection finds, and tells in which process."""

    def __init__(self, told: int) -> None:
        self.me = self
        self.told = told

    def __del__(self) -> None:
        os.write(self.told, f"{os.getpid()} ".encode())


def test_what_the_parent_left_behind_ends_in_the_parent() -> None:
    heard, told = os.pipe()
    gc.disable()
    try:
        Leftover(told)
        onnxpert.diagnose(Net(gc.collect).eval(), X, timeout=100)
    finally:
        gc.enable()
    gc.collect()
    assert os.read(heard, 100).decode().split() == [str(os.getpid())]
    os.close(heard)
    os.close(told)


def test_what_grows_is_ended() -> None:
    finding = only(onnxpert.diagnose(Net(grow).eval(), X, max_memory="1.5G", timeout=60))
    assert finding.rule == "CAP022"
    assert "took more than 1.5 GiB" in finding.message
    assert finding.location is not None
    assert finding.location.function == "grow"


def test_a_kill_from_outside_is_told() -> None:
    finding = only(onnxpert.diagnose(Net(lambda: os.kill(os.getpid(), 9)).eval(), X, timeout=100))
    assert finding.rule == "CAP022"
    assert "was killed from outside" in finding.message


def test_a_tensor_larger_than_the_memory_is_told_as_such() -> None:
    model = Net(lambda: torch.ones(100 << 40, dtype=torch.uint8)).eval()
    finding = only(onnxpert.diagnose(model, X, max_memory="2G"))
    assert finding.rule == "CAP024"


def test_a_model_within_its_limits_is_exported_and_nothing_is_left(tmp_path: Path) -> None:
    place = tmp_path / "net.onnx"
    told: list[tuple[str, str]] = []
    report = onnxpert.export(
        torch.nn.Linear(3, 3).eval(),
        X,
        place,
        timeout=100,
        max_memory="16G",
        progress=lambda stage, event, seconds, note: told.append((stage, event)),
    )
    assert report.ok
    assert report.path == place
    assert [each.name for each in tmp_path.iterdir()] == ["net.onnx"]
    assert ("verify", "done") in told
    assert report.graph is not None


class OnlyInProof(torch.nn.Module):
    """Hangs in the proof, when a staged file is already there."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if any("verify" in Path(frame.filename).parts for frame in traceback.extract_stack()):
            time.sleep(1000)
        return x + 1


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    old = tmp_path / "net.onnx"
    old.write_bytes(b"what was there before")
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(OnlyInProof().eval(), X, old, timeout=12)
    (finding,) = caught.value.report.findings
    assert "the stage `verify`" in finding.message
    assert [each.name for each in tmp_path.iterdir()] == ["net.onnx"]
    assert old.read_bytes() == b"what was there before"


def test_a_misuse_in_the_child_is_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no target"):
        onnxpert.export(torch.nn.Linear(3, 3), X, tmp_path / "net.onnx", target="x", timeout=100)


@pytest.mark.parametrize("wrong", [0, -1, "soon", float("nan"), float("inf")])
def test_a_timeout_is_a_number_of_seconds(wrong: object) -> None:
    with pytest.raises(UsageError, match="timeout"):
        onnxpert.diagnose(torch.nn.Linear(3, 3), X, timeout=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "size"),
    [("8G", 8 << 30), ("512MiB", 512 << 20), ("1.5g", 3 << 29), (4096, 4096), ("2 kB", 2048)],
)
def test_memory_is_read_as_people_write_it(text: object, size: int) -> None:
    assert read_bytes(text) == size
    assert read_bytes(told_bytes(size).replace(" ", "")) == size


@pytest.mark.parametrize("wrong", ["", "8X", "-1", "0", "G"])
def test_what_is_no_amount_of_memory_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="max_memory"):
        read_bytes(wrong)


WAITING = """
import time
from onnxpert.engine.budget import within
from onnxpert.engine.budget.limits import Budget

within(Budget(1000.0, None), lambda told: time.sleep(1000), action="diagnose")
"""


def test_a_request_to_end_leaves_nothing_on_disk(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    while process.poll() is None and not list(tmp_path.glob("*/trace")):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


class Keeps(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x.sum()
        return x * 2


def test_what_was_found_before_a_stage_that_crashes_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("onnxpert.engine.pipeline.proof", lambda *_, **__: os.abort())
    report = onnxpert.diagnose(Keeps().eval(), X, timeout=1000)
    assert [found.rule for found in report.findings] == ["STA302", "CAP023"]
    assert "`verify`" in report.findings[-1].message


def test_what_is_imported_for_ourselves_is_nobodys_line(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    library = Path(torch.__file__).parents[1] / "somebodys" / "format.py"
    trace.write_text(
        f'Thread 0x1 (most recent call first):\n  File "{library}", line 1 in <module>\n'
    )
    assert watch._place(trace, "", 3) is None
    found = watch._place(trace, "", 2)
    assert found is not None
    assert found.file == str(library)
