"""What a file says about itself, read without reading its weights."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import onnx

SMALL_BYTES = 1024
RANGE_PREFIX = "onnxpert.dim."

Dims: TypeAlias = tuple[int | str | None, ...]
# Field numbers of onnx.proto.
MODEL_GRAPH = 7
GRAPH_INITIALIZER = 5
TENSOR_RAW_DATA = 9


@dataclass(frozen=True, slots=True)
class FileInput:
    """A graph input as the file declares it; a dimension is a size, a name or expression, or None."""

    name: str
    dtype: str
    dims: Dims


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The interface of a file, and the sizes it promises to work at."""

    inputs: tuple[FileInput, ...]
    outputs: tuple[str, ...]
    ranges: Mapping[str, tuple[int, int | None]]  # symbol -> lowest and highest size
    shapes: Mapping[str, Dims] = field(default_factory=dict)  # of the outputs


def read(path: Path) -> onnx.ModelProto:
    """The model with its large weights left where they are: as external data in the file itself.

    A model saved beside `path` thus has all the weights and none of their bytes."""
    import onnx

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        rest = bytearray()
        graph_rest = bytearray()
        weights: list[onnx.TensorProto] = []
        for number, start, value, end in _fields(data, 0, len(data)):
            if number != MODEL_GRAPH:
                rest += data[start:end]
                continue
            for inner, inner_start, inner_value, inner_end in _fields(data, value, end):
                if inner == GRAPH_INITIALIZER:
                    weights.append(_tensor(data, inner_value, inner_end, path.name))
                else:
                    graph_rest += data[inner_start:inner_end]
    model = onnx.ModelProto()
    model.ParseFromString(bytes(rest))
    model.graph.MergeFromString(bytes(graph_rest))
    model.graph.initializer.extend(weights)
    return model


def facts(model: onnx.ModelProto) -> FileFacts:
    weights = {tensor.name for tensor in model.graph.initializer}  # may be listed as inputs too
    return FileFacts(
        tuple(_input(value) for value in model.graph.input if value.name not in weights),
        tuple(value.name for value in model.graph.output),
        {
            entry.key.removeprefix(RANGE_PREFIX): _range(entry.value)
            for entry in model.metadata_props
            if entry.key.startswith(RANGE_PREFIX)
        },
        {value.name: _dims(value) for value in model.graph.output},
    )


def _input(value: onnx.ValueInfoProto) -> FileInput:
    import onnx

    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name
    return FileInput(value.name, dtype, _dims(value))


def _dims(value: onnx.ValueInfoProto) -> Dims:
    kinds = [(dim, dim.WhichOneof("value")) for dim in value.type.tensor_type.shape.dim]
    return tuple(None if kind is None else getattr(dim, kind) for dim, kind in kinds)


def _range(text: str) -> tuple[int, int | None]:
    """`2..64`, or `2..` when there is no end."""
    low, _, high = text.partition("..")
    return int(low), int(high) if high.strip() else None


def _tensor(data: mmap.mmap, start: int, end: int, location: str) -> onnx.TensorProto:
    import onnx

    head = bytearray()
    place: tuple[int, int] | None = None
    for number, field_start, value, field_end in _fields(data, start, end):
        if number == TENSOR_RAW_DATA and field_end - value > SMALL_BYTES:
            place = value, field_end - value
        else:
            head += data[field_start:field_end]
    tensor = onnx.TensorProto()
    tensor.ParseFromString(bytes(head))
    if place is not None:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", location), ("offset", place[0]), ("length", place[1])):
            tensor.external_data.add(key=key, value=str(text))
    return tensor


def _fields(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, start, start of the value, end) of each field of a protobuf message."""
    while at < end:
        start = at
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value = at
            _, at = _varint(data, at)
        elif kind == 2:
            length, value = _varint(data, at)
            at = value + length
        elif kind in (1, 5):
            value = at
            at += 8 if kind == 1 else 4
        else:
            raise ValueError(f"not a protobuf message: wire type {kind} at byte {start}")
        yield tag >> 3, start, value, at


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
