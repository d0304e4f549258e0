"""The model as a protobuf whose large weights are named and typed but not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from onnxpert.save.layout import Place
from onnxpert.save.weight import Weight, is_fake

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

# Smaller ones stay in the skeleton: shapes and axes, which shape inference wants to read.
SMALL_BYTES = 1024


def large_weights(model: ir.Model) -> dict[str, Weight]:
    """The initialisers worth keeping apart, by name; those without values cannot be anywhere else.

    Those of subgraphs are not: their names need not be unique, and the lowering makes none."""
    import onnx_ir as ir

    return {
        name: value.const_value
        for name, value in model.graph.initializers.items()
        if value.const_value is not None
        and (value.const_value.nbytes > SMALL_BYTES or is_fake(value.const_value))
        and value.const_value.dtype is not ir.DataType.STRING
    }


def skeleton(model: ir.Model, places: Mapping[str, Place]) -> onnx.ModelProto:
    """The model with the weights of `places` written as external data; `model` stays as it was."""
    from onnx_ir import serde

    with _elsewhere(model, places):
        return serde.serialize_model(model)


@contextmanager
def _elsewhere(model: ir.Model, places: Mapping[str, Place]) -> Iterator[None]:
    import onnx_ir as ir

    values = [model.graph.initializers[name] for name in places]
    weights = [value.const_value for value in values]
    try:
        for value, weight, place in zip(values, weights, places.values(), strict=True):
            assert weight is not None  # it is one of `large_weights`
            value.const_value = ir.ExternalTensor(
                place.location,
                place.offset,
                place.length,
                weight.dtype,
                shape=ir.Shape(weight.shape.numpy()),
                name=value.name or "",
                doc_string=weight.doc_string,
                metadata_props=dict(weight.metadata_props),
            )
        yield
    finally:
        for value, weight in zip(values, weights, strict=True):
            value.const_value = weight
