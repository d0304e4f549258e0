"""The reference evaluator of the onnx package: slow, in numpy, and a second opinion."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from onnxpert.targets.capabilities import Capabilities, names
from onnxpert.targets.target import Run, target


@cache
def limits() -> tuple[int, int] | None:
    """The highest opset and IR version that the installed onnx package knows."""
    try:
        import onnx
    except ImportError:
        return None
    return onnx.defs.onnx_opset_version(), int(onnx.IR_VERSION)


@target(
    "onnx-reference",
    opsets=range(13, 27),
    default_opset=20,
    limits=limits,
    capabilities=Capabilities(
        source="the operators that the evaluator of onnx 1.23.2 has, asked of itself",
        domains=frozenset({"", "ai.onnx.ml"}),
        missing=names("GlobalLpPool MaxRoiPool Multinomial"),
    ),
)
def onnx_reference(path: Path) -> Run:
    """The evaluator that the ONNX standard ships with: a second opinion, not a place to deploy."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(os.fspath(path))
    return lambda feeds: list(evaluator.run(None, dict(feeds)))
