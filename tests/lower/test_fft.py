"""Fourier transforms: every kind, size, norm and number of axes, and the short-time ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

fft = torch.fft
REAL_INPUT = {"rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn"}
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2", "fftn", "ifftn", "rfftn",
           "irfftn", "hfftn", "ihfftn")  # fmt: skip


def _signal(name: str, *sizes: int) -> torch.Tensor:
    dtype = torch.float32 if name in REAL_INPUT else torch.complex64
    return torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(sum(sizes)))


@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_known_sizes(name: str) -> None:
    transform = getattr(fft, name)
    assert_same(
        lambda x: [transform(x, norm=norm) for norm in ("backward", "ortho", "forward")],
        _signal(name, 2, 4, 6),
    )


@pytest.mark.parametrize("opset", [16, 17, 20])
@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_unknown_sizes(name: str, opset: int) -> None:
    transform = getattr(fft, name)

    def every_norm(x: torch.Tensor) -> list[torch.Tensor]:
        return [transform(x, norm=norm) for norm in ("backward", "ortho", "forward")]

    assert_same(
        every_norm,
        _signal(name, 2, 4, 6),
        dynamic="auto",
        # The capture itself takes the lengths of these two for constants.
        others=[(_signal(name, 3, *((4, 6) if name in {"hfft2", "hfftn"} else (5, 7))),)],
        opset=opset,
    )


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dynamic", [None, "auto"])
def test_lengths_and_axes(name: str, dynamic: Any) -> None:
    transform = getattr(fft, name)
    assert_same(
        lambda x: [transform(x, n=n, dim=dim) for n, dim in ((4, 0), (9, 1), (5, -1), (1, -1))],
        _signal(name, 3, 4, 6),
        dynamic=dynamic,
    )


@pytest.mark.parametrize("name", ["fftn", "irfftn", "rfft2"])
def test_sizes_of_several_axes(name: str) -> None:
    transform = getattr(fft, name)
    assert_same(
        lambda x: (
            [transform(x, s=(5, 4), dim=dim) for dim in ((0, 1), (-1, 0))]
            + [transform(x, s=(3, 7))]
        ),
        _signal(name, 3, 4, 6),
    )


@pytest.mark.parametrize("size", [1, 64, 100, 256, 509, 700, 1042])
def test_large_and_odd_lengths(size: int) -> None:
    def there_and_back(x: torch.Tensor) -> list[torch.Tensor]:
        spectrum = fft.rfft(x, dim=1, norm="ortho")
        whole = fft.fft(x * 1j, dim=1, norm="ortho")
        return [spectrum, fft.irfft(spectrum, n=size, dim=1), whole, fft.ifft(whole, dim=1).imag]

    assert_same(there_and_back, torch.randn(2, size, 3))


@pytest.mark.parametrize("opset", [16, 20])
def test_length_that_depends_on_a_size(opset: int) -> None:
    def convolved(u: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        n = 2 * u.shape[-1]
        return fft.irfft(fft.rfft(u, n=n) * fft.rfft(k[:, : u.shape[-1]], n=n), n=n)

    assert_same(
        convolved,
        torch.randn(2, 3, 16),
        torch.randn(3, 32),
        dynamic=({0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO}, None),
        others=[(torch.randn(1, 3, 9), torch.randn(3, 32))],
        opset=opset,
    )


def test_numbers_that_are_not_complex_yet() -> None:
    assert_same(lambda x: (fft.irfft(x), fft.ifft(x), fft.fftn(x)), torch.randn(3, 4))
    assert_same(lambda x: (fft.rfft(x), fft.fft(x)), torch.arange(6))
    assert_same(lambda x: (fft.rfft(x), fft.ifft(x)), torch.randn(5, dtype=torch.float64))


SHIFTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "fftshift": lambda x: (fft.fftshift(x), fft.fftshift(x * 1j, dim=-1)),
    "ifftshift": lambda x: (fft.ifftshift(x), fft.ifftshift(x * 1j, dim=(0, 1))),
    "fftfreq": lambda x: fft.fftfreq(x.shape[-1], d=0.5) * x,
    "rfftfreq": lambda x: fft.rfftfreq(x.shape[-1]) * fft.rfft(x),
}


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize("dynamic", [None, "auto"])
def test_shifts_and_frequencies(name: str, dynamic: Any) -> None:
    assert_same(SHIFTS[name], torch.randn(4, 5), dynamic=dynamic)


# ---- short-time transforms -----------------------------------------------------------------------

HANN, HAMMING = torch.hann_window(16), torch.hamming_window(12)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"window": HANN},
    "shorter window": {"window": HAMMING, "win_length": 12},
    "normalised": {"window": HANN, "normalized": True},
    "both sides": {"window": HANN, "onesided": False},
    "not centred": {"window": torch.ones(16), "center": False},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("dynamic", [None, "auto"])
def test_stft_and_back(name: str, dynamic: Any) -> None:
    def there_and_back(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        spectrum = torch.stft(x, 16, 4, return_complex=True, **OPTIONS[name])
        return spectrum, torch.istft(spectrum, 16, 4, **OPTIONS[name])

    others = [(torch.randn(3, 80),)] if dynamic else []
    assert_same(there_and_back, torch.randn(2, 64), dynamic=dynamic, others=others)


def test_stft_of_one_signal_and_of_complex() -> None:
    def short(x: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 16, 5, window=HANN.to(x.abs().dtype), return_complex=True)

    assert_same(short, torch.randn(64), dynamic="auto", nodes=["Conv"])
    assert_same(short, torch.randn(2, 64, dtype=torch.complex64))
    assert_same(short, torch.randn(2, 64, dtype=torch.float64))


def test_stft_with_a_window_that_is_given() -> None:
    def there_and_back(x: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(x, 16, 4, window=window, pad_mode="constant", return_complex=True)
        return torch.istft(spectrum * 2, 16, 4, window=window, length=x.shape[-1])

    assert_same(there_and_back, torch.randn(2, 64), HANN, dynamic="auto")


@pytest.mark.filterwarnings("ignore:The length of signal is shorter")  # filled up with zeros
@pytest.mark.parametrize("longer", [0, 5, 30])
def test_istft_as_long_as_a_size(longer: int) -> None:
    def there_and_back(x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(x, 16, 4, window=HANN, return_complex=True)
        return torch.istft(spectrum * 2, 16, 4, window=HANN, length=x.shape[-1] + longer)

    others = [(torch.randn(1, 51),), (torch.randn(3, 16),)]
    dynamic = {"x": {0: "rows", 1: "n"}}
    assert_same(there_and_back, torch.randn(2, 64), dynamic=dynamic, others=others)


def test_spectrogram_of_long_frames() -> None:
    window = torch.hann_window(400)

    def power(x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(x, 400, 160, window=window, return_complex=True)
        return spectrum[..., :-1].abs() ** 2

    assert_same(
        power, torch.randn(1, 1600), dynamic={"x": {1: "n"}}, others=[(torch.randn(1, 2000),)]
    )


def test_istft_of_other_kinds() -> None:
    window = HANN.double()
    spectrum = torch.stft(torch.randn(2, 64).double(), 16, 4, window=window, return_complex=True)
    assert_same(lambda z: torch.istft(z, 16, 4, window=window), spectrum)
    assert_same(lambda z: torch.istft(z, 16, 4, window=HANN, length=70), spectrum.cfloat())
    assert_same(lambda z: torch.istft(z, 16, 5, window=window), spectrum, dynamic="auto")


def test_long_frames_there_and_back() -> None:
    window = torch.hann_window(600)

    def there_and_back(x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(x, 600, 160, window=window, return_complex=True)
        return torch.istft(spectrum * 2, 600, 160, window=window)

    others = [(torch.randn(1, 2000),)]
    assert_same(there_and_back, torch.randn(2, 1600), dynamic="auto", others=others)


def test_what_torch_takes_these_apart_into() -> None:
    aten, prims = torch.ops.aten, torch.ops.prims

    def parts(x: torch.Tensor) -> list[torch.Tensor]:
        z = aten._fft_r2c(x, [0, 2], 1, True)
        both = aten._fft_r2c(x, [1], 2, False)
        own = prims.fft_c2c(prims.fft_r2c(x, dim=(2,), onesided=True), dim=(0, 1), forward=False)
        real = prims.fft_c2r(own, dim=(0, 2), last_dim_size=6)
        return [z, both, aten._fft_c2c(both, [0], 0, False), aten._fft_c2r(z, [1, 2], 2, 6), real]

    assert_same(parts, torch.randn(3, 4, 6))
