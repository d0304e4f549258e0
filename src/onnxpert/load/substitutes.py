"""The user's files as if something else stood in them: imported afresh, and nothing on disk changed."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeAlias

# File -> what is run in its place.
Codes: TypeAlias = Mapping[str, CodeType]


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs the given code under the name and the path of the file."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the signature is Python's
        return self._code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what Python would find, and gives it the other code."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        code = self._codes.get(os.path.realpath(spec.origin)) if spec and spec.origin else None
        if spec is None or spec.origin is None or code is None:
            return None
        spec.loader = _Loader(name, spec.origin, code)
        return spec


@contextmanager
def substituted(
    contents: Mapping[Path, str],
    compiled: Callable[[str, str], CodeType] = lambda text, file: compile(text, file, "exec"),
) -> Iterator[None]:
    """While on, imports of these files run the given contents; modules beside them are imported anew."""
    codes = {os.path.realpath(path): compiled(text, str(path)) for path, text in contents.items()}
    folders = tuple(str(Path(file).parent) + os.sep for file in codes)
    kept = {name: module for name, module in sys.modules.items() if _lies_in(module, folders)}
    for name in kept:
        del sys.modules[name]
    finder = _Finder(codes)
    shown = {str(path): linecache.cache.get(str(path)) for path in contents}
    made = importlib.util.spec_from_file_location

    def spec_from_file_location(name: str, location: Any = None, **rest: Any) -> Any:
        """A file that is imported by its path has no finder to ask."""
        code = codes.get(os.path.realpath(location)) if location is not None else None
        if code is not None:
            rest["loader"] = _Loader(name, os.fspath(location), code)
        return made(name, location, **rest)

    sys.meta_path.insert(0, finder)
    importlib.util.spec_from_file_location = spec_from_file_location
    for path, text in contents.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[str(path)] = (len(text), None, lines, str(path))
    try:
        yield
    finally:
        importlib.util.spec_from_file_location = made
        sys.meta_path.remove(finder)
        for name in [name for name, each in sys.modules.items() if _lies_in(each, folders)]:
            del sys.modules[name]
        sys.modules.update(kept)
        for file, before in shown.items():
            linecache.cache.pop(file, None)
            if before is not None:
                linecache.cache[file] = before


def _lies_in(module: ModuleType, folders: tuple[str, ...]) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and os.path.realpath(file).startswith(folders)
