"""The user's own Python: imported and called so that its errors are told as theirs."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from onnxpert.core.errors import UsageError
from onnxpert.core.source import of_exception


@contextlib.contextmanager
def on_path(directory: Path) -> Iterator[None]:
    """Imports look into the directory first, for the time of the block."""
    entry = str(directory)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # the user's code may have changed the path
            sys.path.remove(entry)


@contextlib.contextmanager
def told_as_theirs(doing: str) -> Iterator[None]:
    """An exception of the user's code becomes one line with their file and line."""
    try:
        yield
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(_told(doing, error), _cure(error)) from error


def module_name(path: Path) -> str:
    """What the module of a file is called, which shadows nothing."""
    return "onnxpert_source_" + re.sub(r"\W", "_", path.stem)


def import_file(path: Path) -> ModuleType:
    """The module of a file, made anew."""
    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"`{path}` is not a Python file", "name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    try:
        with told_as_theirs(f"`{path}` cannot be imported"):
            spec.loader.exec_module(module)
    except UsageError:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def import_module(name: str) -> ModuleType:
    """A module by its dotted name; one that is not there is told apart from one that fails."""
    importlib.invalidate_caches()
    try:
        with told_as_theirs(f"the module `{name}` cannot be imported"):
            return importlib.import_module(name)
    except UsageError as error:
        cause = error.__cause__
        absent = isinstance(cause, ModuleNotFoundError) and cause.name
        if absent and (name == absent or name.startswith(f"{absent}.")):
            raise UsageError(
                f"there is no module `{absent}`",
                "write package.module:name, or path/to/file.py:name; "
                f"looked in {Path.cwd()} and in the installed packages",
            ) from cause
        raise


def _told(doing: str, error: BaseException) -> str:
    text = str(error).strip().splitlines()
    what = type(error).__name__ + (f": {text[0]}" if text else "")
    place = _place(error)
    return f"{doing}: {what}" + (f"\n  --> {place}" if place else "")


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}:{error.lineno}"
    place = of_exception(error)
    return f"{_short(place.file)}:{place.line}" if place else ""


def _short(file: str) -> str:
    """Relative to where the user stands, where that is shorter."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def _cure(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f"install what provides `{package}`, or put its directory on PYTHONPATH"
    if isinstance(error, SystemExit):
        return 'move what runs as a script below `if __name__ == "__main__":`'
    return "mend that line; the same happens with plain Python"
