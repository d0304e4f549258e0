"""An engine that does as it is told, so that the command line can be tried without a model."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import onnxpert.engine
from onnxpert.report import Report


@dataclass
class Engine:
    """Records what it was asked; answers with `report`, or with whatever `act` does."""

    report: Report = field(default_factory=lambda: Report(ok=True, path=Path("net.onnx")))
    act: Callable[..., Any] = lambda: None
    asked: list[dict[str, Any]] = field(default_factory=list)
    prepared: dict[str, Any] = field(
        default_factory=lambda: {
            "model": SimpleNamespace(),
            "args": ("x",),
            "kwargs": {"mask": None},
            "dynamic_shapes": "as the inputs say",
            "notes": ("a note of the source",),
        }
    )

    def prepare(self, source: str, inputs: list[str], inputs_file: str | None) -> SimpleNamespace:
        self.asked.append({"source": source, "inputs": inputs, "inputs_file": inputs_file})
        return SimpleNamespace(**self.prepared)

    def answer(self, *positional: Any, progress: Any, **named: Any) -> Report:
        self.asked.append({"positional": positional, **named})
        progress("capture", "start", 0.0, "")
        self.act()
        progress("capture", "done", 1.25, "non-strict")
        return self.report


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    api, sources = ModuleType("onnxpert.engine.api"), ModuleType("onnxpert.engine.sources")
    vars(api).update(export=fake.answer, diagnose=fake.answer, verify=fake.answer)
    vars(sources).update(prepare=fake.prepare)
    for module in (api, sources):
        monkeypatch.setitem(sys.modules, module.__name__, module)
        name = module.__name__.rpartition(".")[2]
        monkeypatch.setattr(onnxpert.engine, name, module, raising=False)
    return fake
