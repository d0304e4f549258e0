"""Tensors as the arrays that runtimes take, and back, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxpert.targets.target import Array

if TYPE_CHECKING:
    import torch


def dtype_name(tensor: torch.Tensor) -> str:
    """`float32`, `bfloat16`, `float8_e4m3fn`: spelt as numpy and ml_dtypes spell them."""
    return str(tensor.dtype).removeprefix("torch.")


def to_array(tensor: torch.Tensor) -> Array:
    """The same bits; bfloat16 and float8, which numpy lacks, as ml_dtypes."""
    import ml_dtypes
    import torch

    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    if plain.dtype is torch.complex32:  # no array has it, and no file
        plain = plain.to(torch.complex64)
    name = dtype_name(plain)
    if name != "bfloat16" and not name.startswith("float8"):
        return plain.numpy()
    bits = plain.reshape(-1).view(torch.int16 if plain.element_size() == 2 else torch.uint8)
    return bits.numpy().view(getattr(ml_dtypes, name)).reshape(tuple(plain.shape))


def to_tensor(array: Array) -> torch.Tensor:
    """The inverse of `to_array`. TypeError for what torch has no dtype for (strings, 4 bits)."""
    import numpy as np
    import torch

    array = np.asarray(array)
    name = array.dtype.name
    if name != "bfloat16" and not name.startswith("float8"):
        # Outputs of a runtime may be read-only or not contiguous: torch wants neither. And C has
        # two names for an integer of 64 bits, of which torch knows one.
        own = np.array(array, order="C")
        wide = own.dtype.kind in "iu" and own.itemsize == 8
        return torch.from_numpy(own.view(f"{own.dtype.kind}8") if wide else own)
    bits = np.array(array, order="C").reshape(-1).view(f"i{array.itemsize}")
    dtype = getattr(torch, name)
    return torch.from_numpy(bits).view(dtype).reshape(array.shape)
