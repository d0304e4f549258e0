"""How far a quantised model moves by itself when a few of its roundings fall the other way.

A value that lies between two integers goes up in one kernel and down in another, for its last digit
differs. Every layer behind it sees a whole step more or less, and a deep model makes that larger. So
the model is asked: some of its integers are moved by one step, and the change of its answer is the
measure for the file. A wrong scale moves all of them, and is far outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
_SHARE = 256  # one integer of so many is moved, and one of every tensor at least
_SLACK = 2.0
_MOST_TIES = 0.25
_TIE = 1e-3
TURNS = 3
_FAKE = {
    aten.fake_quantize_per_tensor_affine.default,
    aten.fake_quantize_per_tensor_affine.tensor_qparams,
    aten.fake_quantize_per_tensor_affine_cachemask.default,
    aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default,
    aten._fake_quantize_learnable_per_tensor_affine.default,
}
_AVERAGING = {
    aten.fused_moving_avg_obs_fake_quant.default,
    aten._fused_moving_avg_obs_fq_helper.default,
}
_RECURRENT = {aten.quantized_lstm.input, aten.quantized_gru.input}


class Jolts(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Moves some of the integers that a model rounds its activations to by one step."""

    def __init__(self, seed: int, rounds: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._rounds = rounds  # `round` itself is how the model comes by its integers
        self.met = False
        self._way = 1 - 2 * (seed % 2)
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name
        if (name.startswith("quantized::") and name.endswith("_dynamic")) or func in _RECURRENT:
            args = (self._by_own_step(args[0], 127.0), *args[1:])
        elif func in _FAKE and not isinstance(args[0], torch.nn.Parameter):
            args = (self._moved(args[0], args[1]), *args[1:])
        elif func in _AVERAGING and not (
            isinstance(args[0], torch.nn.Parameter) or args[11:12] == (True,)
        ):
            args = (self._moved(args[0], args[5]), *args[1:])
        elif func is aten._int_mm.default:
            limits = torch.iinfo(args[0].dtype)
            args = (self._moved_integers(args[0], limits.min, limits.max), *args[1:])
        out = func(*args, **kwargs)
        if name == "quantized_decomposed::quantize_per_tensor":
            return self._moved_integers(out, int(args[3]), int(args[4]))
        if func is aten.round.default and self._rounds:
            return self._moved(out, 1.0)
        if _is_affine(out):
            return self._requantised(out)
        return out

    def _moved(self, x: torch.Tensor, step: Any) -> torch.Tensor:
        """A copy with a few elements a step higher or lower."""
        self.met = True
        copy = x.clone(memory_format=torch.contiguous_format)
        count = copy.numel()
        if count:
            share = max(1, count // _SHARE)
            chosen = torch.randint(count, (share,), generator=self._generator)
            ways = 2 * torch.randint(2, (share,), generator=self._generator) - 1
            flat = copy.view(-1)
            flat[chosen] += ways.to(copy.dtype) * step
        return copy

    def _by_own_step(self, x: torch.Tensor, steps: float) -> torch.Tensor:
        """Of a kernel that finds the scale itself: values between two integers are all pushed one
        way, for there are many where the largest value is the opposite of the smallest."""
        if not x.numel() or not x.is_floating_point():
            return x
        low, high = x.min(), x.max()  # what decides about the scale stays
        step = (high.clamp(min=0) - low.clamp(max=0)) / steps
        moved = self._moved(x, step).clamp(low, high)
        middle = ((x / step).frac().abs() - 0.5).abs() < _TIE
        return torch.where(middle, x + 2 * self._way * _TIE * step, moved)

    def _moved_integers(self, integers: torch.Tensor, low: int, high: int) -> torch.Tensor:
        moved = self._moved(integers.to(torch.int32), 1)
        return moved.clamp(low, high).to(integers.dtype)

    def _requantised(self, out: torch.Tensor) -> torch.Tensor:
        whole = out.int_repr()
        limits = torch.iinfo(whole.dtype)
        moved = self._moved_integers(whole, limits.min, limits.max)
        return torch._make_per_tensor_quantized_tensor(moved, out.q_scale(), out.q_zero_point())


def _is_affine(out: Any) -> bool:
    return (
        isinstance(out, torch.Tensor)
        and out.is_quantized
        and out.qscheme() in {torch.per_tensor_affine, torch.per_tensor_symmetric}
        and out.dtype in {torch.quint8, torch.qint8}
    )


def rounds_by_hand(model: Any) -> bool:
    """Whether weights are of torchao's kinds, which quantise activations with plain operators."""
    tensors = model.parameters() if isinstance(model, torch.nn.Module) else ()
    return any(type(tensor).__module__.partition(".")[0] == "torchao" for tensor in tensors)


@dataclass(frozen=True, slots=True)
class Sway:
    """How far an output is from the model's, and how far the model itself goes."""

    file: float  # the largest distance
    allowed: float
    file_mean: float  # the root of the mean square
    allowed_mean: float
    step: float  # of an output that is integers of one scale; 0.0 of any other
    share: float  # of the values that differ

    @property
    def is_within(self) -> bool:
        return self.file <= self.allowed and self.file_mean <= self.allowed_mean

    @property
    def is_one_step(self) -> bool:
        """Values in the middle between two integers: more of them than were moved, none further."""
        return self.file <= 1.001 * self.step and self.share <= _MOST_TIES


def sway(
    want: torch.Tensor, got: torch.Tensor, draw: Callable[[int], torch.Tensor | None]
) -> Sway | None:
    """`draw(turn)` is the model's output with some of its integers moved; None: it has none."""
    largest = mean = 0.0
    changes: list[torch.Tensor] = []
    for turn in range(TURNS):
        other = draw(turn)
        if other is None or other.shape != want.shape:
            return None
        one, two = _distance(want, other)
        largest, mean = max(largest, one), max(mean, two)
        changes.append((want.double() - other.double()).abs().reshape(-1))
    file, file_mean = _distance(want, got)
    step = _step(torch.cat(changes))
    share = float(((want.double() - got.double()).abs() > step / 2).double().mean())
    return Sway(file, _SLACK * largest, file_mean, _SLACK * mean, step, share)


def _step(changes: torch.Tensor) -> float:
    """The smallest of them, if all are whole multiples of it: then that is the output's scale."""
    changes = changes[changes > 0]
    if not changes.numel():
        return 0.0
    smallest = float(changes.min())
    multiples = changes / smallest
    return smallest if bool(((multiples - multiples.round()).abs() < 1e-3).all()) else 0.0


def _distance(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    apart = (a.double() - b.double()).abs()
    if not apart.numel():
        return 0.0, 0.0
    return float(apart.max()), float(apart.square().mean().sqrt())


def finite(tensors: Sequence[torch.Tensor]) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in tensors)
