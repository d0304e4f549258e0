"""The signal of a spectrum, as long as a size says: `istft(z, n, length=x.shape[-1])` stays open.

The length is a whole number to torch, so it is frozen before any operator is called. The whole signal
has none, and is cut, or filled up, to the length afterwards."""

from __future__ import annotations

from typing import Any

import torch

from onnxpert.capture.detour import Call, detour

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


@detour(torch.istft, torch.Tensor.istft)
def signal(call: Call) -> Any:
    """A signal may be as long as a size."""
    given = {**dict(zip(_NAMES, call.args, strict=False)), **call.kwargs}
    return _signal(given) if isinstance(given.get("length"), torch.SymInt) else NotImplemented


def _signal(given: dict[str, Any]) -> torch.Tensor:
    length = given.pop("length")
    # At the edges, which are cut off, the windows may add up to nothing: with values torch objects.
    margin = given["n_fft"] // 2 if given.pop("center", True) else 0
    whole = torch.istft(**given, center=False)
    pads = (-margin, margin + length - whole.shape[-1])
    return torch.nn.functional.pad(whole, pads)
