"""NVIDIA's TensorRT, by its documented tables: it is not driven from here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities, Restriction
from onnxpert.targets.target import Run, target

if TYPE_CHECKING:
    import onnx_ir as ir

_REAL = frozenset({"float", "float16", "bfloat16"})
_NUMBER = _REAL | {"int32", "int64"}
_ANY = _NUMBER | {"bool"}
_HALF = frozenset({"float", "float16"})
_BOOL = frozenset({"bool"})
_QUANTISED = frozenset({"int8", "int4", "float8e4m3fn", "float4e2m1"})

_BY_TYPES = {
    _REAL: """
        Acos Acosh Asin Asinh Atan Atanh Attention AveragePool BatchNormalization Ceil Celu Clip
        Conv ConvTranspose Cos Cosh CumSum Dropout Einsum Elu Erf Exp Floor Gemm GlobalAveragePool
        GlobalLpPool GlobalMaxPool GroupNormalization GRU HardSigmoid HardSwish Hardmax
        InstanceNormalization IsInf LayerNormalization LeakyRelu Log LogSoftmax LRN LSTM
        LpNormalization LpPool MatMul MaxPool MeanVarianceNormalization PRelu RandomNormal
        RandomNormalLike RandomUniform RandomUniformLike Reciprocal Resize
        RMSNormalization RNN RotaryEmbedding Round Scan Selu Sigmoid Sin Sinh Softmax Softplus
        Softsign Sqrt Tan Tanh ThresholdedRelu Upsample""",
    _NUMBER: """
        Abs Add ArgMax ArgMin DepthToSpace Div Equal Gelu Greater GreaterOrEqual IsNaN Less
        LessOrEqual Max Mean Min Mod Mul Neg Pad Pow Range ReduceL1 ReduceL2 ReduceLogSum
        ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu
        Scatter ScatterElements ScatterND Shrink Sign SpaceToDepth Sub Sum TensorScatter TopK""",
    _ANY: """
        Concat Expand EyeLike Flatten Gather GatherElements GatherND Identity If Loop OneHot
        Reshape ReverseSequence Shape Size Slice Split Squeeze Tile Transpose Trilu Unsqueeze
        Where""",
    _HALF: """
        BlackmanWindow DeformConv GridSample HammingWindow HannWindow Mish NonMaxSuppression
        NonZero RoiAlign""",
    frozenset({"float"}): "STFT",
    _BOOL: "And Not Or Xor",
    _ANY | {"uint8"}: "Cast CastLike",
    _ANY | _QUANTISED: "Constant ConstantOfShape",
    _QUANTISED | _REAL: "DequantizeLinear QuantizeLinear",
}  # fmt: skip
_OPERATORS = {name: types for types, listed in _BY_TYPES.items() for name in listed.split()}


def _rank(node: ir.Node) -> int | None:
    value = node.inputs[0] if node.inputs else None
    return len(value.shape) if value is not None and value.shape is not None else None


def _spatial(*allowed: int) -> Callable[[ir.Node], bool]:
    def breaks(node: ir.Node) -> bool:
        rank = _rank(node)
        return rank is not None and rank - 2 not in allowed

    return breaks


def _string(node: ir.Node, name: str, default: str) -> str:
    attribute = node.attributes.get(name)
    return attribute.as_string() if attribute is not None else default


def _number(node: ir.Node, name: str, default: int) -> int:
    attribute = node.attributes.get(name)
    return attribute.as_int() if attribute is not None else default


def _dilates(node: ir.Node) -> bool:
    attribute = node.attributes.get("dilations")
    return attribute is not None and any(size != 1 for size in attribute.as_ints())


def _varies(node: ir.Node, index: int) -> bool:
    """Whether an input is there and is no constant of the file."""
    import onnx_ir as ir

    value = node.inputs[index] if index < len(node.inputs) else None
    return value is not None and ir.convenience.get_const_tensor(value) is None


def _used(node: ir.Node, index: int) -> bool:
    if index >= len(node.outputs):
        return False
    value = node.outputs[index]
    return bool(value.uses()) or value.is_graph_output()


_RESIZES = frozenset(
    {"half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn", "asymmetric", "align_corners"}
)
_REDUCTIONS = tuple(name for name in _OPERATORS if name.startswith("Reduce"))

_RESTRICTIONS = (
    Restriction("AveragePool", "two or three spatial dimensions", _spatial(2, 3),
                "unsqueeze a dimension of size 1 before the pooling, and squeeze it after"),
    Restriction("AveragePool", "no dilations", _dilates),
    Restriction("MaxPool", "two or three spatial dimensions", _spatial(2, 3),
                "unsqueeze a dimension of size 1 before the pooling, and squeeze it after"),
    Restriction("MaxPool", "no dilations", _dilates),
    Restriction("MaxPool", "no indices as an output", lambda node: _used(node, 1),
                "return_indices=False"),
    Restriction("LpPool", "no dilations", _dilates),
    Restriction("GridSample", "images, of four dimensions", _spatial(2)),
    Restriction("CumSum", "an axis that is a constant of the file", lambda node: _varies(node, 1)),
    Restriction("OneHot", "a depth that is a constant of the file", lambda node: _varies(node, 1)),
    Restriction("Resize", "the modes nearest and linear",
                lambda node: _string(node, "mode", "nearest") == "cubic", 'mode="bilinear"'),
    Restriction("Resize", "no antialiasing", lambda node: _number(node, "antialias", 0) == 1,
                "antialias=False"),
    Restriction("Resize", f"the coordinates {', '.join(sorted(_RESIZES))}",
                lambda node: _string(node, "coordinate_transformation_mode", "half_pixel")
                not in _RESIZES),
    Restriction("ScatterND", "no reduction",
                lambda node: _string(node, "reduction", "none") != "none",
                "write each place once: index_put without accumulate"),
    Restriction("TopK", "results that are sorted", lambda node: _number(node, "sorted", 1) != 1,
                "sorted=True"),
    Restriction("LSTM", "the layout with time first", lambda node: _number(node, "layout", 0) != 0),
    *(
        Restriction(name, "axes that are constants of the file", lambda node: _varies(node, 1))
        for name in _REDUCTIONS
    ),
)  # fmt: skip


@target(
    "tensorrt",
    opsets=range(11, 25),
    default_opset=20,
    capabilities=Capabilities(
        source="the operators that ONNX-TensorRT documents for TensorRT 10.15",
        operators=_OPERATORS,
        dtypes=_ANY | _QUANTISED | {"double", "uint8"},
        narrower={"double": "float"},
        restrictions=_RESTRICTIONS,
        most_rank=8,
        dynamic="an engine is built for ranges of sizes: an optimisation profile",
        dynamic_help="trtexec --minShapes=... --optShapes=... --maxShapes=...",
        layout="channels first",
    ),
    absent=lambda: "TensorRT builds an engine for one GPU, which is not done here",
    install="build the engine where it shall run: trtexec --onnx=model.onnx",
    stand_in="ort-cpu",
)
def tensorrt(path: Path) -> Run:
    """NVIDIA TensorRT, by its documented operators and types; proofs run on the CPU instead."""
    raise UsageError(
        f"TensorRT does not run {path.name} from here", "trtexec --onnx=model.onnx where the GPU is"
    )
