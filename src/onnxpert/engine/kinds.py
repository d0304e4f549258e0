"""Whether what a call is given is of the kind that the option takes, said in one line where it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from onnxpert.core.errors import UsageError

_MAPPINGS = {
    "kwargs": 'a dict by parameter, such as {"mask": mask}',
    "custom_domains": 'a dict by namespace, such as {"my": "com.example"}',
}
_SEQUENCES = {"examples": "a list of inputs, such as [(x1,), (x2,)]"}
_NAMES = ("input_names", "output_names")


def check_kinds(options: Mapping[str, Any]) -> None:
    """Raises UsageError for the first option that is of another kind than it can be."""
    for name, value in options.items():
        if value is not None:
            _check(name, value)


def _check(name: str, value: Any) -> None:
    if name in _MAPPINGS and not isinstance(value, Mapping):
        raise _wrong(name, value, _MAPPINGS[name])
    if name in _MAPPINGS and not all(isinstance(key, str) for key in value):
        raise _wrong(name, next(key for key in value if not isinstance(key, str)), _MAPPINGS[name])
    if name in _SEQUENCES and not isinstance(value, (list, tuple)):
        raise _wrong(name, value, _SEQUENCES[name])
    if name in _NAMES and not isinstance(value, Sequence):
        raise _wrong(name, value, 'a list of names, such as ["x", "mask"]')
    if name == "opset_version" and (isinstance(value, bool) or not isinstance(value, int)):
        raise _wrong(name, value, "a whole number, such as 20")
    if name == "runtime_version" and not isinstance(value, str):
        raise _wrong(name, value, 'a release, such as "1.17"')
    if name == "verify" and not isinstance(value, bool):
        raise _wrong(name, value, "True or False")
    if name == "repro" and read_path(value, name).is_file():
        raise UsageError(f"{value} is a file", "give a folder for the scripts, such as repro/")


def _wrong(name: str, value: Any, help: str) -> UsageError:
    shown = repr(value) if len(repr(value)) < 60 else f"of type {type(value).__name__}"
    return UsageError(f"{name} cannot be {shown}", f"give {help}")


def read_path(value: Any, name: str) -> Path:
    """A path as the user wrote it; raises UsageError for what is none."""
    if not isinstance(value, (str, PathLike)) or not isinstance(fspath(value), str):
        shown = repr(value) if isinstance(value, (int, float, bytes)) else type(value).__name__
        help = "give the path of a file as a str or a Path"
        if isinstance(value, Mapping):  # the third place of `torch.export.export`
            help += "; what the model takes by name goes to kwargs={...}"
        raise UsageError(f"{name} cannot be {shown}", help)
    if "\0" in fspath(value):
        raise UsageError(f"{fspath(value)!r} is no path", "a path has no zero byte in it")
    return Path(fspath(value))
