"""How far a file is from the model where it is meant to be near and not the same: a quantised one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

from onnxpert.core.types import Accuracy, Loaded, replace
from onnxpert.targets.target import Array, Run, Target
from onnxpert.verify import cases
from onnxpert.verify.arrays import to_tensor
from onnxpert.verify.compare import compare
from onnxpert.verify.file import facts, read
from onnxpert.verify.inputs import Case, Inputs, bind
from onnxpert.verify.messages import runtime_line
from onnxpert.verify.reference import Output, Reference, RefusedError
from onnxpert.verify.values import Values

MOST_CALIBRATION = 8  # calibration inputs that are looked at one by one
MOST_SIZES = 5  # other sizes at which it must run
Built: TypeAlias = tuple[Case, tuple[Any, ...]]


def measured(
    loaded: Loaded, before: Path, after: Path, target: Target, seed: int = 0
) -> tuple[Accuracy, ...]:
    """Both files against the model at everything that the user gave, and at other sizes."""
    file = facts(read(after))
    inputs = bind(loaded, file)
    runs = target.open(before), target.open(after)
    rows: list[Accuracy] = []
    with Reference(loaded, seed) as reference:
        for ways, given in _cases(inputs, seed):
            for case, leaves in ways:
                try:
                    want = reference.call(leaves)
                except RefusedError:
                    continue
                blank = Accuracy(case.name, "", case.sizes, None, None, given=given)
                rows += _rows(blank, inputs.feeds(leaves), want, file.outputs, runs)
                break
    return tuple(rows)


def _cases(inputs: Inputs, seed: int) -> Iterator[tuple[Iterable[Built], bool]]:
    """The ways to build each case, the first that the model takes; and whether the user gave it."""
    first = cases.example(inputs)
    yield ((first, inputs.build(first, seed)),), True
    for wish in cases.given(inputs):
        yield _built(inputs, wish, seed), True
    for number, leaves in enumerate(inputs.loaded.calibration[:MOST_CALIBRATION], start=1):
        whole = completed(inputs.loaded, leaves)
        case = Case(f"calibration {number}", inputs.sizes_of(whole), Values.EXAMPLE)
        yield ((case, whole),), True
    wishes = [wish for wish in cases.wishes(inputs) if wish.ways[0].sizes != inputs.example]
    for wish in wishes[:MOST_SIZES]:
        yield _built(inputs, wish, seed), False


def _built(inputs: Inputs, wish: cases.Wish, seed: int) -> Iterator[Built]:
    return ((case, inputs.build(case, seed)) for case in wish.ways)


def completed(loaded: Loaded, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """With the state that became inputs after the user's own."""
    return (*leaves, *(leaf.value for leaf in loaded.leaves[len(leaves) :]))


def _rows(
    blank: Accuracy,
    feeds: dict[str, Array],
    want: Sequence[Output],
    names: Sequence[str],
    runs: tuple[Run, Run],
) -> Iterator[Accuracy]:
    try:
        old = runs[0](feeds)
    except Exception:  # as below; at sizes that the float file does not take, nothing is to be said
        if blank.given:
            raise
        return
    try:
        new = runs[1](feeds)
    except Exception as error:  # each runtime has its own kinds, with no base class in common
        yield replace(blank, problem=runtime_line(error))
        return
    for name, expected, one, two in zip(names, want, old, new, strict=True):
        row = replace(blank, output=name)
        problem = compare(expected, two, values=False).problem
        yield replace(row, problem=problem) if problem else _distance(row, expected, one, two)


def _distance(row: Accuracy, want: Output, one: Array, two: Array) -> Accuracy:
    expected, old, new = (_wide(each) for each in (want, to_tensor(one), to_tensor(two)))
    if not to_tensor(two).is_floating_point():  # of whole numbers, how many differ
        before, after = (float((each != expected).double().mean()) for each in (old, new))
        return replace(row, before=before, after=after)  # type: ignore[no-any-return]
    after = _relative(expected, new)
    return replace(  # type: ignore[no-any-return]
        row,
        before=_relative(expected, old),
        after=after,
        max_abs=float((expected - new).abs().max()) if expected.numel() else 0.0,
        sqnr=_decibels(after),
        cosine=_cosine(expected, new),
    )


def _decibels(share: float) -> float:
    if share == 0 or not math.isfinite(share):
        return math.inf if share == 0 else -math.inf
    return -20 * math.log10(share)


def _wide(value: Any) -> torch.Tensor:
    tensor = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    tensor = tensor.detach().resolve_conj().cpu()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.reshape(-1).double()


def _relative(want: torch.Tensor, got: torch.Tensor) -> float:
    same = (want == got) | (want.isnan() & got.isnan())  # infinities among them
    error = float((want - got).where(~same, 0.0).norm())
    norm = float(want.where(want.isfinite(), 0.0).norm())
    if error == 0:
        return 0.0
    return error / norm if norm else math.inf


def _cosine(want: torch.Tensor, got: torch.Tensor) -> float | None:
    both = want.isfinite() & got.isfinite()
    one, two = want[both], got[both]
    norms = float(one.norm()) * float(two.norm())
    return float(one @ two) / norms if norms else None
