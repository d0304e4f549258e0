"""One random model: its source, which runs in torch, and inputs of mixed dtypes."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from conformance.mixtures.library import library

DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8",
    "bool", "complex64", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
SHAPES = ((2, 3, 4), (3, 4), (4,), (1, 4), (), (2, 1, 4), (4, 4), (2, 2, 4, 4))
LARGEST = 2048  # elements of a value
_TRIES = 400  # calls that torch may refuse before a model is as long as it gets
_GAP = re.compile(r"\{([abcdnrt])\}")
_HEAD = '''\
"""Random model {seed}: {inputs}."""

import torch


class Mixture(torch.nn.Module):
    def forward(self, {names}):
'''


@dataclass(frozen=True, slots=True)
class Drawn:
    """A model as text, and example inputs for it."""

    seed: int
    source: str
    inputs: tuple[torch.Tensor, ...]
    calls: tuple[str, ...]

    @property
    def first_line(self) -> int:
        """Of the body of forward."""
        return len(_HEAD.splitlines()) + 1


def draw(seed: int) -> Drawn:
    """The model of a seed; the same on every machine with the same torch."""
    chance = random.Random(seed)
    values = {
        name: tensor(chance, chance.choice(DTYPES), chance.choice(SHAPES))
        for name in ("x", "y", "z")[: chance.randint(1, 3)]
    }
    inputs = tuple(values.values())
    names = ", ".join(values)
    told = ", ".join(f"{name} {told_type(value)}" for name, value in values.items())
    lines, calls = _body(chance, values)
    source = _HEAD.format(seed=seed, inputs=told, names=names) + "".join(
        f"        {line}\n" for line in lines
    )
    return Drawn(seed, source, inputs, calls)


def tensor(chance: random.Random, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Small numbers: signs, zero and halves are what matters, and sums stay within every dtype."""
    generator = torch.Generator().manual_seed(chance.randrange(1 << 30))
    kind: torch.dtype = getattr(torch, dtype)
    if kind is torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if kind.is_complex:
        return torch.randn(shape, generator=generator, dtype=kind)
    if kind.is_floating_point:
        return torch.randn(shape, generator=generator).mul(2).to(kind)
    low = 0 if kind is torch.uint8 else -4
    return torch.randint(low, 6, shape, generator=generator, dtype=kind)


def told_type(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def _body(
    chance: random.Random, values: dict[str, torch.Tensor]
) -> tuple[list[str], tuple[str, ...]]:
    wanted = chance.randint(3, 10)
    lines: list[str] = []
    calls: list[str] = []
    unread = dict.fromkeys(values)
    for _ in range(_TRIES):
        if len(calls) == wanted:
            break
        call = chance.choice(library())
        text, read = _filled(chance, call, values)
        result = _run(text, values)
        if result is None:
            continue
        name = f"v{len(calls)}"
        lines.append(f"{name} = {text}  # {told_type(result)}")
        calls.append(call)
        values[name] = result
        for used in read:
            unread.pop(used, None)
        unread[name] = None
    results = [name for name in unread if name.startswith("v")] or [next(reversed(values))]
    return [*lines, f"return {', '.join(results)}"], tuple(calls)


def _filled(
    chance: random.Random, call: str, values: Mapping[str, torch.Tensor]
) -> tuple[str, set[str]]:
    chosen: dict[str, str] = {}

    def fill(match: re.Match[str]) -> str:
        gap = match[1]
        if gap in chosen:
            return chosen[gap]
        if gap in "abc":  # the later ones more often, so that calls build on each other
            names = list(values)
            chosen[gap] = names[max(chance.randrange(len(names)) for _ in range(2))]
        elif gap == "d":
            chosen[gap] = str(chance.choice((0, 1, -1)))
        elif gap == "t":
            chosen[gap] = f"torch.{chance.choice(DTYPES)}"
        else:
            chosen[gap] = str(chance.randint(1, 3) if gap == "n" else chance.choice((0.5, 1.5)))
        return chosen[gap]

    text = _GAP.sub(fill, call)
    return text, {chosen[gap] for gap in "abc" if gap in chosen}


def _run(text: str, values: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
    """What torch makes of a call; None where it refuses, or what it makes is no use."""
    given = {name: value.clone() for name, value in values.items()}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(text, {"torch": torch}, given)
    except Exception:  # torch's own refusal, of which there are many kinds
        return None
    if not isinstance(result, torch.Tensor) or not 0 < result.numel() <= LARGEST:
        return None
    return result if str(result.dtype).removeprefix("torch.") in DTYPES else None
