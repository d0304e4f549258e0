"""What an axis of an input is usually called: by the input's name, and by the layer that reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten

# The layers that say what the axes of their input are.
_READERS: dict[Any, tuple[str, ...]] = {
    aten.conv1d.default: ("batch", "channels", "length"),
    aten.conv2d.default: ("batch", "channels", "height", "width"),
    aten.conv3d.default: ("batch", "channels", "depth", "height", "width"),
}
# Parameters that people give one meaning: pattern, and names by the number of axes.
_PARAMETERS: tuple[tuple[str, Mapping[int, tuple[str, ...]]], ...] = (
    (r"(past|cache).*|.*key_values.*", {4: ("batch", "heads", "past_sequence", "head_size")}),
    (r"decoder_.*|tgt.*|target.*", {2: ("batch", "target_sequence"), 3: ("batch", "target_sequence")}),
    (r"(input_)?(waveforms?|audio|wav|speech|input_values)", {2: ("batch", "samples"), 3: ("batch", "channels", "samples")}),
    (r"input_features|mels?|spectrograms?", {3: ("batch", "features", "frames")}),
    (r"points?|pos|xyz|clouds?", {3: ("batch", "points")}),
    (r"boxes|rois|queries", {2: ("boxes",), 3: ("batch", "boxes")}),
    (r"edge_index|edges", {2: ("", "edges")}),
    (r"(images?|imgs?|pictures?)(_\d+)?", {3: ("", "height", "width")}),
    (r"frames|videos?|clips?", {5: ("batch", "frames", "channels", "height", "width")}),
)  # fmt: skip
_TOKENS = ("batch", "sequence")
_IMAGE = ("batch", "", "height", "width")


def axis_name(entry: str, axis: int, value: torch.Tensor, node: fx.Node | None = None) -> str:
    """A name such as `batch` or `height`; by the input and the axis where there is none."""
    names = _by_reader(node) or _by_parameter(entry, value.dim()) or _by_shape(value)
    known = names[axis] if axis < len(names) else ""
    return known or f"{entry}_dim_{axis}"


def _by_reader(node: fx.Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    for user in node.users:
        names = _READERS.get(user.target)
        if names is not None and user.args[0] is node and len(names) == node.meta["val"].dim():
            return names
    return ()


def _by_parameter(entry: str, rank: int) -> tuple[str, ...]:
    for pattern, names in _PARAMETERS:
        if rank in names and re.fullmatch(pattern, entry.lower()):
            return names[rank]
    return ()


def _by_shape(value: torch.Tensor) -> tuple[str, ...]:
    if value.dim() == 4 and value.is_floating_point():
        return _IMAGE
    return _TOKENS if value.dim() in (2, 3) else ("batch",)
