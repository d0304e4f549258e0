"""The ONNX standard alone: no runtime, and nothing that only one of them has."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities
from onnxpert.targets.runtimes import onnx_reference
from onnxpert.targets.target import Run, target


@target(
    "onnx",
    opsets=range(11, 27),
    default_opset=20,
    limits=onnx_reference.limits,
    capabilities=Capabilities(
        source="the schemas of the installed onnx package",
        domains=frozenset({"", "ai.onnx.ml"}),
    ),
    absent=lambda: "a standard runs nothing",
    install="name the runtime as the target, if you know it",
    stand_in="ort-cpu",
)
def onnx(path: Path) -> Run:
    """The ONNX standard alone: only its own operators, checked by its checker, proven on the CPU."""
    raise UsageError(f"the standard does not run {path.name}", "name a runtime as the target")
