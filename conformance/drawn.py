"""The file of a model that was drawn, as Python sees it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
