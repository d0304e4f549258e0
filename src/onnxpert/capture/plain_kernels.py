"""No kernel is chosen by the size of a batch: which one runs where the model runs is not known here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def plain_kernels() -> Iterator[None]:
    """While on, a convolution asks for none of the libraries that want so many images at once.

    Its shape is the same with all of them, and the question would be taken for the model's own."""
    mkldnn: Any = torch.backends.mkldnn
    before = mkldnn.enabled
    mkldnn.enabled = False
    try:
        with torch.backends.nnpack.flags(enabled=False):
            yield
    finally:
        mkldnn.enabled = before
