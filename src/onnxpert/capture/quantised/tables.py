"""Embeddings whose rows are integers with a scale of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from onnxpert.capture.quantised.table import into
from onnxpert.capture.quantised.weights import of_embedding, really

if TYPE_CHECKING:
    from onnxpert.capture.quantised.calls import Quantisation

quantized = torch.ops.quantized
Tensor = torch.Tensor

TABLES: dict[Any, Callable[..., Any]] = {}
_kernel = into(TABLES)


def _rows(packed: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Integers, and what each row of them is multiplied by and raised by."""
    table = of_embedding(packed)
    scales = really(lambda: table.q_per_channel_scales().float().unsqueeze(1))
    zeros = really(lambda: table.q_per_channel_zero_points().float().unsqueeze(1))
    offsets = really(lambda: -zeros * scales)
    if table.dtype is not torch.quint4x2:
        return really(table.int_repr), scales, offsets
    # Its integers come two to a byte, the low half first, and the rest in half precision.
    pairs = really(lambda: table.int_repr().reshape(table.shape[0], -1))
    both = really(lambda: torch.stack([pairs & 15, pairs >> 4], -1).flatten(1))
    integers = really(both[:, : table.shape[1]].contiguous)
    return integers, really(lambda: scales.half().float()), really(lambda: offsets.half().float())


def _named_rows(q: Quantisation, packed: Any) -> Iterator[Tensor]:
    names = ("weight", "weight_scales", "weight_offsets")
    for part, name in zip(q.weights(_rows, packed), names, strict=True):
        yield q.called(part, name)


@_kernel(quantized.embedding_byte.default, quantized.embedding_4bit.default)
def _embedding(q: Quantisation, packed: Any, indices: Tensor, pruned_weights: bool = False) -> Any:
    integers, scales, offsets = _named_rows(q, packed)
    taken = F.embedding(indices, integers).float()
    return taken * F.embedding(indices, scales) + F.embedding(indices, offsets)


@_kernel(quantized.embedding_bag_byte.default, quantized.embedding_bag_4bit.default)
def _embedding_bag(
    q: Quantisation,
    packed: Any,
    indices: Tensor,
    offsets: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Tensor | None = None,
    compressed_indices_mapping: Tensor | None = None,
    include_last_offset: bool = False,
) -> Any:
    integers, scales, raised = _named_rows(q, packed)
    return F.embedding_bag(
        indices,
        integers.float() * scales + raised,
        offsets,
        mode=("sum", "mean", "max")[mode],
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
    )
