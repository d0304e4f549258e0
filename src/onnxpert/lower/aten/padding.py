"""Borders: constant, reflecting, replicating and circular padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carried
from onnxpert.lower.aten.reshaping import is_zero
from onnxpert.lower.aten.slicing import sliced
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten
Borders = Sequence[tuple[Size, Size]]  # (before, after) for every dimension


def borders(op: Emitter, x: ir.Value, pad: Sequence[Size]) -> list[tuple[Size, Size]]:
    """torch names the last dimension first and leaves out those that are not padded."""
    pairs = [(concrete(pad[i]), concrete(pad[i + 1])) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (op.rank(x) - len(pairs)) + pairs[::-1]


def _positive(size: Size) -> Size:
    return max(size, 0) if isinstance(size, int) else size


def cropped(op: Emitter, x: ir.Value, pads: Borders) -> ir.Value:
    """What negative borders cut off is cut off."""
    for axis, (before, after) in enumerate(pads):
        start = -before if isinstance(before, int) and before < 0 else 0
        end = after if isinstance(after, int) and after < 0 else None
        if start or end is not None:
            cut = op.shape(x)[axis] - start + (end or 0)
            x = sliced(op, x, axis, start, end, length=cut)
    return x


def padded(
    op: Emitter, x: ir.Value, pads: Borders, mode: str = "constant", value: Any = 0
) -> ir.Value:
    """`x` with borders, none of them negative."""
    if all(is_zero(size) for pair in pads for size in pair):
        return x
    amounts = op.ints([before for before, _ in pads] + [after for _, after in pads])
    fill = op.scalar(value, op.dtype(x)) if mode == "constant" and value != 0 else None

    def emit(given: ir.Value) -> Any:
        filled = None if fill is None else op.cast(fill, op.dtype(given))
        return op.Pad(given, amounts, filled, mode=mode)

    result = carried(op, "Pad", emit, x)
    sizes = zip(op.shape(x), pads, strict=True)
    return op.describe(result, [size + before + after for size, (before, after) in sizes])


@lowering(aten.constant_pad_nd.default)
def constant_pad_nd(op: Emitter, x: ir.Value, pad: Sequence[Size], value: Any = 0) -> ir.Value:
    pairs = borders(op, x, pad)
    positive = [(_positive(before), _positive(after)) for before, after in pairs]
    return padded(op, cropped(op, x, pairs), positive, value=value)


def _continued(op: Emitter, x: ir.Value, pad: Sequence[Size], mode: str) -> ir.Value:
    pairs = borders(op, x, pad)
    positive = [(_positive(before), _positive(after)) for before, after in pairs]
    return cropped(op, padded(op, x, positive, mode), pairs)


@lowering(
    aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default
)
def reflection_pad(op: Emitter, x: ir.Value, padding: Sequence[Size]) -> ir.Value:
    return _continued(op, x, padding, "reflect")


@lowering(
    aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default
)
def replication_pad(op: Emitter, x: ir.Value, padding: Sequence[Size]) -> ir.Value:
    return _continued(op, x, padding, "edge")


@lowering(aten._pad_circular.default)
def circular_pad(op: Emitter, x: ir.Value, pad: Sequence[Size]) -> ir.Value:
    # Pad's "wrap" came with opset 19; two slices and a Concat are as quick and serve all of them.
    pairs = borders(op, x, pad)
    x = cropped(op, x, pairs)
    for axis, (before, after) in enumerate(pairs):
        parts = [x]
        if not (isinstance(before, int) and before <= 0):
            parts.insert(0, sliced(op, x, axis, -before, None, length=before))
        if not (isinstance(after, int) and after <= 0):
            parts.append(sliced(op, x, axis, 0, after, length=after))
        x = parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)
    return x


@lowering(aten.pad.default, aten._pad_enum.default)
def pad(
    op: Emitter,
    x: ir.Value,
    pad: Sequence[Size],
    mode: str | int = "constant",
    value: float | None = None,
) -> ir.Value:
    kind = _MODES[mode] if isinstance(mode, int) else mode
    if kind == "constant":
        return constant_pad_nd(op, x, pad, value or 0)
    if kind == "reflect":
        return reflection_pad(op, x, pad)
    if kind == "replicate":
        return replication_pad(op, x, pad)
    if kind == "circular":
        return circular_pad(op, x, pad)
    raise Refusal(f"padding has no mode {kind!r}")


_MODES = ("reflect", "replicate", "circular", "constant")  # in the order of ATen's enumeration
