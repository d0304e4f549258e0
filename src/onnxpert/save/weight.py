"""The bytes of one weight, without a copy where its memory already looks as ONNX wants it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeAlias

from onnxpert.core.errors import UsageError

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch

Weight: TypeAlias = "ir.TensorProtocol"
Bytes: TypeAlias = memoryview | bytes


def identity(weight: Weight) -> Hashable:
    """Equal for two weights that are one piece of memory seen in one way (tied weights)."""
    tensor = _torch_tensor(weight)
    if tensor is None:
        return id(weight)
    return (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)


def payload(weight: Weight) -> Bytes:
    """What ONNX calls `raw_data`. Only a view that is not contiguous is copied, and only this one."""
    import torch

    tensor = _torch_tensor(weight)
    if tensor is None and callable(weight.raw):  # read from a checkpoint now, and not before
        return payload(weight.raw())
    if tensor is None:
        return weight.tobytes()
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    flat: Bytes = plain.reshape(-1).view(torch.uint8).numpy().data
    return flat


def torch_dtype(weight: Weight) -> str:
    """What torch calls the weight's dtype: `float32`."""
    import onnx_ir as ir

    return str(ir.tensor_adapters.to_torch_dtype(weight.dtype)).removeprefix("torch.")


def refuse_fake(weights: dict[str, Weight]) -> None:
    """Raises UsageError when some weights have a shape and a dtype but no values."""
    fake = [name for name, weight in weights.items() if is_fake(weight)]
    if fake:
        others = f" and {len(fake) - 1} more" if len(fake) > 1 else ""
        raise UsageError(
            f"the weights are fake: {fake[0]}{others} have no values to write",
            "load the real weights before exporting (`model.load_state_dict(..., assign=True)`), "
            'or write the file now and fill it later (`weights="later"`, `onnxpert fill`)',
        )


def _torch_tensor(weight: Weight) -> torch.Tensor | None:
    import torch

    return weight.raw if isinstance(weight.raw, torch.Tensor) else None


def is_fake(weight: Weight) -> bool:
    """Whether it has a shape and a dtype but no values."""
    from onnxpert.save.fakes import has_no_values

    tensor = _torch_tensor(weight)
    return tensor is not None and has_no_values(tensor)
