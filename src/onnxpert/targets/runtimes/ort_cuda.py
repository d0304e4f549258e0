"""ONNX Runtime on an NVIDIA GPU."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from onnxpert.targets.capabilities import Capabilities
from onnxpert.targets.kernels import Kernels, installed, stored
from onnxpert.targets.runtimes import ort_cpu
from onnxpert.targets.target import Run, target

_PROVIDER = "CUDAExecutionProvider"


@cache
def absent() -> str:
    """Why it cannot run here; "" where it can."""
    try:
        import onnxruntime
    except ImportError as error:
        return f"onnxruntime cannot be imported: {error}"
    if _PROVIDER not in onnxruntime.get_available_providers():
        return "the installed onnxruntime is built without CUDA"
    return ort_cpu.unusable(_PROVIDER)


def _table(_release: str) -> Kernels:
    return stored("cuda_kernels")


@target(
    "ort-cuda",
    opsets=range(11, 27),
    default_opset=ort_cpu.DEFAULT_OPSET,
    limits=ort_cpu.limits,
    capabilities=Capabilities(
        source="the kernel table that onnxruntime-gpu 1.31.1 reports of itself, read without a GPU",
        domains=frozenset({"", "ai.onnx.ml", "com.microsoft"}),
        kernels=_table,
        fallback=lambda older: installed("ort-cpu", older),
        fallback_says="has no CUDA kernel: it runs on the CPU, with copies to and fro",
        widens=frozenset({"float16"}),
        inlines=True,
        layout="channels first",
    ),
    absent=absent,
    install="pip install onnxruntime-gpu, on a machine with an NVIDIA GPU",
    stand_in="ort-cpu",
)
def ort_cuda(path: Path, libraries: tuple[str, ...] = ()) -> Run:
    """ONNX Runtime on an NVIDIA GPU; what has no CUDA kernel runs on the CPU in between."""
    session = ort_cpu.session(os.fspath(path), libraries, (_PROVIDER, "CPUExecutionProvider"))
    return ort_cpu.runner(session)
