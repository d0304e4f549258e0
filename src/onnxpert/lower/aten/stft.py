"""The short-time Fourier transform as a convolution with windowed waves, and its inverse."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower.aten.folding import unfold
from onnxpert.lower.aten.fourier import (
    Matrix,
    Scale,
    fitted,
    real_matrix,
    spectrum_matrix,
    to_complex,
    to_real,
)
from onnxpert.lower.aten.padding import pad
from onnxpert.lower.aten.permuting import transpose
from onnxpert.lower.complex_pairs import halves, is_complex, pair, parts, stored
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, concrete, is_static

aten = torch.ops.aten
_LARGEST_KERNEL = 512  # longer ones are megabytes, and slower than transforms of the frames


def _window(op: Emitter, window: ir.Value | None, length: int, n_fft: int) -> Any:
    """In the middle of n_fft elements: an array where it is known, else a value; None for ones."""
    before = (n_fft - length) // 2
    if window is None:
        if length == n_fft:
            return None
        return np.pad(np.ones(length), (before, n_fft - length - before))
    if is_complex(window):
        raise Refusal("a complex window is not written yet")
    if window.const_value is not None:
        known = window.const_value.numpy().astype(np.float64)
        return np.pad(known, (before, n_fft - length - before))
    pads = op.const([before, n_fft - length - before], torch.int64)
    return op.describe(op.Pad(window, pads), (n_fft,)) if length != n_fft else window


def _windowed(op: Emitter, matrix: Matrix, window: Any, dtype: torch.dtype) -> ir.Value:
    """The rows of a matrix times the window."""
    if window is None or isinstance(window, np.ndarray):
        known = matrix if window is None else matrix * window
        return op.const(torch.from_numpy(np.ascontiguousarray(known)), dtype)
    return op.Mul(op.const(torch.from_numpy(np.ascontiguousarray(matrix)), dtype), window)


@lowering(aten.stft.default, complex=True)
def stft(
    op: Emitter,
    x: ir.Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ir.Value | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> ir.Value:
    if align_to_window:
        raise Refusal("stft with align_to_window is not written yet")
    hop = n_fft // 4 if hop_length is None else hop_length
    half = not is_complex(x) if onesided is None else onesided
    taper = _window(op, window, n_fft if win_length is None else win_length, n_fft)
    scale = Scale.ROOT if normalized else Scale.NONE
    single = op.rank(x) == 1
    re, im = halves(op, x)
    if single:
        re, im = op.unsqueeze(re, 0), None if im is None else op.unsqueeze(im, 0)
    if im is None and n_fft <= _LARGEST_KERNEL and op.dtype(re) is torch.float32:
        result = _by_convolution(op, re, n_fft, hop, taper, scale, half)
    else:
        result = _by_frames(op, (re, im), n_fft, hop, taper, scale, half)
    whole = pair(op, *(op.squeeze(part, 0) if single else part for part in result))
    return whole if return_complex else stored(op, whole)


def _by_convolution(
    op: Emitter, x: ir.Value, n_fft: int, hop: int, window: Any, scale: Scale, half: bool
) -> tuple[ir.Value, ir.Value]:
    waves = spectrum_matrix(n_fft, True, scale, half).T
    count = waves.shape[0] // 2
    kernel = op.unsqueeze(_windowed(op, waves, window, op.dtype(x)), 1)
    batch, length = op.shape(x)
    result = op.Conv(op.unsqueeze(x, 1), kernel, strides=[hop])
    op.describe(result, (batch, 2 * count, (length - n_fft) // hop + 1))
    re, im = op.split(result, [count, count], 1)
    return re, im


def _by_frames(
    op: Emitter, x: Any, n_fft: int, hop: int, window: Any, scale: Scale, half: bool
) -> tuple[ir.Value, ir.Value]:
    frames: list[Any] = []
    for part in x:
        if part is None:
            frames.append(None)
            continue
        cut = unfold(op, part, -1, n_fft, hop)
        factor = None if window is None else _value(op, window, op.dtype(cut))
        frames.append(cut if factor is None else op.Mul(cut, factor))
    spectrum = to_complex(op, (frames[0], frames[1]), 2, forward=True, scale=scale, half=half)
    re, im = (transpose(op, part, 1, 2) for part in spectrum)
    return re, im


@lowering(aten.stft.center, complex=True)
def stft_center(
    op: Emitter,
    x: ir.Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ir.Value | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> ir.Value:
    if center:
        x = _centred(op, x, n_fft // 2, pad_mode)
    return stft(
        op,
        x,
        n_fft,
        hop_length,
        win_length,
        window,
        normalized,
        onesided,
        return_complex,
        None if center else align_to_window,
    )


def _centred(op: Emitter, x: ir.Value, margin: int, mode: str) -> ir.Value:
    padded = []
    for part in halves(op, x):
        if part is not None:
            inner = op.reshape(part, (1,) * (3 - op.rank(part)) + op.shape(part))
            outer = pad(op, inner, [margin, margin], mode)
            sizes = (*op.shape(part)[:-1], op.shape(part)[-1] + 2 * margin)
            padded.append(op.reshape(outer, sizes))
    return padded[0] if len(padded) == 1 else pair(op, padded[0], padded[1])


@lowering(aten.istft.default, complex=True)
def istft(
    op: Emitter,
    x: ir.Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ir.Value | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Size | None = None,
    return_complex: bool = False,
) -> ir.Value:
    if return_complex:
        raise Refusal("only the real signal of an inverse stft has a lowering of its own")
    hop = n_fft // 4 if hop_length is None else hop_length
    taper = _window(op, window, n_fft if win_length is None else win_length, n_fft)
    scale = Scale.ROOT if normalized else Scale.WHOLE
    rank = op.rank(x)
    halved = [fitted(op, part, rank - 2, n_fft // 2 + 1) for part in parts(op, x)]
    re, im = (op.unsqueeze(part, 0) if rank == 2 else part for part in halved)
    short = n_fft <= _LARGEST_KERNEL and op.dtype(x) is torch.float32
    build = _transposed_convolution if short else _overlapped
    signal = build(op, (re, im), n_fft, hop, taper, scale)
    total = op.shape(signal)[1]
    margin = n_fft // 2 if center else 0
    end = total - margin if length is None else margin + length
    weight = _envelope(op, taper, n_fft, hop, op.shape(re)[2], op.dtype(x))
    signal = op.Div(_cut(op, signal, margin, end), _cut(op, weight, margin, end))
    if length is not None:
        signal = fitted(op, signal, 1, length)
    return op.squeeze(signal, 0) if rank == 2 else signal


def _transposed_convolution(
    op: Emitter, x: Any, n_fft: int, hop: int, window: Any, scale: Scale
) -> ir.Value:
    """Each frame's signal, windowed and added up in one operator."""
    spectrum = op.Concat(*x, axis=1)
    kernel = _windowed(op, real_matrix(n_fft, False, scale), window, op.dtype(spectrum))
    batch, _, frames = op.shape(spectrum)
    total = n_fft + hop * (frames - 1)
    signal = op.ConvTranspose(spectrum, op.unsqueeze(kernel, 1), strides=[hop])
    return op.reshape(op.describe(signal, (batch, 1, total)), (batch, total))


def _overlapped(op: Emitter, x: Any, n_fft: int, hop: int, window: Any, scale: Scale) -> ir.Value:
    """The frames' signals cut into steps; each step is the sum of all that cover it."""
    re, im = (transpose(op, part, 1, 2) for part in x)
    signal = to_real(op, (re, im), 2, n_fft, forward=False, scale=scale)
    if window is not None:
        signal = op.Mul(signal, _value(op, window, op.dtype(signal)))
    batch, frames, _ = op.shape(signal)
    steps = -(-n_fft // hop)
    signal = fitted(op, signal, 2, steps * hop)
    terms = []
    for index, piece in enumerate(op.split(signal, [hop] * steps, 2)):
        late = [0, index, 0, 0, steps - 1 - index, 0]
        terms.append(op.Pad(piece, op.const(late, torch.int64)))
    whole = functools.reduce(op.Add, terms)
    count = frames + steps - 1
    flat = op.reshape(op.describe(whole, (batch, count, hop)), (batch, count * hop))
    return fitted(op, flat, 1, n_fft + hop * (frames - 1))


def _value(op: Emitter, window: Any, dtype: torch.dtype) -> ir.Value:
    known = isinstance(window, np.ndarray)
    return op.const(torch.from_numpy(window), dtype) if known else op.cast(window, dtype)


def _cut(op: Emitter, x: ir.Value, start: Size, end: Size) -> ir.Value:
    rows, size = op.shape(x)
    stop = concrete(torch.sym_min(end, size))  # type: ignore[no-untyped-call]
    cut = op.Slice(x, [start], op.ints([stop]), [1])
    return op.describe(cut, (rows, stop - start))


def _envelope(
    op: Emitter, window: Any, n_fft: int, hop: int, frames: Size, dtype: torch.dtype
) -> ir.Value:
    """What the windows add up to, squared: by this the signal is too large."""
    if window is None:
        window = np.ones(n_fft)
    known = isinstance(window, np.ndarray)
    if known and is_static(frames):
        total = np.zeros(n_fft + hop * (frames - 1))
        for frame in range(frames):
            total[frame * hop : frame * hop + n_fft] += window**2
        return op.const(torch.from_numpy(total.reshape(1, -1)), dtype)
    taper = _value(op, window, torch.float32)
    kernel = op.reshape(op.Mul(taper, taper), (1, 1, n_fft))
    ones = op.expand(op.const(1.0, torch.float32), (1, 1, frames))
    size = n_fft + hop * (frames - 1)
    result = op.describe(op.ConvTranspose(ones, kernel, strides=[hop]), (1, 1, size))
    return op.cast(op.reshape(result, (1, size)), dtype)
