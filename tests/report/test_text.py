"""Plain text is compared as a whole: it is what people see."""

import dataclasses
from pathlib import Path

import pytest

from onnxpert.core.errors import ExportError
from onnxpert.core.types import Finding, Location, Severity
from onnxpert.report import Action, Report

GOOD = """\
exported and proven: net.onnx  (opset 20, 34 nodes, 1.2 MB)
  input   x: float32[batch, 3]
  output  y: float32[batch, 16]
  sizes   batch >= 1
  repair  the input x is cast from float16 to float32

warning[CAP104]: the model is in training mode
    --> model.py:1120 in encoder (4 times)
     |
1120 | x = self.drop(x)
     |
     = help: call model.eval() before the export
     = more: onnxpert explain CAP104

repaired[NUM101]: the input x is float16, the weight of fc is float32
  --> model.py:14 in encoder.fc
   = repaired: cast-inputs
   = more: onnxpert explain NUM101

proof  ort-cpu against Net, tolerance 1e-3 rel + 1e-5 abs
  case     sizes    output  max abs  max rel  verdict
  example  batch=2  y       1.2e-07  3.0e-06  pass
  batch=1           y             0        0  pass
  batch=0           y             -        -  refused
    the model refuses it

time   load 12ms, capture 0.62s, verify 0.21s (0.84s in all)"""

BAD = """\
not exported: 1 error, 1 warning

error[SHP102]: the kernel of conv is 3x3 but its input has only 1x1 pixels
  --> model.py:6 in conv
   |
 6 | x = self.conv(x)
   |
   = help: give an example of at least 3x3 pixels
   = note: the input of conv is [1, 3, 1, 1]
   = note: two lines
       of one note
   = more: onnxpert explain SHP102

warning[CAP104]: the model is in training mode
    --> model.py:1120 in encoder (4 times)
     |
1120 | x = self.drop(x)
     |
     = help: call model.eval() before the export
     = more: onnxpert explain CAP104

proof  ort-cpu against Net, tolerance 1e-3 rel + 1e-5 abs
  case     output  max abs  max rel  verdict
  example  y           inf      nan  fail
    NaN

first difference: Mul node_mul, value mul_3
  --> model.py:12 in encoder
   = note: off by 0.12 at [0, 3]

time   load 10ms, capture 1m15s (1m15s in all)"""


def test_a_proven_file(good: Report) -> None:
    assert str(good) == GOOD


def test_every_reason_why_not(bad: Report) -> None:
    assert str(bad) == BAD


def test_the_error_says_the_whole_diagnosis(bad: Report) -> None:
    assert str(ExportError(bad)) == BAD


@pytest.mark.parametrize(
    ("changes", "first_line"),
    [
        (
            {"verify": False, "verified": ()},
            "exported, not proven (verify=False): net.onnx  (opset",
        ),
        ({"path": None, "bytes": None}, "exportable and proven  (opset 20, 34 nodes)"),
        ({"path": None, "verify": False}, "exportable, not proven (verify=False)"),
        ({"action": Action.VERIFY, "nodes": None}, "proven: net.onnx  (opset 20, 1.2 MB)"),
        ({"action": Action.VERIFY, "ok": False}, "not proven: net.onnx: nothing could be compared"),
        ({"ok": False, "action": Action.DIAGNOSE, "findings": ()}, "not exportable: nothing could"),
        ({"ok": False, "strategy": "", "findings": ()}, "not exported: the model could not be cap"),
    ],
)
def test_the_verdict(good: Report, changes: dict[str, object], first_line: str) -> None:
    text = str(dataclasses.replace(good, **changes))  # type: ignore[arg-type]
    assert text.startswith(first_line)


def test_a_failure_without_an_error_is_the_proof(bad: Report) -> None:
    text = str(dataclasses.replace(bad, findings=()))
    assert text.startswith("not exported: 1 comparison failed\n")


def test_a_repaired_error_is_not_counted(bad: Report) -> None:
    repaired = tuple(dataclasses.replace(each, repaired=True) for each in bad.findings)
    assert str(dataclasses.replace(bad, findings=repaired)).startswith("not exported: 1 comparison")


def test_a_message_stays_on_its_line() -> None:
    help = "a sentence that is long enough to be folded in any terminal there is " * 3
    report = Report(ok=False, findings=(Finding("OPS301", Severity.ERROR, "m" * 200, help=help),))
    assert f"error[OPS301]: {'m' * 200}" in str(report).splitlines()
    assert f"   = help: {help.strip()}" in str(report).splitlines()


def test_a_finding_that_was_made_often_but_has_no_location() -> None:
    report = Report(ok=False, findings=(Finding("OPS301", Severity.INFO, "seen", count=3),))
    assert "   = note: seen 3 times" in str(report).splitlines()


def test_a_place_below_the_working_directory_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    at = Location(str(tmp_path / "sub" / "model.py"), 3)
    report = Report(ok=False, findings=(Finding("OPS301", Severity.ERROR, "no", at),))
    assert f"  --> {Path('sub') / 'model.py'}:3" in str(report).splitlines()


def test_many_inputs_are_counted(good: Report) -> None:
    text = str(
        dataclasses.replace(good, inputs=tuple(f"past_{at}: float32[1]" for at in range(64)))
    )
    assert "past_7: float32[1]\n          ... and 56 more\n" in text
