"""What a user reads of a change that was tried and is not offered."""

from __future__ import annotations

from onnxpert.core.types import Finding, Location, Row, Severity, Verdict
from onnxpert.engine.fixing.unproven import reasons
from onnxpert.report import Report

_AT = Location("net.py", 9, code="    y = torch.sort(x)")
_BLOCKER = Finding("OPS501", Severity.ERROR, "no operator for it", _AT)


def test_the_line_that_blocks_is_said() -> None:
    notes = list(reasons(["choose-with-where"], "", [Report(ok=False, findings=(_BLOCKER,))]))
    assert notes[0].endswith("so it is not offered: choose-with-where")
    assert notes[1] == "with it there is OPS501, in `y = torch.sort(x)`: no operator for it"


def test_the_case_that_differs_is_said() -> None:
    wrong = Row("b=3", "y", {"b": 3}, Verdict.FAIL, detail="shape (3,) for (2,)")
    notes = list(reasons(["a", "b"], "", [Report(ok=True), Report(ok=False, verified=(wrong,))]))
    assert notes[1] == "with it output y is wrong at b=3: shape (3,) for (2,)"


def test_a_model_that_does_not_run_any_more_says_no_more() -> None:
    notes = list(
        reasons(["a"], "an export takes too long", [Report(ok=False, findings=(_BLOCKER,))])
    )
    assert notes[1:] == ["with it an export takes too long"]
