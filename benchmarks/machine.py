"""Where and with what a run is made."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from pathlib import Path

from benchmarks.results import Setting

PACKAGES = ("torch", "timm", "transformers", "onnx", "onnxscript", "onnxruntime")


def setting(*, whole: bool) -> Setting:
    import onnxpert  # from a source tree there is no metadata to ask

    versions = [("Python", platform.python_version()), ("onnxpert", onnxpert.__version__)]
    for package in PACKAGES:
        try:
            versions.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            versions.append((package, "absent"))
    return Setting(datetime.date.today().isoformat(), _machine(), tuple(versions), whole)


def _machine() -> str:
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or "an unnamed processor"
