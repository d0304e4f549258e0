"""Turns the Python block of a rule's page into a module with a file and lines of its own."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from onnxpert.diagnose.rule import Rule

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Sample:
    """What a page's block defines: a model, its arguments, and options of the call."""

    model: Any
    args: tuple[Any, ...]
    options: dict[str, Any]


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[Callable[[Rule, str], Sample]]:
    """Runs the block below `## title` of a rule's page, each time as a new file and module."""
    made: list[str] = []

    def load(rule: Rule, title: str) -> Sample:
        blocks = BLOCK.findall(rule.section(title))
        assert len(blocks) == 1, f"`## {title}` of {rule.id} has {len(blocks)} python blocks, not 1"
        name = f"{rule.id.lower()}_{title.lower().replace(' ', '_')}_{len(made)}"
        path = tmp_path / f"{name}.py"
        path.write_text(blocks[0], encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look their module up by name
        made.append(name)
        torch.manual_seed(0)
        spec.loader.exec_module(module)
        defined = {key: getattr(module, key) for key in ("model", "args") if hasattr(module, key)}
        assert defined.keys() == {"model", "args"}, f"`## {title}` must define `model` and `args`"
        return Sample(module.model, module.args, getattr(module, "options", {}))

    yield load
    for name in made:
        del sys.modules[name]
