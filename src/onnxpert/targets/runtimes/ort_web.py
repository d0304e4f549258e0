"""ONNX Runtime in the browser: onnxruntime-web's WebAssembly build, run under Node."""

from __future__ import annotations

import shutil
from pathlib import Path

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities, names
from onnxpert.targets.kernels import installed
from onnxpert.targets.releases import release
from onnxpert.targets.runtimes import ort_cpu
from onnxpert.targets.target import Run, target
from onnxpert.targets.web import session as web

_INSTALL = "install Node, then npm install onnxruntime-web"


def absent() -> str:
    """Why it cannot run here; "" where it can."""
    if shutil.which("node") is None:
        return "Node is not installed"
    if web.package() is None:
        return f"the npm package {web.PACKAGE} is not installed"
    return ""


def limits() -> tuple[int, int] | None:
    """Of the release that is installed; None where none is, or it is newer than what is known."""
    try:
        known = release(web.version())
    except UsageError:
        return None
    return known.opset, known.ir_version


@target(
    "ort-web",
    opsets=range(11, 27),
    default_opset=ort_cpu.DEFAULT_OPSET,
    limits=limits,
    capabilities=Capabilities(
        source="the CPU kernels of the installed ONNX Runtime, which WebAssembly is built from too",
        domains=frozenset({"", "ai.onnx.ml", "com.microsoft"}),
        kernels=lambda older: installed("ort-cpu", older),
        widens=frozenset({"float16"}),
        inlines=True,
        restrictions=ort_cpu.RESTRICTIONS,
        # JavaScript has typed arrays for these.
        ends=names(
            "float double float16 bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 string"
        ),
        most_bytes=2**31,  # one ArrayBuffer; the memory of WebAssembly ends at 4 GiB
        layout="channels first",
    ),
    absent=absent,
    install=_INSTALL,
    stand_in="ort-cpu",
)
def ort_web(path: Path) -> Run:
    """ONNX Runtime in the browser: the WebAssembly kernels of onnxruntime-web, run under Node."""
    reason = absent()
    if reason:
        raise UsageError(reason, _INSTALL)
    return web.Session(path).run
