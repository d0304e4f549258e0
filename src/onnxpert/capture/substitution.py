"""A model that no capture takes as it is, with something else in the place of what keeps it from that.

What it is made into is looked at and never exported: everything else about it is told in the same run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import torch
from torch.nn.parameter import UninitializedBuffer, is_lazy

from onnxpert.capture.devices import at_home
from onnxpert.capture.examples.rehearsal import takes
from onnxpert.capture.strategies.gradient import differentiates
from onnxpert.core.observers import observing
from onnxpert.core.types import Captured, CaptureFailed, InputLeaf, Loaded, replace


def is_unmade(module: torch.nn.Module | None) -> bool:
    """Whether a lazy layer waits for its first input."""
    tensors = () if module is None else (*module.parameters(), *module.buffers())
    return any(is_lazy(tensor) for tensor in tensors)


def is_sparse(value: object) -> bool:
    """Or of a quantised dtype: as an input ONNX has neither."""
    if not isinstance(value, torch.Tensor):
        return False
    return value.layout is not torch.strided or _is_quantised(value)


def substituted(loaded: Loaded) -> Loaded | None:
    """The model that makes its weights, measures no more and is given dense tensors: a copy, since none
    of that is to happen to the user's own. None where nothing comes of it."""
    if any(_is_quantised(leaf.value) for leaf in loaded.leaves):
        return None  # what a model does with such a one it does not do with floats
    try:
        module = copy.deepcopy(loaded.module, _unmade_buffers(loaded.module))
    except Exception:  # whatever cannot be copied
        return None
    if not isinstance(module, torch.nn.Module):
        return None
    for path in list(observing(module)):
        _switch_off(module.get_submodule(path))
    other = replace(loaded, module=module, leaves=tuple(map(_dense, loaded.leaves)))
    if is_unmade(module):
        _make(module, other)
        if not any(is_sparse(leaf.value) for leaf in loaded.leaves):
            return None if is_unmade(module) else other
    return other if takes(other) else None


def _make(module: torch.nn.Module, loaded: Loaded) -> None:
    """The weights that a first call makes, as far as it comes: what stops it is told by a capture."""
    args, kwargs = loaded.rebuild([copy.deepcopy(leaf.value) for leaf in loaded.leaves])
    with suppress(Exception), at_home(loaded), torch.no_grad(), torch.random.fork_rng([]):
        module(*args, **kwargs)


def beside(
    failed: CaptureFailed,
    other: Loaded | None,
    capture: Callable[[Loaded], Captured | CaptureFailed],
) -> CaptureFailed:
    """The failure, and what a capture of the substitute shows."""
    if other is None:
        return failed
    found = capture(other)
    if isinstance(found, Captured):
        # Nothing of it is proven.
        return replace(failed, scouted=replace(found, strategy="scout"))  # type: ignore[no-any-return]
    # Where the model itself raises, that is what is told first, whatever else was tried.
    tried = found.attempts if failed.eager is not None else ()
    return replace(  # type: ignore[no-any-return]
        failed,
        attempts=(*failed.attempts, *tried),
        eager=failed.eager or found.eager,
        blockers=(*failed.blockers, *found.blockers),
        scouted=found.scouted,
        sides=found.sides,
    )


def _unmade_buffers(module: Any) -> dict[int, Any]:
    """What a copy has in their place: torch cannot copy them."""
    kind: Any = UninitializedBuffer
    found = module.buffers() if isinstance(module, torch.nn.Module) else ()
    return {id(each): kind(device=each.device, dtype=each.dtype) for each in found if is_lazy(each)}


def enlarged(loaded: Loaded, sizes: Mapping[str, tuple[int, ...]]) -> Loaded:
    """With inputs of these shapes, which repeat what the example has."""

    def grown(leaf: InputLeaf) -> InputLeaf:
        value = leaf.value
        for axis, size in enumerate(sizes.get(leaf.name, ())):
            value = value.index_select(axis, torch.arange(size) % value.shape[axis])
        return leaf if value is leaf.value else replace(leaf, value=value)

    return replace(loaded, leaves=tuple(map(grown, loaded.leaves)))  # type: ignore[no-any-return]


def trains(loaded: Loaded) -> bool:
    """Whether the model runs where its weights may learn, which those of an exported one never do."""
    if not isinstance(loaded.module, torch.nn.Module) or not differentiates(loaded):
        return False
    module = copy.deepcopy(loaded.module)
    for parameter in module.parameters():
        if parameter.is_floating_point():
            parameter.requires_grad_(True)
    args, kwargs = loaded.rebuild([copy.deepcopy(leaf.value) for leaf in loaded.leaves])
    try:
        with torch.enable_grad(), torch.random.fork_rng([]):
            module(*args, **kwargs)
    except Exception:  # it refuses the example for another reason
        return False
    return True


@contextmanager
def learning_nothing() -> Iterator[None]:
    """While on, no gradient is taken for the sake of the weights."""

    def left_out(*_: Any, **__: Any) -> None:
        return None

    with (
        patch.object(torch.Tensor, "backward", left_out),
        patch.object(torch.autograd, "backward", left_out),
    ):
        yield


def _switch_off(part: Any) -> None:
    """An observer that lets everything through, or a rounding by the range seen so far."""
    if not hasattr(part, "observer_enabled"):
        part.forward, part.observer_enabled = _let_through, [1]
    part.observer_enabled[0] = 0


def _let_through(x: Any) -> Any:
    return x


def _is_quantised(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_quantized


def _dense(leaf: InputLeaf) -> InputLeaf:
    return replace(leaf, value=leaf.value.to_dense()) if is_sparse(leaf.value) else leaf
