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
    if tensor is None:
        return weight.tobytes()
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    flat: Bytes = plain.reshape(-1).view(torch.uint8).numpy().data
    return flat


def refuse_fake(weights: dict[str, Weight]) -> None:
    """Raises UsageError when some weights have a shape and a dtype but no values."""
    fake = [name for name, weight in weights.items() if _is_fake(weight)]
    if fake:
        others = f" and {len(fake) - 1} more" if len(fake) > 1 else ""
        raise UsageError(
            f"the weights are fake: {fake[0]}{others} have no values to write",
            "load the real weights before exporting (`model.load_state_dict(..., assign=True)`), "
            "or diagnose the model, which needs no values",
        )


def _torch_tensor(weight: Weight) -> torch.Tensor | None:
    import torch

    return weight.raw if isinstance(weight.raw, torch.Tensor) else None


def _is_fake(weight: Weight) -> bool:
    # A private name with no public one; the same in torch 2.13 and 2.15.
    from torch._subclasses.fake_tensor import FakeTensor

    tensor = _torch_tensor(weight)
    return tensor is not None and (isinstance(tensor, FakeTensor) or tensor.is_meta)
