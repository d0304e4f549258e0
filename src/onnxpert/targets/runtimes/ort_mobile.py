"""ONNX Runtime on Android and iOS, by its kernel tables: there is no telephone here."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities, names
from onnxpert.targets.kernels import installed
from onnxpert.targets.runtimes import ort_cpu
from onnxpert.targets.target import Run, target

# What the smaller packages (onnxruntime-mobile, the last of them 1.18) are built with.
_REDUCED = names("""
    Abs Add And ArgMax ArgMin AveragePool Cast Ceil Clip Concat Constant ConstantOfShape Conv
    ConvTranspose Cos CumSum DepthToSpace DequantizeLinear Div DynamicQuantizeLinear Elu Equal Erf
    Exp Expand Flatten Floor Gather GatherND Gemm GlobalAveragePool Greater GreaterOrEqual Identity
    If InstanceNormalization LRN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop
    MatMul MatMulInteger Max MaxPool Mean Min Mul Neg NonMaxSuppression NonZero Not Or PRelu Pad Pow
    QLinearConv QLinearMatMul QuantizeLinear Range Reciprocal ReduceMax ReduceMean ReduceMin
    ReduceProd ReduceSum Relu Reshape Resize ReverseSequence Round Scan ScatterND Shape Sigmoid Sin
    Size Slice Softmax SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh ThresholdedRelu Tile TopK
    Transpose Unique Unsqueeze Where
""")


@target(
    "ort-mobile",
    opsets=range(11, 27),
    default_opset=ort_cpu.DEFAULT_OPSET,
    limits=ort_cpu.limits,
    capabilities=Capabilities(
        source="the CPU kernels of the installed ONNX Runtime, which the full packages for Android "
        "and iOS hold too, and the operator list of the reduced package",
        domains=frozenset({"", "ai.onnx.ml", "com.microsoft"}),
        kernels=lambda older: installed("ort-cpu", older),
        widens=frozenset({"float16"}),
        inlines=True,
        restrictions=(*ort_cpu.RESTRICTIONS, ort_cpu.CRASH),
        most_bytes=2**31,
        dynamic="NNAPI and CoreML take no sizes that vary, so the CPU runs these parts",
        dynamic_help="give fixed sizes, or onnxruntime.tools.make_dynamic_shape_fixed afterwards",
        reduced=_REDUCED,
        reduced_says="is not in the reduced package (onnxruntime-mobile); the full one has it",
        layout="channels first",
    ),
    absent=lambda: "ONNX Runtime for Android and iOS does not run here",
    install="try the file on a device, in the full package onnxruntime-android or onnxruntime-c",
    stand_in="ort-cpu",
)
def ort_mobile(path: Path) -> Run:
    """ONNX Runtime on Android and iOS, by its tables; proofs run with the same kernels here."""
    raise UsageError(
        f"{path.name} cannot be run on a telephone from here", "target ort-cpu has the same kernels"
    )
