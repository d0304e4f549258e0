"""Writes the file and its data files in one pass each, one weight in memory at a time.

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
from onnxpert.save import unfilled
from onnxpert.save.layout import NOWHERE, Place, lay_out
from onnxpert.save.skeleton import large_weights, skeleton
from onnxpert.save.weight import Bytes, Weight, is_fake, payload, refuse_fake

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

# protobuf reads at most 2 GiB; the nodes need their part of it.
IN_FILE_BYTES = 1_900_000_000

# The numbers of length-delimited fields in onnx.proto, as the tags that precede them.
GRAPH_TAG = bytes([7 << 3 | 2])  # of ModelProto
INITIALIZER_TAG = bytes([5 << 3 | 2])  # of GraphProto
RAW_DATA_TAG = bytes([9 << 3 | 2])  # of TensorProto


def write(
    model: ir.Model,
    path: Path,
    *,
    external_data: bool | int,
    digest: bool,
    kept: Mapping[str, Place] | None = None,
    later: bool = False,
) -> Saved:
    """`kept` are places of weights in files that are there already; `later`: fake ones have none."""
    weights = large_weights(model)
    elsewhere = dict(kept or {})
    if later:
        elsewhere |= {name: unfilled.PLACE for name, one in weights.items() if is_fake(one)}
    rest = {name: weight for name, weight in weights.items() if name not in elsewhere}
    refuse_fake(rest)
    beside: dict[str, Place] = {}
    if external_data or sum(weight.nbytes for weight in rest.values()) > IN_FILE_BYTES:
        beside = lay_out(
            rest, path.name, None if isinstance(external_data, bool) else external_data
        )
        rest = {}
    proto = skeleton(model, {**elsewhere, **beside, **dict.fromkeys(rest, NOWHERE)})
    if later and len(elsewhere) > len(kept or {}):
        unfilled.mark(proto)
    sink = _Sink(digest)
    _write_model(proto, path, rest, sink)
    _write_data(beside, path, weights, sink)
    return sink.saved()


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


def _write_model(
    proto: onnx.ModelProto, path: Path, inside: Mapping[str, Weight], sink: _Sink
) -> None:
    """The file itself, with the weights that go inside."""
    heads = _take_out(proto.graph, inside)
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    # Everything before the bytes of a weight, so that the lengths around it are known.
    frames = {name: _frame(head, inside[name].nbytes) for name, head in heads.items()}
    length = len(graph) + sum(len(frame) + inside[name].nbytes for name, frame in frames.items())
    with sink.open(path):
        sink.write(proto.SerializeToString() + GRAPH_TAG + _varint(length) + graph)
        for name, frame in frames.items():
            sink.write(frame)
            sink.write(payload(inside[name]))


def _write_data(
    places: Mapping[str, Place], path: Path, weights: Mapping[str, Weight], sink: _Sink
) -> None:
    """The files beside it, one after the other; the places of each are in order."""
    for location in dict.fromkeys(place.location for place in places.values()):
        end = 0
        with sink.open(path.with_name(location)):
            for name, place in places.items():
                # One before the end shares the place of a weight that is written already.
                if place.location != location or place.offset < end:
                    continue
                sink.write(bytes(place.offset - end))
                sink.write(payload(weights[name]))
                end = place.offset + place.length


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
