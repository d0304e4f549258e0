"""One call, in torch and in ONNX Runtime, at the example and at other sizes: are they the same?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import torch

from onnxpert.capture import capture
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.tolerance import tolerance
from onnxpert.core.types import CaptureFailed, Lowered, Request, replace
from onnxpert.engine.plugins import gathered
from onnxpert.load import load
from onnxpert.lower import lower


def lowered(
    function: Callable[..., Any], args: Sequence[Any], *, dynamic: Any = None, opset: int = 20
) -> Lowered:
    """The ONNX of a call; fails the test with every operator that has no lowering."""
    request = Request(function, tuple(args), dynamic_shapes=dynamic)
    captured = capture(replace(load(request), whole=gathered(request).whole))
    assert not isinstance(captured, CaptureFailed), [
        (name, failure.kind, failure.text) for name, failure in captured.attempts
    ]
    result = lower(captured, opset=opset)
    assert not result.unsupported, result.unsupported
    return result


def assert_same(
    function: Callable[..., Any],
    *args: Any,
    dynamic: Any = None,
    others: Sequence[Sequence[Any]] = (),
    opset: int = 20,
    nodes: Sequence[str] | None = None,
    values: bool = True,
) -> Lowered:
    """`function(*args)` in torch and in ONNX Runtime agree in shape, dtype, NaNs and values.

    `dynamic` is torch.export's dynamic_shapes or "auto"; `others` are further argument lists for
    the same file; `nodes` the operator types that must be in it."""
    result = lowered(function, args, dynamic=dynamic, opset=opset)
    proto = ir.to_proto(result.model)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for given in (args, *others):
        with torch.no_grad():
            wanted = [leaf for _, leaf in flatten_outputs(function(*_copied(given)))]
        tensors = [value for value in _copied(given) if isinstance(value, torch.Tensor)]
        feeds = {
            entry.name: _plain(tensor).numpy()
            for entry, tensor in zip(session.get_inputs(), tensors, strict=True)
        }
        got = session.run(None, feeds)
        assert len(got) == len(wanted)
        for have, want in zip(got, wanted, strict=True):
            _compare(have, _plain(torch.as_tensor(want)), values)
    if nodes is not None:
        assert set(nodes) <= {node.op_type for node in result.model.graph}
    return result


def _copied(args: Sequence[Any]) -> list[Any]:
    return [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """As the file has it: complex numbers are pairs of reals."""
    plain = tensor.resolve_conj().resolve_neg()
    return torch.view_as_real(plain) if plain.is_complex() else plain


def _compare(have: np.ndarray[Any, Any], want: torch.Tensor, values: bool) -> None:
    assert have.shape == tuple(want.shape), (have.shape, tuple(want.shape))
    assert str(have.dtype) == str(want.dtype).removeprefix("torch."), (have.dtype, want.dtype)
    if values:
        rtol, atol = tolerance(str(have.dtype))
        np.testing.assert_allclose(have, want.numpy(), rtol=rtol, atol=atol, equal_nan=True)
