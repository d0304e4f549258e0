"""Intel's OpenVINO, on the CPU."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities, Restriction, names
from onnxpert.targets.target import Array, Run, target

if TYPE_CHECKING:
    import onnx_ir as ir

# Asked of OpenVINO 2026.4.1 itself, with a model of one node for each operator of the standard.
_MISSING = names("""
    BitCast CausalConvWithState ConcatFromSequence CumProd DeformConv Det ImageDecoder
    LinearAttention MaxUnpool MelWeightMatrix Optional OptionalGetElement OptionalHasElement
    RegexFullMatch SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
    SequenceMap SplitToSequence StringConcat StringNormalizer StringSplit SwiGLU TensorScatter
    TfIdfVectorizer
""")
# Likewise, with a model of one Identity and one of one Add.
_ENDS = names("""
    float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool
""")
_WEIGHTS = names("int4 uint4 float8e4m3fn float8e5m2 float8e8m0 float4e2m1")

_INSTALL = "pip install openvino"


class OpenVinoError(Exception):
    """What OpenVINO says of a file or of its inputs, without the places in its source."""


def _is_no_image(node: ir.Node) -> bool:
    value = node.inputs[0]
    return value is not None and value.shape is not None and len(value.shape) != 4


def _antialiases(node: ir.Node) -> bool:
    attribute = node.attributes.get("antialias")
    return attribute is not None and attribute.as_int() == 1


# Measured: the first is refused, the second gives other numbers.
_RESTRICTIONS = (
    Restriction("GridSample", "images, of four dimensions", _is_no_image),
    Restriction("Resize", "no antialiasing", _antialiases, "antialias=False"),
)


@cache
def _runtime() -> Any:
    try:
        import openvino
    except ImportError as error:
        raise UsageError(f"openvino cannot be imported: {error}", _INSTALL) from error
    return openvino


def absent() -> str:
    """Why it cannot run here; "" where it can."""
    try:
        _runtime()
    except UsageError as error:
        return error.message
    return ""


@target(
    "openvino",
    opsets=range(11, 27),
    default_opset=20,
    capabilities=Capabilities(
        source="the operators and types of OpenVINO 2026.4.1, asked of itself",
        domains=frozenset({"", "com.microsoft"}),
        missing=_MISSING,
        dtypes=_ENDS | _WEIGHTS,
        ends=_ENDS,
        narrower={"double": "float", "int64": "int32"},
        restrictions=_RESTRICTIONS,
        layout="channels first; OpenVINO chooses its own inside",
    ),
    absent=absent,
    install=_INSTALL,
    stand_in="ort-cpu",
)
def openvino(path: Path) -> Run:
    """Intel OpenVINO on the CPU, computing in float32."""
    runtime = _runtime()
    # By itself it would compute in bfloat16 where the processor can, and no proof would hold.
    hints = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": _threads()}
    core = runtime.Core()
    try:
        compiled = core.compile_model(core.read_model(os.fspath(path)), "CPU", hints)
    except RuntimeError as error:
        raise OpenVinoError(_said(str(error))) from error
    return lambda feeds: _run(compiled, feeds)


_NODE = re.compile(r"<Node\((\w+)\): ([^>]+)>")
_PLACES = re.compile(
    r"^(Exception from|Check '|FrontEnd API|Loading input model|Model wasn't|Summary:|While valid|--|To f)"
)


def _said(text: str) -> str:
    """The line that says something, with the node that it is about."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not _PLACES.match(line)]
    dashed = [line.removeprefix("-- ") for line in lines if line.startswith("--")]
    node = _NODE.search(text)
    where = f"{node[1]} node {node[2]!r}: " if node else ""
    return where + next(iter(plain + dashed + lines), "no reason given")


def _threads() -> int:
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return int(threads) if threads.isdecimal() and int(threads) else 1


def _run(compiled: Any, feeds: Mapping[str, Array]) -> list[Array]:
    request = compiled.create_infer_request()
    for port in compiled.inputs:
        name = next(name for name in port.get_names() if name in feeds)
        request.set_tensor(port, _tensor(feeds[name]))
    try:
        request.infer()
    except RuntimeError as error:
        raise OpenVinoError(_said(str(error))) from error
    return [_array(request.get_tensor(port)) for port in compiled.outputs]


def _tensor(array: Array) -> Any:
    import numpy as np

    runtime = _runtime()
    # ascontiguousarray makes a dimension of none
    whole = np.ascontiguousarray(array).reshape(array.shape)
    if str(array.dtype) == "bfloat16":  # numpy's own types stop short of it
        tensor = runtime.Tensor(runtime.Type.bf16, runtime.Shape(list(array.shape)))
        tensor.data.view(np.uint16)[...] = whole.view(np.uint16)
        return tensor
    return runtime.Tensor(whole)


def _array(tensor: Any) -> Array:
    import ml_dtypes
    import numpy as np

    if tensor.get_element_type() == _runtime().Type.bf16:
        return np.array(tensor.data).view(ml_dtypes.bfloat16)
    return np.array(tensor.data)
