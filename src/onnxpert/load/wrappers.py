"""Wrappers that should not be exported: taken off from the outside in, the user's model untouched."""

from __future__ import annotations

from typing import Any

import torch

# (the package it comes from, the class's name, where it keeps what it wraps). By name, because
# most of these live in packages that need not be installed and are slow to import.
WRAPPERS: tuple[tuple[str, str, str], ...] = (
    ("torch", "OptimizedModule", "_orig_mod"),
    ("torch", "DataParallel", "module"),
    ("torch", "DistributedDataParallel", "module"),
    ("torch", "FullyShardedDataParallel", "module"),
    ("torch", "CheckpointWrapper", "_checkpoint_wrapped_module"),
    ("torch", "OffloadWrapper", "_checkpoint_wrapped_module"),
    ("torch", "AveragedModel", "module"),
    ("fairscale", "FullyShardedDataParallel", "module"),
    ("fairscale", "ShardedDataParallel", "module"),
    ("apex", "DistributedDataParallel", "module"),
    ("deepspeed", "DeepSpeedEngine", "module"),
)
# Where torch.compile and torch.compiler.disable keep the function they wrap (torch 2.13.0, 2.15.0).
COMPILED_FUNCTION = "_torchdynamo_orig_callable"


def unwrap(model: Any) -> tuple[Any, tuple[str, ...]]:
    """What is inside the wrappers, and the wrappers' names from the outside in."""
    names: list[str] = []
    while (found := _inside(model)) is not None:
        name, model = found
        names.append(name)
    return model, tuple(names)


def _inside(model: Any) -> tuple[str, Any] | None:
    if not isinstance(model, torch.nn.Module):
        function = getattr(model, COMPILED_FUNCTION, None)
        return None if function is None else ("torch.compile", function)
    for kind in type(model).__mro__:
        for package, name, attribute in WRAPPERS:
            if kind.__name__ == name and kind.__module__.partition(".")[0] == package:
                inner = getattr(model, attribute, None)
                if isinstance(inner, torch.nn.Module):
                    return type(model).__name__, inner
    return None


def in_training(model: Any) -> bool:
    """Whether any part of the model is in training mode; a bound method speaks for its owner."""
    owner = getattr(model, "__self__", model)
    if isinstance(owner, torch.jit.ScriptModule):
        return bool(owner.training)
    if isinstance(owner, torch.nn.Module):
        return any(module.training for module in owner.modules())
    return False
