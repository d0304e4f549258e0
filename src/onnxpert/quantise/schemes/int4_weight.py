"""Weights of matrix products in 4 bits, by blocks; the rest stays as it is."""

from __future__ import annotations

from onnxpert.quantise.naming import every_node
from onnxpert.quantise.scheme import Work, scheme
from onnxpert.quantise.silence import quietly

BLOCK = 32  # weights that share a scale
# The product rounds what it reads to 8 bits, block by block: next to 4 bits that costs nothing, and
# for one row at a time it is five times as fast as float32.
IN_BYTES = 4


@scheme(
    "int4-weight",
    operators=frozenset({"MatMul"}),
    bound=0.25,
    splits_gemm=True,
    since=(1, 17),
)
def int4_weight(work: Work) -> None:
    """Weights of matrix products in 4 bits and blocks of 32, activations in float32."""
    with quietly():
        import onnx
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        model = onnx.load(work.source)
        others = [node.name for node in every_node(model.graph) if node.name not in work.layers]
        quantiser = MatMulNBitsQuantizer(
            model, block_size=BLOCK, nodes_to_exclude=others, accuracy_level=IN_BYTES
        )
        quantiser.process()
        quantiser.model.save_model_to_file(work.destination, use_external_data_format=True)
