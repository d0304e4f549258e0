"""Model libraries that need not be installed: imported late, built with random weights, repeatable."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import torch

from onnxpert.core.errors import UsageError


def library(name: str) -> Any:
    """The package, or how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"{name} is not installed", f"pip install {name}") from None


@contextlib.contextmanager
def same_weights() -> Iterator[None]:
    """The same random weights in every run, and the caller's random state left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
