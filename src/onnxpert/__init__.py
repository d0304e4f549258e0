"""Export any PyTorch model to a proven ONNX file: the public names, resolved on first use."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "ExportError",
    "Finding",
    "Refusal",
    "Report",
    "Safety",
    "Severity",
    "Stateful",
    "UsageError",
    "__version__",
    "check",
    "diagnose",
    "explain",
    "export",
    "fill",
    "lowering",
    "repair",
    "rule",
    "target",
    "verify",
]

if TYPE_CHECKING:
    from onnxpert.core.errors import ExportError, UsageError
    from onnxpert.core.types import Finding, Safety, Severity
    from onnxpert.diagnose.rule import rule
    from onnxpert.engine.api import check, diagnose, explain, export, verify
    from onnxpert.engine.filling import fill
    from onnxpert.lower.emitter import Refusal
    from onnxpert.lower.lowering import lowering
    from onnxpert.repair.repair import repair
    from onnxpert.report import Report
    from onnxpert.targets.stateful import Stateful
    from onnxpert.targets.target import target

# Where each name lives. Resolved late: `import onnxpert` must not cost the seconds torch takes.
_HOMES = {
    "export": "onnxpert.engine.api",
    "diagnose": "onnxpert.engine.api",
    "verify": "onnxpert.engine.api",
    "check": "onnxpert.engine.api",
    "explain": "onnxpert.engine.api",
    "fill": "onnxpert.engine.filling",
    "Report": "onnxpert.report",
    "Finding": "onnxpert.core.types",
    "Severity": "onnxpert.core.types",
    "Safety": "onnxpert.core.types",
    "ExportError": "onnxpert.core.errors",
    "UsageError": "onnxpert.core.errors",
    "rule": "onnxpert.diagnose.rule",
    "repair": "onnxpert.repair.repair",
    "lowering": "onnxpert.lower.lowering",
    "Refusal": "onnxpert.lower.emitter",
    "target": "onnxpert.targets.target",
    "Stateful": "onnxpert.targets.stateful",
}


class _Package(ModuleType):
    """Keeps `onnxpert.diagnose`, `.repair` and `.verify` the calls, though packages bear the names.

    The import system binds a subpackage to its parent when it is first imported; the call would
    be gone from then on. `from onnxpert.diagnose import ...` does not go through that binding."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
