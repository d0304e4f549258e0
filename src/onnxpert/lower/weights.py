"""The weights of a model as initialisers: tied ones once, each under the keys of the state dict."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.core import state_keys
from onnxpert.core.storages import storage_if_any
from onnxpert.core.types import GraphInput, InputKind


class Weights:
    """What is known of the weights of one model."""

    def __init__(self, module: Any) -> None:
        self._keys: dict[Hashable, list[str]] = {}
        for key, tensor in _state_dict(module).items():
            if isinstance(tensor, torch.Tensor):
                self._keys.setdefault(_memory(tensor), []).append(key)
        self._made: dict[Hashable, ir.Value] = {}

    def made(self, tensor: torch.Tensor) -> ir.Value | None:
        """The initialiser that holds the same memory already, looked at in the same way."""
        return self._made.get(_memory(tensor))

    def keep(self, tensor: torch.Tensor, value: ir.Value) -> None:
        self._made[_memory(tensor)] = value

    def stored(self, entry: GraphInput, held: torch.Tensor) -> ir.TensorProtocol:
        """The tensor as it goes into the file, with its keys."""
        stored = ir.tensor_adapters.TorchTensor(held)
        if entry.kind is not InputKind.CONSTANT:
            others = self._keys.get(_memory(entry.tensor), [])
            keys = [entry.name, *(key for key in others if key != entry.name)]
            # A repair may have put the model into another, under a name that no checkpoint has.
            known = [key for key in keys if key in others]
            stored.metadata_props.update(state_keys.noted(known or keys))
        return stored


def _state_dict(module: Any) -> Mapping[str, Any]:
    if isinstance(module, torch.nn.Module) and not isinstance(module, torch.jit.ScriptModule):
        # Hooks of the user's would see the call; what is there is there without them as well.
        return {
            **dict(module.named_parameters(remove_duplicate=False)),
            **dict(module.named_buffers(remove_duplicate=False)),
        }
    found = getattr(module, "state_dict", None)
    return found if isinstance(found, Mapping) else {}


def _memory(tensor: torch.Tensor) -> Hashable:
    """Equal for tensors that are one; fakes have no address, but a storage as well."""
    if tensor.layout is not torch.strided or not tensor.numel():
        return id(tensor)
    memory = storage_if_any(tensor)
    if memory is None:
        return id(tensor)
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    return memory, tensor.storage_offset(), shape, strides, tensor.dtype
