"""What torch leaves open in a model of which there is no proof: asked of the model alone.

Its draws are the same each time, so that one which chance has a part in can be asked too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from onnxpert.core.types import Choice, Loaded, Location, Row, Verdict, Verified
from onnxpert.verify.arrays import to_array
from onnxpert.verify.compare import compare
from onnxpert.verify.reference import Output, Reference, RefusedError
from onnxpert.verify.settling import Settling
from onnxpert.verify.values import Values, valued
from onnxpert.verify.wider import widened, widened_leaves

_MOST = 12  # choices that are looked at one by one


def choices(loaded: Loaded, names: Sequence[str], seed: int) -> Iterator[Verified]:
    """The outputs that are others once a choice is made as files make it, choice by choice: at the
    example, and of signs at other values too, as in a proof.

    Equals that double precision can tell apart are equal by rounding, which a proof would not mind."""
    told = set()
    with Reference(loaded, seed) as reference:
        for values in (Values.EXAMPLE, Values.SHUFFLED, Values.WILD):
            generator = torch.Generator().manual_seed(seed)
            leaves = [_valued(leaf.value, values, generator) for leaf in loaded.leaves]
            try:
                found = list(_made(reference, leaves, loaded, seed))
            except RefusedError:
                continue
            for place, made, differing in found:
                known = values is not Values.EXAMPLE and (place in told or Choice.SIGN not in made)
                if not known:
                    told.add(place)
                    rows = (
                        Row(values.value, _name(names, at), {}, Verdict.FAIL, choices=made)
                        for at in differing
                    )
                    yield Verified(tuple(rows), location=place)


def _made(
    reference: Reference, leaves: Sequence[Any], loaded: Loaded, seed: int
) -> Iterator[tuple[Location | None, tuple[Choice, ...], list[int]]]:
    """Each choice that moves the results: where it is made, of which kind, and which they are."""
    want = reference.call(leaves)
    every = Settling()
    chosen, made = reference.settled(leaves, settling=every)
    if not _differing(want, chosen) or _differing(want, reference.call(leaves)):
        return
    by_rounding = Choice.ORDER in made and _are_made_equal(loaded, leaves, chosen, seed)
    for only in range(min(every.others, _MOST)):
        one = Settling(only=only)
        chosen, made = reference.settled(leaves, settling=one)
        differing = _differing(want, chosen)
        if differing and not (by_rounding and Choice.ORDER in made):
            yield one.place, made, differing


def _valued(value: Any, values: Values, generator: torch.Generator) -> Any:
    return valued(value, value.shape, values, generator) if _is_tensor(value) else value


def _are_made_equal(
    loaded: Loaded, leaves: Sequence[Any], chosen: Sequence[Output], seed: int
) -> bool:
    wide = widened(loaded, torch.float64)
    if wide is None:
        return False
    try:
        with Reference(wide, seed) as reference:
            exact, _ = reference.settled(widened_leaves(leaves, torch.float64))
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
