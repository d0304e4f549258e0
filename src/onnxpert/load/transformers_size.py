"""A default config of transformers made small enough to build: 7 billion random weights help nobody."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch

from onnxpert.core.errors import UsageError

BUDGET = 200_000_000
LAYERS = (
    *("num_hidden_layers", "num_layers", "num_decoder_layers", "encoder_layers"),
    *("decoder_layers", "n_layer", "n_layers", "depth"),
)
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
# Widths and head counts go down together, so that the size of a head stays what it was.
WIDTHS = (
    *("hidden_size", "d_model", "n_embd", "intermediate_size", "ffn_dim", "d_ff", "n_inner"),
    *("encoder_ffn_dim", "decoder_ffn_dim", "moe_intermediate_size", "embed_dim"),
    *("num_attention_heads", "num_key_value_heads", "n_head", "num_heads"),
    *("encoder_attention_heads", "decoder_attention_heads"),
)


def fit(kind: Any, config: Any) -> tuple[Any, tuple[str, ...]]:
    """The config, or a smaller one of the same kind and what was changed in it."""
    total = parameters(kind, config)
    if total is None or total <= BUDGET:
        return config, ()
    smaller, size = config, total
    for names, least in ((LAYERS, 2), (EXPERTS, 4), (WIDTHS, 1)):
        for _ in range(8):
            tried = _halved(smaller, names, least)
            count = None if tried is None else parameters(kind, tried)
            if tried is None or count is None:
                break
            smaller, size = tried, count
            if size <= BUDGET:
                break
        if size <= BUDGET:
            break
    if size > 10 * BUDGET:
        raise UsageError(
            f"the default config has {total / 1e9:.1f} billion parameters and cannot be made small",
            "name a directory whose config.json is smaller",
        )
    changed = ", ".join(_differences(config, smaller))
    said = f"made smaller, from {total / 1e6:.0f} to {size / 1e6:.0f} million parameters: {changed}"
    return smaller, (said,)


def parameters(kind: Any, config: Any) -> int | None:
    """How many parameters the model would have; None where it cannot be built without memory."""
    try:
        with torch.device("meta"):
            model = kind(copy.deepcopy(config))
    except Exception:  # a constructor that computes with its weights fails in its own way
        return None
    return sum(int(parameter.numel()) for parameter in model.parameters())


def _halved(config: Any, names: Iterable[str], least: int) -> Any | None:
    """A copy in which each of the named numbers is half, or None if none could be."""
    clone = copy.deepcopy(config)
    changed = False
    for part in _parts(clone):
        for name in names:
            value = vars(part).get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 2 * least:
                setattr(part, name, value // 2)
                changed = True
        _same_length(part)
    return clone if changed else None


def _same_length(config: Any) -> None:
    """`layer_types` has an entry per layer."""
    layers, types = getattr(config, "num_hidden_layers", None), vars(config).get("layer_types")
    if isinstance(layers, int) and isinstance(types, list):
        config.layer_types = types[:layers]


def _parts(config: Any) -> list[Any]:
    inner = [v for k, v in vars(config).items() if k.endswith("_config") and hasattr(v, "to_dict")]
    return [config, *inner]


def _differences(before: Any, after: Any) -> list[str]:
    found = []
    for old, new in zip(_parts(before), _parts(after), strict=True):
        for name, value in vars(old).items():
            now = vars(new).get(name)
            if isinstance(value, int) and value != now:
                found.append(f"{name} {value} -> {now}")
    return found
