"""Two hand-made reports, a good one and a bad one, that the renderings are tried on."""

from pathlib import Path

import pytest

from onnxpert.core.types import Divergence, Finding, Location, Row, Severity, Symbol, Verdict
from onnxpert.report import Report

TRAINING = Finding(
    "CAP104",
    Severity.WARNING,
    "the model is in training mode",
    Location("model.py", 1120, "encoder", "forward", "        x = self.drop(x)"),
    help="call model.eval() before the export",
    count=4,
)
CAST = Finding(
    "NUM101",
    Severity.ERROR,
    "the input x is float16, the weight of fc is float32",
    Location("model.py", 14, "encoder.fc"),
    repaired=True,
    repair="cast-inputs",
)
KERNEL = Finding(
    "SHP102",
    Severity.ERROR,
    "the kernel of conv is 3x3 but its input has only 1x1 pixels",
    Location("model.py", 6, "conv", "forward", "x = self.conv(x)"),
    help="give an example of at least 3x3 pixels",
    notes=("the input of conv is [1, 3, 1, 1]", "two lines\nof one note"),
)


@pytest.fixture
def good() -> Report:
    compared = {"max_abs": 1.2e-7, "max_rel": 3e-6, "rtol": 1e-3, "atol": 1e-5}
    return Report(
        ok=True,
        path=Path("net.onnx"),
        model="Net",
        target="ort-cpu",
        opset=20,
        ir_version=10,
        strategy="non-strict",
        nodes=34,
        bytes=1_230_000,
        inputs=("x: float32[batch, 3]",),
        outputs=("y: float32[batch, 16]",),
        symbols=(Symbol("batch", 1, None, 2, (("x", 0),)),),
        repairs=("the input x is cast from float16 to float32",),
        findings=(CAST, TRAINING),
        verified=(
            Row("example", "y", {"batch": 2}, Verdict.PASS, **compared),
            Row("batch=1", "y", {"batch": 1}, Verdict.PASS, 0.0, 0.0, 1e-3, 1e-5),
            Row("batch=0", "y", {"batch": 0}, Verdict.REFUSED, detail="the model refuses it"),
        ),
        timings={"load": 0.012, "capture": 0.62, "verify": 0.208},
        versions={"torch": "2.13.0"},
        version="0.1.0",
    )


@pytest.fixture
def bad() -> Report:
    return Report(
        ok=False,
        model="Net",
        target="ort-cpu",
        findings=(TRAINING, KERNEL),
        verified=(
            Row("example", "y", {}, Verdict.FAIL, float("inf"), float("nan"), 1e-3, 1e-5, "NaN"),
        ),
        divergence=Divergence(
            "node_mul", "Mul", "mul_3", Location("model.py", 12, "encoder"), "off by 0.12 at [0, 3]"
        ),
        timings={"load": 0.01, "capture": 75.2},
    )
