"""What may be a model, and what some models know about their own inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from onnxpert.core.errors import UsageError


def check_model(model: Any) -> None:
    """Raises UsageError for what can never be one; the usual slips are told as such."""
    if isinstance(model, type):
        if issubclass(model, torch.nn.Module):
            help = f"pass an instance: {model.__name__}(...)"
            raise UsageError(f"the model is the class {model.__name__} itself", help)
    elif callable(model) or isinstance(model, torch.export.ExportedProgram):
        return
    kind = type(model).__name__ if not isinstance(model, type) else f"class {model.__name__}"
    help = "pass an nn.Module, a function, an ExportedProgram or a TorchScript module"
    if isinstance(model, Mapping):
        help = "weights alone do not say what to compute: build the model, then load_state_dict"
    raise UsageError(f"the model is of type {kind}, which cannot be called", help)


def has_pre_hooks(model: Any) -> bool:
    """Whether hooks may turn the call into another one before forward sees it."""
    return bool(getattr(model, "_forward_pre_hooks", None))


def own_example(model: Any, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """The given inputs, or where none are given those that the program itself carries."""
    empty = isinstance(args, tuple | list) and not args and not kwargs
    if empty and isinstance(model, torch.export.ExportedProgram) and model.example_inputs:
        own_args, own_kwargs = model.example_inputs
        return own_args, own_kwargs
    return args, kwargs
