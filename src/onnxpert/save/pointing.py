"""Weights that need not be written: a file may point into a checkpoint that lies beside it.

A safetensors file keeps each tensor as plain bytes, in the form that ONNX calls external data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core import state_keys
from onnxpert.core.errors import UsageError
from onnxpert.core.types import Pointed
from onnxpert.save.checkpoint import Checkpoint, Entry
from onnxpert.save.layout import Place
from onnxpert.save.skeleton import large_weights
from onnxpert.save.weight import Weight, payload, torch_dtype

if TYPE_CHECKING:
    import onnx_ir as ir

CHUNK = 1 << 24
_DIFFERS = "its values differ"


@dataclass(frozen=True, slots=True)
class Pointing:
    """Where weights lie in a checkpoint, and the files that are meant."""

    places: Mapping[str, Place]
    files: Mapping[str, Path]  # location in the model's file -> the file itself
    told: Pointed


def locations(checkpoint: Checkpoint, directory: Path) -> dict[Path, str]:
    """What a model file in `directory` calls the checkpoint's files.

    Raises UsageError for one that lies elsewhere: runtimes refuse to follow such a path."""
    folder = directory.resolve()
    found = {}
    for file in checkpoint.files:
        real = file.resolve()
        if not real.is_relative_to(folder):
            raise UsageError(
                f"{file} does not lie in {folder}, where the ONNX file goes: "
                "runtimes follow no path that leaves its folder",
                "write the ONNX file into the folder of the checkpoint",
            )
        found[file] = real.relative_to(folder).as_posix()
    if not found:
        raise UsageError(
            f"{checkpoint.name} is no safetensors file: there is nothing to point at",
            "save the weights with safetensors.torch.save_file",
        )
    return found


def point(
    model: ir.Model, checkpoint: Checkpoint, named: Mapping[Path, str], *, same: bool = False
) -> Pointing:
    """A place in the checkpoint for each large weight that lies there byte for byte.

    With `same` that is known: the weights were taken from there."""
    places: dict[str, Place] = {}
    beside: list[tuple[str, str]] = []
    differing = []
    for name, weight in large_weights(model).items():
        keys = state_keys.read(weight.metadata_props) or (name,)
        key = next((key for key in keys if key in checkpoint), None)
        entry = None if key is None else checkpoint.entry(key)
        problem = "it is not in the checkpoint" if entry is None else _problem(weight, entry, same)
        if entry is None or problem:
            beside.append((name, problem))
            differing += [name] if problem == _DIFFERS else []
            continue
        assert entry.file is not None
        places[name] = Place(named.get(entry.file, ""), entry.offset, entry.length)
    used = {place.location for place in places.values()}
    files = {location: file for file, location in named.items() if location in used}
    once = {(place.location, place.offset): place.length for place in places.values()}
    told = Pointed(
        tuple(file.name for file in checkpoint.files),
        len(places),
        sum(once.values()),
        tuple(beside),
        tuple(differing),
    )
    return Pointing(places, files, told)


def _problem(weight: Weight, entry: Entry, same: bool) -> str:
    """Why a weight cannot be pointed at; "" when it can."""
    if entry.file is None:
        return "it is not in a safetensors file"
    dtype, shape = torch_dtype(weight), tuple(weight.shape.numpy())
    plain = _plain(entry)
    if (plain.dtype, plain.shape) != (dtype, shape):
        return f"it is {Entry(dtype, shape)} in the file and {entry} in the checkpoint"
    if entry.offset % weight.dtype.itemsize:
        return "it is not aligned in the checkpoint"
    return "" if same or _is_same(weight, entry) else _DIFFERS


def _plain(entry: Entry) -> Entry:
    """Complex numbers are pairs of reals in a file."""
    return Entry("float32", (*entry.shape, 2)) if entry.dtype == "complex64" else entry


def _is_same(weight: Weight, entry: Entry) -> bool:
    assert entry.file is not None
    data = memoryview(payload(weight)).cast("B")
    if len(data) != entry.length:
        return False
    with entry.file.open("rb") as file:
        file.seek(entry.offset)
        return all(
            file.read(min(CHUNK, entry.length - start)) == data[start : start + CHUNK]
            for start in range(0, entry.length, CHUNK)
        )
