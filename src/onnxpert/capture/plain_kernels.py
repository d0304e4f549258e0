"""No kernel is chosen by the size of a batch: which one runs where the model runs is not known here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def plain_kernels() -> Iterator[None]:
    """While on, a convolution asks for none of the libraries that want so many images at once.

    Its shape is the same with all of them, and the question would be taken for the model's own."""
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = False
    try:
        with torch.backends.nnpack.flags(enabled=False):
            yield
    finally:
        torch.backends.mkldnn.enabled = before
