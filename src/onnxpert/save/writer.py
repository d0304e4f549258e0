"""Writes the file and the data file in one pass each, one weight in memory at a time.

Handing the whole model to protobuf holds every weight three times (ours, its message, its
string). A protobuf message is only its fields one after the other, each with a length before it;
so the small rest is serialised by protobuf and the weights are framed here:

    model fields | graph = [ graph fields | initializer = [ its header | raw_data ] ... ]"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from onnxpert.core.types import Saved
from onnxpert.save.skeleton import NOWHERE, Place, large_weights, skeleton
from onnxpert.save.weight import Bytes, Weight, identity, payload, refuse_fake

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

# protobuf reads at most 2 GiB; the nodes need their part of it.
IN_FILE_BYTES = 1_900_000_000

# The numbers of length-delimited fields in onnx.proto, as the tags that precede them.
GRAPH_TAG = bytes([7 << 3 | 2])  # of ModelProto
INITIALIZER_TAG = bytes([5 << 3 | 2])  # of GraphProto
RAW_DATA_TAG = bytes([9 << 3 | 2])  # of TensorProto


def write(model: ir.Model, path: Path, *, external_data: bool, digest: bool) -> Saved:
    weights = large_weights(model)
    refuse_fake(weights)
    if external_data or sum(weight.nbytes for weight in weights.values()) > IN_FILE_BYTES:
        return _write_beside(model, path, weights, digest)
    return _write_inside(model, path, weights, digest)


class _Sink:
    """Files written one after the other, counted and hashed as they go."""

    def __init__(self, digest: bool) -> None:
        self._hash = hashlib.sha256() if digest else None
        self._files: list[Path] = []
        self._bytes = 0

    def open(self, path: Path) -> Self:
        self._file = path.open("wb")
        self._files.append(path)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, data: Bytes) -> None:
        self._file.write(data)
        self._bytes += len(data)
        if self._hash is not None:
            self._hash.update(data)

    def saved(self) -> Saved:
        sha256 = self._hash.hexdigest() if self._hash is not None else ""
        return Saved(self._files[0], tuple(self._files), self._bytes, sha256)


def _write_inside(
    model: ir.Model, path: Path, weights: Mapping[str, Weight], digest: bool
) -> Saved:
    proto = skeleton(model, dict.fromkeys(weights, NOWHERE))
    heads = _take_out(proto.graph, weights)
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    # Everything before the bytes of a weight, so that the lengths around it are known.
    frames = {name: _frame(head, weights[name].nbytes) for name, head in heads.items()}
    length = len(graph) + sum(len(frame) + weights[name].nbytes for name, frame in frames.items())
    sink = _Sink(digest)
    with sink.open(path):
        sink.write(proto.SerializeToString() + GRAPH_TAG + _varint(length) + graph)
        for name, frame in frames.items():
            sink.write(frame)
            sink.write(payload(weights[name]))
    return sink.saved()


def _write_beside(
    model: ir.Model, path: Path, weights: Mapping[str, Weight], digest: bool
) -> Saved:
    data = path.with_name(path.name + ".data")
    places = _lay_out(weights, data.name)
    sink = _Sink(digest)
    with sink.open(path):
        sink.write(skeleton(model, places).SerializeToString())
    if not places:  # nothing is large enough to be worth a second file
        return sink.saved()
    end = 0
    with sink.open(data):
        for name, place in places.items():
            if place.offset < end:  # shares the place of one that is written already
                continue
            sink.write(bytes(place.offset - end))
            sink.write(payload(weights[name]))
            end = place.offset + place.length
    return sink.saved()


def _take_out(graph: onnx.GraphProto, names: Iterable[str]) -> dict[str, bytes]:
    """Remove those initialisers from the graph; their messages, serialised without a value."""
    wanted = set(names)
    kept, heads = [], {}
    for tensor in graph.initializer:
        if tensor.name in wanted:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            heads[tensor.name] = tensor.SerializeToString()
        else:
            kept.append(tensor)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return heads


def _frame(head: bytes, data_bytes: int) -> bytes:
    inner = head + RAW_DATA_TAG + _varint(data_bytes)
    return INITIALIZER_TAG + _varint(len(inner) + data_bytes) + inner


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _lay_out(weights: Mapping[str, Weight], location: str) -> dict[str, Place]:
    """A place for each weight in the order of the graph; tied ones share theirs."""
    places: dict[str, Place] = {}
    seen: dict[object, Place] = {}
    end = 0
    for name, weight in weights.items():
        key = (identity(weight), weight.dtype, tuple(weight.shape))
        if key not in seen:
            # Whole pages can be mapped into memory; a cache line is enough for the small ones.
            unit = 4096 if weight.nbytes >= 1 << 20 else 64
            offset = -(-end // unit) * unit
            seen[key] = Place(location, offset, weight.nbytes)
            end = offset + weight.nbytes
        places[name] = seen[key]
    return places
