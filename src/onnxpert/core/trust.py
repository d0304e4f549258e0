"""Kernels of torch's that take it on trust that their arguments fit, and read beyond a tensor if not.

Where a model is given what nobody thought of, it is looked at first: an error, as torch raises elsewhere,
is what the model says; the end of the process says nothing. Tried on torch 2.13 and 2.15."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

_OF_BAGS = (
    "scale_grad_by_freq",
    "mode",
    "sparse",
    "per_sample_weights",
    "include_last_offset",
    "padding_idx",
)  # after the first three


@contextmanager
def nothing_on_trust() -> Iterator[None]:
    """While on, such a call is only made where it fits."""
    import torch

    bags = torch.embedding_bag

    @functools.wraps(bags)
    def embedding_bag(weight: Any, input: Any, offsets: Any, *rest: Any) -> Any:
        given = dict(zip(_OF_BAGS, rest, strict=False))
        _check_bags(input, offsets, has_last=given.get("include_last_offset", False))
        return bags(weight, input, offsets, *rest)

    with patch.object(torch, "embedding_bag", embedding_bag):
        yield


def _check_bags(input: Any, offsets: Any, *, has_last: bool) -> None:
    """With an index that does not count, the kernel asks the last bag for it, even of none; and what
    stands behind the last offset is put into a bag that is not there."""
    if has_last and offsets.numel() and int(offsets[-1]) != input.numel():
        raise RuntimeError("the last offset of embedding_bag has to be the number of indices")
    if input.numel() and offsets.numel() <= int(has_last):
        raise RuntimeError("embedding_bag has indices and no bag to put them into")
