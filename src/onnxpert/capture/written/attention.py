"""Attention that looks back only where a run of the file finds it so: `is_causal=n > 1 and mask is None`.

torch reads the flag before anything that listens to its calls, and takes none but Python's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.nn import functional

from onnxpert.capture.written.functions import flag

_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


@contextmanager
def open_causes() -> Iterator[None]:
    """While on, such a flag becomes the mask that it stands for."""
    plain: Any = functional.scaled_dot_product_attention

    def attention(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(_NAMES, args, strict=False)) | kwargs
        causal = given.get("is_causal")
        # With a mask as well it is an error of the model's own, which torch tells.
        if isinstance(causal, (torch.Tensor, torch.SymBool)) and given.get("attn_mask") is None:
            query, key = given["query"], given["key"]
            sizes = query.shape[-2], key.shape[-2]
            before = torch.ones(sizes, dtype=torch.bool, device=query.device).tril()
            given |= {"attn_mask": before | ~flag(causal), "is_causal": False}
        return plain(**given)

    with patch.object(functional, "scaled_dot_product_attention", attention):
        yield
