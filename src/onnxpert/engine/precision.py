"""A lowered model turned to the precision that was asked for, measured on the example."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Loaded, Lowered, Narrowed
from onnxpert.optimise.precision import to_precision
from onnxpert.targets import Target
from onnxpert.targets.fit import fails_in
from onnxpert.verify import example_feeds

if TYPE_CHECKING:
    import onnx

_MOST_BYTES = 1_900_000_000


def converted(lowered: Lowered, loaded: Loaded, target: Target, precision: str) -> Narrowed:
    weights = (value.const_value for value in lowered.model.graph.initializers.values())
    if sum(weight.nbytes for weight in weights if weight is not None) > _MOST_BYTES:
        raise UsageError(
            "precision= measures every operator in one file, which these weights do not fit in",
            "convert the model in torch instead: model.half(), model.bfloat16()",
        )

    def probe(model: onnx.ModelProto) -> list[Any]:
        with tempfile.TemporaryDirectory(prefix="onnxpert-") as directory:
            path = Path(directory) / "probe.onnx"
            path.write_bytes(model.SerializeToString())
            return target.open(path)(example_feeds(loaded, path))

    return to_precision(
        lowered, precision, probe, lambda node, dtype: fails_in(node, target, dtype)
    )
