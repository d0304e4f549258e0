"""The operators of torch's database that no ONNX file can stand for, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping

_PYTHON = "it gives Python values, no tensor"
_SPARSE = "it takes or gives a sparse layout, which ONNX does not have"
_CUDA = "it compiles a kernel for CUDA while it runs"
_CUDA_ONLY = "it has no kernel on the CPU, so there is nothing to compare with"
_STORAGE = "it changes the size of a tensor's storage; the new elements are whatever lay there"
_BACKWARD = "a step of the backward pass"

# The names are those of the database: `name`, or `name.variant`.
OUT_OF_SCOPE: Mapping[str, str] = {
    "item": _PYTHON,
    "equal": _PYTHON,
    "allclose": _PYTHON,
    "broadcast_shapes": _PYTHON,
    "to_sparse": _SPARSE,
    "sparse.sampled_addmm": _SPARSE,
    "sparse.mm.reduce": _SPARSE,
    "jiterator_unary": _CUDA,
    "jiterator_binary": _CUDA,
    "jiterator_4inputs_with_extra_args": _CUDA,
    "jiterator_binary_return_by_ref": _CUDA,
    "jiterator_2inputs_2outputs": _CUDA,
    "torch.ops.aten._flash_attention_forward": _CUDA_ONLY,
    "torch.ops.aten._efficient_attention_forward": _CUDA_ONLY,
    "nn.functional.batch_norm.without_cudnn": _CUDA_ONLY,
    "torch._scaled_mm": "it takes float8 only, in a layout of CUDA's",
    "torch._scaled_mm_v2": "it takes float8 only, in a layout of CUDA's",
    "resize_": _STORAGE,
    "resize_as_": _STORAGE,
    "as_strided.partial_views": "it reads storage outside of the tensor it is given",
    "_softmax_backward_data": _BACKWARD,
    "max_pool2d_with_indices_backward": _BACKWARD,
    "native_dropout_backward": _BACKWARD,
}
