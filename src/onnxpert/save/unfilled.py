"""A file whose weights are to be filled in later: how it says so, and what each weight is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxpert.core import state_keys
from onnxpert.save.layout import Place

if TYPE_CHECKING:
    import onnx
    import onnx_ir as ir

MARK = "onnxpert.weights"
LATER = "later"
# No such file is ever written, so a runtime that is given the model too early says so.
LOCATION = "weights-are-filled-in-by-onnxpert-fill"
PLACE = Place(LOCATION, 0, 0)


def mark(proto: onnx.ModelProto) -> None:
    entry = proto.metadata_props.add()
    entry.key, entry.value = MARK, LATER


def unmark(model: ir.Model) -> None:
    model.metadata_props.pop(MARK, None)


def is_marked(model: ir.Model) -> bool:
    return model.metadata_props.get(MARK) == LATER


def waiting(model: ir.Model) -> Iterator[tuple[ir.Value, tuple[str, ...]]]:
    """The initialisers without values, each with its keys in the state dict."""
    import onnx_ir as ir

    for value in model.graph.initializers.values():
        weight = value.const_value
        if isinstance(weight, ir.ExternalTensor) and str(weight.location) == LOCATION:
            yield value, state_keys.read(weight.metadata_props) or (str(value.name),)
