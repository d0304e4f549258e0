"""Calibration inputs as they may be given: what a call takes, and files or folders of such."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from onnxpert.core.errors import UsageError

MOST = 512  # more do not change a range; a generator may have no end
Call: TypeAlias = tuple[tuple[Any, ...], Mapping[str, Any]]
_HELP = "give an iterable of inputs, each as you would give it to the model, or files of them"


def read_calibration(given: Any, example: Callable[[Any], Call]) -> tuple[Call, ...]:
    """The first of them as arguments and keyword arguments. Raises UsageError for what is none."""
    if isinstance(given, (str, PathLike)):
        given = (given,)
    if hasattr(given, "dtype") or isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise UsageError(f"calibration= is a {type(given).__name__}, not several inputs", _HELP)
    read = itertools.chain.from_iterable(_read(each, example) for each in given)
    found = tuple(itertools.islice(read, MOST))
    if not found:
        raise UsageError("calibration= has no inputs in it", _HELP)
    return found


def _read(each: Any, example: Callable[[Any], Call]) -> Iterator[Call]:
    if not isinstance(each, (str, PathLike)):
        yield example(each)
        return
    from onnxpert.load.input_code import read_inputs

    path = Path(each)
    files = sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
    for file in files:
        yield read_inputs(str(file))
