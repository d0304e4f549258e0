"""Tensors that a forward reads from a file: constants, as everything is that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextmanager
def loaded_for_real() -> Iterator[None]:
    """While on, what `torch.load` gives has values: under a mode of fakes it would have none."""
    plain = torch.load

    def load(*args: Any, **named: Any) -> Any:
        with _disable_current_modes():
            return plain(*args, **named)

    with patch.object(torch, "load", load):
        yield
