"""The inputs of a model in a file: arrays or tensors by the names of the parameters."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import torch

from onnxpert.core.errors import UsageError
from onnxpert.load.source import did_you_mean

HELP = (
    "write it with numpy.savez, safetensors.torch.save_file or torch.save, a tensor per parameter"
)


def read_input_file(text: str) -> dict[str, torch.Tensor]:
    """A tensor by each name; raises UsageError for a file that cannot be read."""
    path = Path(text)
    readers: dict[str, Callable[[Path], Mapping[str, Any]]] = {
        ".npz": _npz,
        ".safetensors": _safetensors,
        ".pt": _torch,
        ".pth": _torch,
    }
    if path.suffix not in readers:
        raise UsageError(f"`{text}` is of no known kind", f"known are {', '.join(readers)}")
    if not path.is_file():
        near = [str(file) for file in path.parent.glob(f"*{path.suffix}")]
        raise UsageError(f"there is no file `{text}`", did_you_mean(text, near, "there are"))
    try:
        found = readers[path.suffix](path)
    except (
        OSError, ValueError, TypeError, RuntimeError, EOFError, zipfile.BadZipFile
    ) as error:  # fmt: skip
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(f"`{text}` cannot be read: {reason}", HELP) from error
    return found if isinstance(found, dict) else dict(found)


def _npz(path: Path) -> dict[str, torch.Tensor]:
    with numpy.load(path, allow_pickle=False) as arrays:
        return {name: torch.from_numpy(numpy.array(arrays[name])) for name in arrays.files}


def _safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(path))
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def _torch(path: Path) -> dict[str, torch.Tensor]:
    from pickle import UnpicklingError

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        raise ValueError("it holds more than tensors") from error
    if not isinstance(found, Mapping) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in found.items()
    ):
        raise ValueError("it is not a dictionary from names to tensors")
    return dict(found)
