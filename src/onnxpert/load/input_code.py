"""Example inputs as the user's own Python gives them: `file.py:name`, a function or a value."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from onnxpert.core.errors import UsageError
from onnxpert.load.entry import EXAMPLE, as_call
from onnxpert.load.input_file import read_input_file
from onnxpert.load.source import did_you_mean
from onnxpert.load.user_code import import_file, module_name, on_path, told_as_theirs


def read_inputs(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a call takes, from a file of tensors or of Python."""
    file, is_python, name = text.rpartition(".py")
    if not is_python or (name and not name.startswith(":")):
        return (), dict(read_input_file(text))
    path = Path(f"{file}.py").resolve()
    if not path.is_file():
        near = [str(each) for each in path.parent.glob("*.py")]
        raise UsageError(f"there is no file `{file}.py`", did_you_mean(text, near, "there are"))
    name = name.removeprefix(":") or EXAMPLE
    with on_path(path.parent):
        module = _module(path)
        if not hasattr(module, name):
            known = [each for each in vars(module) if not each.startswith("_")]
            raise UsageError(f"`{file}.py` has no `{name}`", did_you_mean(name, known, "it has"))
        found = getattr(module, name)
        if inspect.isroutine(found):
            with told_as_theirs(f"calling `{text}` failed"):
                found = found()
    args, kwargs = as_call(found)
    if args is None:
        raise UsageError(
            f"`{text}` gives None", "a tuple is what a call is given, a dict is by name"
        )
    return args, kwargs or {}


def _module(path: Path) -> ModuleType:
    """The one that the model is in, if it is: its classes are then the same."""
    module = sys.modules.get(module_name(path))
    return module if getattr(module, "__file__", None) == str(path) else import_file(path)  # type: ignore[return-value]
