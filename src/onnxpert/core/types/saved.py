"""A file on disk, and where its weights are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onnxpert.core.types.findings import Location


@dataclass(frozen=True, slots=True)
class Saved:
    """Files on disk, not yet at their final place unless `published`."""

    path: Path
    files: tuple[Path, ...]
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Unfilled:
    """A file that is written without the values of some weights, which are filled in later."""

    weights: int
    bytes: int
    outside: tuple[str, ...] = ()  # those that a state dict leaves out: buffers that do not persist
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Unlike:
    """A weight that is not what the model or the file has under its key."""

    key: str
    wanted: str  # `float32[4, 4]`
    given: str


@dataclass(frozen=True, slots=True)
class Filling:
    """A checkpoint held against the weights that want values."""

    source: str  # `model.safetensors`, `2 files`, `a state dict`
    missing: tuple[str, ...] = ()
    misfits: tuple[Unlike, ...] = ()
    unused: tuple[str, ...] = ()
    cast: tuple[Unlike, ...] = ()


@dataclass(frozen=True, slots=True)
class Pointed:
    """Weights that stay in a checkpoint, at which the file points, and those that could not."""

    files: tuple[str, ...]
    weights: int
    bytes: int
    beside: tuple[tuple[str, str], ...] = ()  # a weight, and why it is stored with the file
    differing: tuple[str, ...] = ()  # those of `beside` with other values than the checkpoint
