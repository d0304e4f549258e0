"""Where each weight lies beside the file: aligned for memory mapping, tied ones once, in one file or several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from onnxpert.save.weight import Weight, identity


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which data file a weight lies."""

    location: str
    offset: int
    length: int


NOWHERE = Place("", 0, 0)


def lay_out(weights: Mapping[str, Weight], name: str, largest: int | None) -> dict[str, Place]:
    """A place for each weight in the order of the graph; tied ones share theirs.

    `name` is the model's file. No data file is larger than `largest`, unless one weight is."""
    found: dict[str, tuple[int, int, int]] = {}  # number of the file, offset, length
    seen: dict[object, tuple[int, int, int]] = {}
    number = end = 0
    for key, weight in weights.items():
        same = (identity(weight), weight.dtype, tuple(weight.shape))
        if same not in seen:
            offset = _aligned(end, weight.nbytes)
            if largest is not None and end and offset + weight.nbytes > largest:
                number, offset = number + 1, 0
            seen[same] = (number, offset, weight.nbytes)
            end = offset + weight.nbytes
        found[key] = seen[same]
    return {
        key: Place(_data_name(name, index, number + 1), offset, length)
        for key, (index, offset, length) in found.items()
    }


def is_data_of(name: str, location: str) -> bool:
    """Whether `lay_out` gives a data file of the model's file `name` that name."""
    return re.fullmatch(re.escape(name) + r"(\.\d{5}-of-\d{5})?\.data", location) is not None


def _aligned(end: int, length: int) -> int:
    # Whole pages can be mapped into memory; a cache line is enough for the small ones.
    unit = 4096 if length >= 1 << 20 else 64
    return -(-end // unit) * unit


def _data_name(name: str, index: int, count: int) -> str:
    return f"{name}.data" if count == 1 else f"{name}.{index + 1:05d}-of-{count:05d}.data"
