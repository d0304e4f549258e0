"""Values for weights that have none: of a file that waits for them, or of a model that is fake."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnxpert.core.types import Filling, Unlike
from onnxpert.save import unfilled
from onnxpert.save.checkpoint import Checkpoint, Entry
from onnxpert.save.fakes import has_no_values

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch


@dataclass
class _Matching:
    """Keys held against a checkpoint, one after the other."""

    checkpoint: Checkpoint
    missing: list[str] = field(default_factory=list)
    misfits: list[Unlike] = field(default_factory=list)
    cast: list[Unlike] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def match(self, keys: Iterable[str], wanted: Entry) -> str | None:
        """The first of the keys that there is, if what is there fits."""
        names = list(keys)
        found = next((key for key in names if key in self.checkpoint), None)
        self.used.update(names)
        if found is None:
            self.missing.append(names[0])
            return None
        there = self.checkpoint.entry(found)
        if there.shape != wanted.shape or not _castable(there.dtype, wanted.dtype):
            self.misfits.append(Unlike(found, str(wanted), str(there)))
            return None
        if there.dtype != wanted.dtype:
            self.cast.append(Unlike(found, wanted.dtype, there.dtype))
        return found

    def told(self, also_known: Iterable[str] = ()) -> Filling:
        known = self.used.union(also_known)
        return Filling(
            self.checkpoint.name,
            tuple(self.missing),
            tuple(self.misfits),
            tuple(key for key in self.checkpoint if key not in known),
            tuple(self.cast),
        )


def fill_file(model: ir.Model, checkpoint: Checkpoint) -> Filling:
    """Give every waiting initialiser its value, read when it is written and not before.

    The model is only good to be written when nothing is missing and nothing misfits."""
    import onnx_ir as ir

    matching = _Matching(checkpoint)
    lazy: dict[tuple[str, ir.DataType], ir.LazyTensor] = {}
    for value, keys in unfilled.waiting(model):
        weight = value.const_value
        assert weight is not None  # it is waiting
        pairs = _is_pairs(keys, checkpoint)
        key = matching.match(keys, _described(weight, pairs))
        if key is None:
            continue
        if (key, weight.dtype) not in lazy:  # tied weights are one
            lazy[key, weight.dtype] = ir.LazyTensor(
                functools.partial(_value, checkpoint, key, weight.dtype),
                weight.dtype,
                ir.Shape(weight.shape.numpy()),
                name=str(value.name),
                metadata_props=dict(weight.metadata_props),
            )
        value.const_value = lazy[key, weight.dtype]
    unfilled.unmark(model)
    return matching.told()


def fill_module(module: torch.nn.Module, checkpoint: Checkpoint) -> tuple[torch.nn.Module, Filling]:
    """A copy of a fake model with the values of a checkpoint, whose files are mapped, not read."""
    import torch

    # Only the modules are copied: what has values is shared, and what has none is replaced.
    shared = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    filled = copy.deepcopy(module, dict(shared))
    matching = _Matching(checkpoint)
    own: dict[int, tuple[torch.Tensor, list[str]]] = {}
    real = []
    for key, tensor in (
        *filled.named_parameters(remove_duplicate=False),
        *filled.named_buffers(remove_duplicate=False),
    ):
        if has_no_values(tensor):
            own.setdefault(id(tensor), (tensor, []))[1].append(key)
        else:
            real.append(key)
    for tensor, keys in own.values():
        wanted = Entry(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        found = matching.match(keys, wanted)
        if found is None:
            continue
        value = checkpoint.tensor(found).to(tensor.dtype)
        if isinstance(tensor, torch.nn.Parameter):
            value = torch.nn.Parameter(value, requires_grad=False)
        for key in keys:
            path, _, name = key.rpartition(".")
            setattr(filled.get_submodule(path), name, value)
    return filled, matching.told(real)


def _described(weight: ir.TensorProtocol, pairs: bool) -> Entry:
    from onnxpert.save.weight import torch_dtype

    shape, dtype = tuple(weight.shape.numpy()), torch_dtype(weight)
    return Entry("complex64", shape[:-1]) if pairs else Entry(dtype, shape)


def _is_pairs(keys: Iterable[str], checkpoint: Checkpoint) -> bool:
    """Complex weights are pairs of reals in the file."""
    return any(key in checkpoint and checkpoint.entry(key).dtype == "complex64" for key in keys)


def _value(checkpoint: Checkpoint, key: str, dtype: ir.DataType) -> Any:
    import onnx_ir as ir
    import torch

    tensor = checkpoint.tensor(key).detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    wrapped = ir.tensor_adapters.TorchTensor(tensor)
    if wrapped.dtype == dtype:
        return wrapped
    return ir.tensor_adapters.TorchTensor(tensor.to(ir.tensor_adapters.to_torch_dtype(dtype)))


def _castable(given: str, wanted: str) -> bool:
    """Floating types differ by digits, as `load_state_dict` sees it; others are something else."""
    floats = ("float", "bfloat")
    return given == wanted or (given.startswith(floats) and wanted.startswith(floats))
