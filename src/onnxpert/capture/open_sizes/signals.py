"""The signal of a spectrum, as long as a size says: `istft(z, n, length=x.shape[-1])` stays open.

The length is a whole number to torch, so it is frozen before any operator is called. The whole signal
has none, and is cut, or filled up, to the length afterwards."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_INVERSES = (torch.istft, torch.Tensor.istft)
_NAMES = (
    "input",
    "n_fft",
    "hop_length",
    "win_length",
    "window",
    "center",
    "normalized",
    "onesided",
    "length",
    "return_complex",
)


class OpenSignals(TorchFunctionMode):
    """While on, a signal may be as long as a size."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _INVERSES:
            given = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
            if isinstance(given.get("length"), torch.SymInt):
                return _signal(given)
        return func(*args, **kwargs)


def _signal(given: dict[str, Any]) -> torch.Tensor:
    length = given.pop("length")
    # At the edges, which are cut off, the windows may add up to nothing: with values torch objects.
    margin = given["n_fft"] // 2 if given.pop("center", True) else 0
    whole = torch.istft(**given, center=False)
    pads = (-margin, margin + length - whole.shape[-1])
    return torch.nn.functional.pad(whole, pads)
