"""Values as Python source: tensors by shape and dtype, with random values; never a weight."""

from __future__ import annotations

from typing import Any

_PLAIN = (bool, int, float, str, type(None))


class UnsayableError(Exception):
    """There is no short way to write this value."""


def written(value: Any) -> str:
    """An expression that makes such a value. Raises UnsayableError."""
    import torch

    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (*_PLAIN, torch.dtype, torch.memory_format, torch.layout)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(written, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, torch.nn.Module):
        return _layer(value)
    raise UnsayableError(type(value).__name__)


def _tensor(value: Any) -> str:
    import torch

    name = str(value.layout).removeprefix("torch.sparse_")  # its blocks' sizes have no short name
    if value.layout is not torch.strided and name not in ("coo", "csr", "csc"):
        raise UnsayableError(str(value.layout))
    sparse = {"strided": "", "coo": ".to_sparse()"}
    return _strided(value) + sparse.get(name.removeprefix("torch."), f".to_sparse_{name}()")


def _strided(value: Any) -> str:
    shape = [int(size) for size in value.shape]
    dtype = str(value.dtype)
    if value.dtype.is_floating_point or value.dtype.is_complex:
        plain = "" if dtype == "torch.float32" else f", dtype={dtype}"
        return f"torch.randn({shape}{plain})"
    if dtype == "torch.bool":
        return f"torch.ones({shape}, dtype=torch.bool)"
    return f"torch.zeros({shape}, dtype={dtype})"  # an index that is always within bounds


def _layer(value: Any) -> str:
    """A layer of torch's own, as it prints itself; one of the user's own has no short name."""
    import torch

    if not type(value).__module__.startswith("torch.nn"):
        raise UnsayableError(type(value).__name__)
    if isinstance(value, (torch.nn.Sequential, torch.nn.ModuleList)):
        inner = ", ".join(_layer(each) for each in value)
        whole = f"[{inner}]" if isinstance(value, torch.nn.ModuleList) else inner
        return f"torch.nn.{type(value).__name__}({whole})"
    text = f"torch.nn.{value!r}"
    try:
        eval(text, {"torch": torch})  # the repr of a layer of torch's own
    except Exception as error:
        raise UnsayableError(type(value).__name__) from error
    return text
