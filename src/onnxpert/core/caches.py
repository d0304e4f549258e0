"""What the tensors of a key/value cache are called in a file: `past_key_values.0.key`, `present.0.key`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SIDES = {"self_attention_cache": "decoder", "cross_attention_cache": "encoder"}
_TENSORS = {"keys": "key", "values": "value"}


def is_cache(value: Any) -> bool:
    """Whether it is a cache of transformers, of whatever kind."""
    kind = type(value)  # said simply: torch reads this bytecode when it exports strictly
    return kind.__name__.endswith("Cache") and kind.__module__.startswith("transformers.")


def cache_name(path: Sequence[Any]) -> str:
    """The name that people know for what the attributes of a cache lead to."""
    *way, last = [str(key) for key in path]
    layer = [key for key in way if key.isdecimal()]
    side = [_SIDES[key] for key in way if key in _SIDES]
    return ".".join([*layer, *side, _TENSORS.get(last, last)])
