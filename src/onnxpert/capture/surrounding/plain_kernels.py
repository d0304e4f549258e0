"""No kernel is chosen by the size of a batch: which one runs where the model runs is not known here.

`_select_conv_backend` and `_set_mkldnn_enabled` are torch's own; tried on torch 2.13 and 2.15. The flags
in `torch.backends` may be locked, and what sets several of them at once sets more than is wanted."""

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
    own: Any = torch._C
    choose = own._select_conv_backend

    def chosen(*args: Any, **kwargs: Any) -> Any:
        before = own._get_mkldnn_enabled()
        own._set_mkldnn_enabled(False)
        try:
            with torch.backends.nnpack.flags(enabled=False):
                return choose(*args, **kwargs)
        finally:
            own._set_mkldnn_enabled(before)

    with patch.object(own, "_select_conv_backend", chosen):
        yield
