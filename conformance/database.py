"""torch's operator database: its operators, their samples, and a model that makes one call.

`torch.testing._internal` and `torch.utils._pytree` are private; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

FIRST = ("float32", "int64", "bool", "complex64")  # the first that an operator takes is its own
OTHERS = ("float16", "float64", "int64", "int32", "uint8", "bool")
# What lies in fresh memory, or one throw of a coin, may be the same by chance: known by name.
_BY_CHANCE = re.compile(r"^((new_)?empty|bernoulli)($|_|\.)")


class Call(torch.nn.Module):
    """A model that makes one sample's call: tensors come in, everything else is part of it."""

    def __init__(self, function: Callable[..., Any], sample: Any) -> None:
        super().__init__()
        self.function = function
        leaves, self.structure = pytree.tree_flatten(
            (sample.input, tuple(sample.args), dict(sample.kwargs))
        )
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.given = tuple(leaves[i].detach() for i in self.places)
        self.rest = [None if i in self.places else leaf for i, leaf in enumerate(leaves)]
        self.eval()

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        leaves = list(self.rest)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        results = pytree.tree_leaves(self.function(first, *args, **kwargs))
        return tuple(result for result in results if isinstance(result, torch.Tensor))

    def __str__(self) -> str:
        words = [_tensor(tensor) for tensor in self.given]
        words += [repr(leaf) for i, leaf in enumerate(self.rest) if i not in self.places]
        return ", ".join(words)[:200]


@dataclass(frozen=True, slots=True)
class Operator:
    """An entry of the database."""

    name: str
    info: Any

    @property
    def dtypes(self) -> frozenset[str]:
        return frozenset(
            str(dtype).removeprefix("torch.") for dtype in self.info.supported_dtypes("cpu")
        )

    @property
    def own_dtype(self) -> str | None:
        return next((dtype for dtype in FIRST if dtype in self.dtypes), None)

    @property
    def by_chance(self) -> bool:
        return _BY_CHANCE.match(self.name) is not None

    def samples(self, dtype: str) -> Sequence[Any]:
        """torch's samples, the same in every run."""
        seed(1234)
        return list(self.info.sample_inputs("cpu", getattr(torch, dtype), requires_grad=False))

    def call(self, sample: Any) -> Call:
        return Call(self.info.op, sample)


@functools.cache
def operators() -> Mapping[str, Operator]:
    """Every operator of the database, by its name and variant."""
    from torch.testing._internal import common_methods_invocations as database

    # Random operators are seeded inside of the call; without that they are the plain operator.
    setattr(database, "wrapper_set_seed", lambda op, *args, **kwargs: op(*args, **kwargs))  # noqa: B010
    named = {
        f"{info.name}.{info.variant_test_name}".removesuffix("."): info for info in database.op_db
    }
    return {name: Operator(name, info) for name, info in named.items()}


def chosen(samples: Sequence[Any], limit: int) -> list[int]:
    """Which samples to try: all, or `limit` of them from first to last; a 0-d and an empty one too."""
    count = len(samples)
    if limit <= 0 or count <= limit:
        return list(range(count))
    step = (count - 1) / max(limit - 1, 1)
    picked = {round(i * step) for i in range(limit)}
    for special in (_has_scalar, _has_empty):
        picked.update([i for i, sample in enumerate(samples) if special(sample)][:1])
    return sorted(picked)


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def _tensors(sample: Any) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _has_scalar(sample: Any) -> bool:
    return any(tensor.dim() == 0 for tensor in _tensors(sample))


def _has_empty(sample: Any) -> bool:
    return any(tensor.numel() == 0 for tensor in _tensors(sample))


def _tensor(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
