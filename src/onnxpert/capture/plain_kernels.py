"""No kernel is chosen by the size of a batch: which one runs where the model runs is not known here.

`_select_conv_backend` is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch


@contextmanager
def plain_kernels() -> Iterator[None]:
    """While on, a convolution asks for none of the libraries that want so many images at once.

    Its shape is the same with all of them, and the question would be taken for the model's own."""
    choose: Any = torch._C._select_conv_backend
    mkldnn: Any = torch.backends.mkldnn

    def chosen(*args: Any, **kwargs: Any) -> Any:
        before = mkldnn.enabled
        mkldnn.enabled = False
        try:
            with torch.backends.nnpack.flags(enabled=False):
                return choose(*args, **kwargs)
        finally:
            mkldnn.enabled = before

    with patch.object(torch._C, "_select_conv_backend", chosen):
        yield
