"""Windows, frequencies and steps by their count: what torch makes of a whole number, for a size.

Each formula counts and computes, which takes a symbol; the numbers are torch's own but for their last
digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

Tensor = torch.Tensor
sym_max: Any = torch.sym_max
# What says no more than that nothing is special, whatever the value.
_ASIDE = frozenset({"device", "requires_grad", "pin_memory", "layout"})


@dataclass(frozen=True, slots=True)
class Counted:
    """A function of torch's: what its arguments are called, which are counts, and how it is said."""

    names: tuple[str, ...]
    make: Callable[..., Tensor]
    counts: tuple[str, ...] = ()  # without one: the first

    def called(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor | None:
        """None where no count is a size, or where more is asked for."""
        given = {**dict(zip(self.names, args, strict=False)), **kwargs}
        given = {name: value for name, value in given.items() if name not in _ASIDE}
        dtype = given.pop("dtype", None) or torch.get_default_dtype()
        counts = self.counts or self.names[:1]
        if given.keys() - set(self.names) or not dtype.is_floating_point:
            return None
        if not any(isinstance(given.get(name), torch.SymInt) for name in counts):
            return None
        return self.make(**given, dtype=dtype).to(dtype)


def spaced(start: Any, end: Any, steps: Any, *, dtype: torch.dtype) -> Tensor:
    """From the middle on torch counts down from the end."""
    count = torch.arange(steps, dtype=dtype)
    step = (end - start) / sym_max(steps - 1, 1)
    half = sym_max(steps // 2, 1)
    down = end - step * ((steps - 1) - count)
    return torch.where(count < half, start + step * count, down)


def _powers(start: Any, end: Any, steps: Any, base: Any = 10.0, *, dtype: torch.dtype) -> Tensor:
    return torch.pow(base, spaced(start, end, steps, dtype=dtype))


def _frequencies(n: Any, d: float = 1.0, *, dtype: torch.dtype) -> Tensor:
    count = torch.arange(n, dtype=dtype)
    return torch.where(count < (n + 1) // 2, count, count - n).div(n * d)


def _half_of_them(n: Any, d: float = 1.0, *, dtype: torch.dtype) -> Tensor:
    return torch.arange(n // 2 + 1, dtype=dtype).div(n * d)


def one_hot(x: Tensor, classes: Any) -> Tensor:
    places = torch.arange(classes)
    return (x.unsqueeze(-1) == places).long()


def _window(shape: Callable[..., Tensor]) -> Counted:
    """`shape` is given the place between 0 and 1, and the arguments that are its own."""

    def make(
        window_length: Any, periodic: bool = True, *own: Any, dtype: torch.dtype, **named: Any
    ) -> Tensor:
        last = window_length - (0 if periodic else 1)
        place = torch.arange(window_length, dtype=dtype) / sym_max(last, 1)
        window = shape(place, *own, **named)
        return torch.where(torch.scalar_tensor(window_length) > 1, window, 1.0)

    names = (
        "window_length",
        "periodic",
        *shape.__code__.co_varnames[1 : shape.__code__.co_argcount],
    )
    return Counted(names, make)


def _hamming(place: Tensor, alpha: float = 0.54, beta: float = 0.46) -> Tensor:
    return alpha - beta * torch.cos(2 * math.pi * place)


def _hann(place: Tensor) -> Tensor:
    return _hamming(place, 0.5, 0.5)


def _blackman(place: Tensor) -> Tensor:
    return _hamming(place, 0.42, 0.5) + 0.08 * torch.cos(4 * math.pi * place)


def _bartlett(place: Tensor) -> Tensor:
    return 1 - (2 * place - 1).abs()


def _kaiser(place: Tensor, beta: float = 12.0) -> Tensor:
    inside = (1 - (2 * place - 1) ** 2).clamp(min=0).sqrt()
    return torch.i0(beta * inside) / torch.i0(torch.scalar_tensor(beta, dtype=place.dtype))


COUNTED: Mapping[Any, Counted] = {
    torch.linspace: Counted(("start", "end", "steps"), spaced, ("steps",)),
    torch.logspace: Counted(("start", "end", "steps", "base"), _powers, ("steps",)),
    torch.fft.fftfreq: Counted(("n", "d"), _frequencies),
    torch.fft.rfftfreq: Counted(("n", "d"), _half_of_them),
    torch.hann_window: _window(_hann),
    torch.hamming_window: _window(_hamming),
    torch.blackman_window: _window(_blackman),
    torch.bartlett_window: _window(_bartlett),
    torch.kaiser_window: _window(_kaiser),
}
