"""What the source of a model speaks of, where running it would not tell."""

from __future__ import annotations

import inspect
import re
import sys
from types import ModuleType

from onnxpert.capture.flat import owner
from onnxpert.core.belongings import user_modules
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Loaded


def speaks_of(loaded: Loaded, words: re.Pattern[str]) -> bool:
    """Whether the model's own source, or that of a library it is from, has these words."""
    module = owner(loaded.module)
    kinds = {type(part) for part in module.modules()} if module is not None else set()
    homes = {kind.__module__ for kind in kinds} | {getattr(loaded.module, "__module__", "")}
    files = [getattr(sys.modules.get(str(home)), "__file__", None) for home in homes]
    return any(
        _has(file, words) for file in files if file and ownership(file) > Owner.LAYER
    ) or any(_defined_here(kind, words) for kind in kinds)


def users_speak_of(loaded: Loaded, words: re.Pattern[str]) -> bool:
    """Whether a file of the user's has these words, from which the model is or which that imports."""
    module = owner(loaded.module)
    homes = user_modules(module) if module is not None else [_home(loaded.module)]
    files = {getattr(home, "__file__", None) for home in homes}
    return any(_has(file, words) for file in files if file and ownership(file) is Owner.USER)


def _home(code: object) -> ModuleType | None:
    return sys.modules.get(str(getattr(code, "__module__", "")))


def _has(file: str, words: re.Pattern[str]) -> bool:
    with open(file, encoding="utf-8", errors="replace") as text:
        return bool(words.search(text.read()))


def _defined_here(kind: type, words: re.Pattern[str]) -> bool:
    """A class of a notebook or a session, which has no file."""
    if getattr(sys.modules.get(kind.__module__), "__file__", None):
        return False
    try:
        return bool(words.search(inspect.getsource(kind)))
    except (OSError, TypeError):
        return True  # nothing can be read: the rung itself will tell
