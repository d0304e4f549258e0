"""`file.py:name`: a class, a factory, a function or an instance in a file."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.errors import UsageError
from onnxpert.load.entry import named_source
from onnxpert.load.source import Source, did_you_mean, source
from onnxpert.load.user_code import import_file, on_path


@source(".py")
def python_file(text: str) -> Source:
    """`path/to/file.py:name`"""
    name = text.rpartition(".py")[2].removeprefix(":")
    written = text[: len(text) - len(name)].removesuffix(":")
    path = Path(written)
    if not path.is_file():
        raise UsageError(f"there is no file `{written}`", _elsewhere(path))
    with on_path(path.resolve().parent):
        return named_source(import_file(path.resolve()), name, written)


def _elsewhere(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no directory `{path.parent}` either"
    files = sorted(file.name for file in path.parent.glob("*.py"))
    return did_you_mean(path.name, files, f"Python files in `{path.parent}`")
