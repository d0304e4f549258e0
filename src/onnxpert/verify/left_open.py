"""What torch leaves open in a model of which there is no proof: asked of the model alone, at its example.

Its draws are the same each time, so that one which chance has a part in can be asked too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from onnxpert.core.types import Choice, Loaded, Row, Verdict, Verified
from onnxpert.verify.arrays import to_array
from onnxpert.verify.compare import compare
from onnxpert.verify.reference import Output, Reference, RefusedError
from onnxpert.verify.settling import Settling
from onnxpert.verify.wider import widened, widened_leaves

_MOST = 12  # choices that are looked at one by one


def choices(loaded: Loaded, names: Sequence[str], seed: int) -> Iterator[Verified]:
    """The outputs that are others once a choice is made as files make it, choice by choice.

    Equals that double precision can tell apart are equal by rounding, which a proof would not mind."""
    leaves = [leaf.value for leaf in loaded.leaves]
    with Reference(loaded, seed) as reference:
        try:
            want = reference.call(leaves)
            every = Settling()
            chosen, made = reference.settled(leaves, settling=every)
            moved = bool(_differing(want, chosen)) and not _differing(want, reference.call(leaves))
            if not moved:
                return
            by_rounding = Choice.ORDER in made and _are_made_equal(loaded, chosen, seed)
            for only in range(min(every.others, _MOST)):
                one = Settling(only=only)
                chosen, made = reference.settled(leaves, settling=one)
                rows = tuple(
                    Row("example", _name(names, at), {}, Verdict.FAIL, choices=made)
                    for at in _differing(want, chosen)
                )
                if rows and not (by_rounding and Choice.ORDER in made):
                    yield Verified(rows, location=one.place)
        except RefusedError:
            return


def _are_made_equal(loaded: Loaded, chosen: Sequence[Output], seed: int) -> bool:
    wide = widened(loaded, torch.float64)
    if wide is None:
        return False
    leaves = widened_leaves([leaf.value for leaf in loaded.leaves], torch.float64)
    try:
        with Reference(wide, seed) as reference:
            exact, _ = reference.settled(leaves)
    except RefusedError:
        return False
    pairs = zip(chosen, exact, strict=False)
    return bool(
        _differing(chosen, [two.to(one.dtype) if _is_tensor(one) else two for one, two in pairs])
    )


def _differing(want: Sequence[Output], got: Sequence[Output]) -> list[int]:
    if len(want) != len(got):
        return []
    return [
        index
        for index, (one, two) in enumerate(zip(want, got, strict=True))
        if _is_tensor(one) and _is_tensor(two) and compare(one, to_array(two)).problem
    ]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _name(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f"output_{index}"
