"""Small files and loaded models, made by hand, so that the proof is tested without an exporter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from onnxpert.core.types import InputLeaf, Loaded
from onnxpert.verify import cases

TYPES = {
    torch.float32: TensorProto.FLOAT,
    torch.float16: TensorProto.FLOAT16,
    torch.bfloat16: TensorProto.BFLOAT16,
    torch.float64: TensorProto.DOUBLE,
    torch.int64: TensorProto.INT64,
    torch.bool: TensorProto.BOOL,
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the first run of a process takes: which sizes are tried shall not depend on it."""
    monkeypatch.setattr(cases, "_LARGER_SECONDS", math.inf)


@pytest.fixture
def load() -> Callable[..., Loaded]:
    """`load(model, x=tensor, n=3, scalars={"n": DimSpec("n")})` gives the Loaded of `model(x, n)`."""

    def make(
        model: Any, *, scalars: Any = None, casts: Any = None, dims: Any = None, **values: Any
    ) -> Loaded:
        leaves = tuple(
            InputLeaf(name, value, name, (dims or {}).get(name, ()), (scalars or {}).get(name))
            for name, value in values.items()
        )
        return Loaded(
            model,
            tuple(values.values()),
            {},
            leaves,
            lambda items: (tuple(items), {}),
            casts=casts or {},
        )

    return make


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """`write([node, ...], inputs={"x": (dtype, dims)}, outputs=..., weights=...)` makes a file."""

    def make(
        nodes: Sequence[onnx.NodeProto],
        inputs: dict[str, Any],
        outputs: dict[str, Any],
        *,
        weights: dict[str, torch.Tensor] | None = None,
        ranges: dict[str, str] | None = None,
        name: str = "model.onnx",
    ) -> Path:
        def info(values: dict[str, Any]) -> list[onnx.ValueInfoProto]:
            return [
                helper.make_tensor_value_info(key, TYPES[dtype], dims)
                for key, (dtype, dims) in values.items()
            ]

        graph = helper.make_graph(
            list(nodes),
            "main",
            info(inputs),
            info(outputs),
            [
                numpy_helper.from_array(t.detach().numpy(), key)
                for key, t in (weights or {}).items()
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        for symbol, text in (ranges or {}).items():
            model.metadata_props.add(key=f"onnxpert.dim.{symbol}", value=text)
        path = tmp_path / name
        onnx.save(model, path)
        return path

    return make
