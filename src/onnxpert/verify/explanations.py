"""What explains a row that fails: the model's own roundings, or a choice that torch leaves open.

Each is told by running the model again, several times over. Once a proof has taken long and something
has failed that nothing explains, the rest is no longer asked about: the file is not proven anyway."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch

from onnxpert.core.types import Choice, Location, Row, Verdict
from onnxpert.targets.target import Array
from onnxpert.verify.allowance import Allowance
from onnxpert.verify.arrays import to_array, to_tensor
from onnxpert.verify.choosing import settled_rows, settlings
from onnxpert.verify.file import Dims
from onnxpert.verify.inputs import Case, Inputs
from onnxpert.verify.noise import within_noise
from onnxpert.verify.reference import Output, Reference, RefusedError
from onnxpert.verify.remains import explained_as_remains
from onnxpert.verify.roundings import TURNS, finite, sway
from onnxpert.verify.sizes import evaluate
from onnxpert.verify.values import Values
from onnxpert.verify.wider import distances, widened, widened_leaves

Outputs: TypeAlias = tuple[Output, ...]
_LONG_SECONDS = 0.5  # of one run of the model; to explain takes several
Judge: TypeAlias = Callable[[int, Output, Any], Row]  # the row of an output


@dataclass(frozen=True, slots=True)
class Compared:
    """A case that was run on both sides."""

    case: Case
    leaves: Sequence[Any]
    want: Outputs
    got: Sequence[Any]
    judge: Judge


@dataclass(slots=True)
class _Shaken:
    """The model with other last digits, each draw made once."""

    reference: Reference
    leaves: Sequence[Any]
    made: dict[int, Outputs | None]

    def __call__(self, turn: int) -> Outputs | None:
        if turn not in self.made:
            self.made[turn] = self.reference.shaken(self.leaves, turn)
        return self.made[turn]


# What the model gave, and the file; which output that is, and how the model moves.
Left: TypeAlias = tuple[torch.Tensor, torch.Tensor, int, _Shaken]


@dataclass(slots=True)
class Explanations:
    """Asks for them, and remembers the first failure that has none."""

    inputs: Inputs
    shapes: Sequence[Dims]  # of the file's outputs
    reference: Reference
    deciding: Callable[[Mapping[str, Array]], Sequence[torch.Tensor]]  # the file's inner values
    seed: int
    undetermined: bool  # the file may choose what torch leaves open
    allowance: Allowance
    provisional: bool = False  # a failure at another size leads to another file
    replaced_at: Callable[[Mapping[str, int]], bool] | None = None  # so does any at these
    half: bool = False  # the model computes in half precision
    chosen_at: Location | None = None  # where the first choice was made that is the file's
    made_equal: bool = False  # the elements that it is among: by rounding alone
    is_missing: bool = False  # something failed that has none
    is_over: bool = False  # there will be another file
    _first: Left | None = None  # what that was
    _made: tuple[Choice, ...] = ()  # what explained the last case

    def explained(self, rows: list[Row], at: Compared, steady: bool) -> list[Row]:
        """The rows of a case, those that fail looked at again; `steady`: the model always gives the
        same."""
        if not _failed(rows) or self.is_over or (self.is_missing and self.allowance.is_spent):
            return rows
        if self._is_misshapen(at) or self._is_not_worth_it(at):
            self._give_up(at)
            return rows
        rows = [
            self._by_roundings(self._by_float32(row, at, index), at, index)
            if row.verdict is Verdict.FAIL
            else row
            for index, row in enumerate(rows)
        ]
        shaken = _Shaken(self.reference, at.leaves, {})
        if steady:
            rows = within_noise(rows, at.want, at.got, shaken)
            rows = self._by_remains(rows, at, shaken)
        if _failed(rows):
            rows = self._by_choice(rows, at)
        left = [
            index
            for index, row in enumerate(rows)
            if row.verdict is Verdict.FAIL and not row.choices
        ]
        if left and not self.is_missing:
            index = left[0]
            if steady and _is_floating(at.want[index]):
                self._first = at.want[index], to_tensor(at.got[index]), index, shaken
            self._give_up(at)
        return rows

    def _give_up(self, at: Compared) -> None:
        self.is_missing = True
        self.is_over = self._leads_on(at)

    def _leads_on(self, at: Compared) -> bool:
        """Whether a failure there leads to another file."""
        return self.provisional and at.case.sizes != self.inputs.example

    def _is_not_worth_it(self, at: Compared) -> bool:
        """Whether to look for an explanation takes longer than to look for another file: that one
        decides by the same last digits, if any, and would be taken for wrong as well."""
        slow = self.reference.took > _LONG_SECONDS
        replaced = self.replaced_at is not None and self.replaced_at(at.case.sizes)
        return slow and replaced and not self.deciding(self.inputs.feeds(at.leaves))

    def _is_misshapen(self, at: Compared) -> bool:
        """Whether an output has another shape than the model's, and no data decide about it."""
        return any(
            getattr(want, "shape", None) != got.shape == _shape(dims, at.case.sizes)
            for want, got, dims in zip(at.want, at.got, self.shapes, strict=True)
        )

    def sway(self) -> float | None:
        """How far its own roundings move the model at the first case that nothing explains, if that
        is as far as the file is off."""
        return None if self.is_over else _swayed(self._first)

    def _by_float32(self, row: Row, at: Compared, index: int) -> Row:
        """A row of half precision, looked at again beside the model in float32."""
        if row.max_abs is None or not self.half:
            return row
        exact = self._exact(at.leaves, torch.float32)
        found = distances(at.want[index], at.got[index], exact[index]) if exact else None
        if found is None or not found.is_nearer:
            return row
        detail = f"from the model in float32 this is {found.file:.2g}, the model itself {found.model:.2g}"
        return replace(row, verdict=Verdict.PASS, detail=detail, choices=())

    def _by_remains(self, rows: list[Row], at: Compared, shaken: _Shaken) -> list[Row]:
        """Rows of outputs that are no more than what roundings leave of zero."""
        failed = [
            index
            for index, row in enumerate(rows)
            if row.verdict is Verdict.FAIL and row.rtol and _is_floating(at.want[index])
        ]
        if not failed or len(failed) < len(_failed(rows)) or self.is_missing:
            return rows
        exact = self._exact(at.leaves, torch.float64)
        if exact is None or len(exact) != len(rows):
            return rows

        def judged(index: int, row: Row) -> Row:
            def draw(turn: int) -> Any:
                outputs = shaken(turn)
                return None if outputs is None else outputs[index]

            want, got = at.want[index], at.got[index]
            return explained_as_remains(row, want, got, exact[index], draw)

        return [judged(*each) if each[0] in failed else each[1] for each in enumerate(rows)]

    def _exact(self, leaves: Sequence[Any], dtype: torch.dtype) -> Outputs | None:
        wide = widened(self.inputs.loaded, dtype)
        if wide is None:
            return None
        try:
            with Reference(wide, self.seed) as reference:
                return reference.call(widened_leaves(leaves, dtype))
        except RefusedError:
            return None

    def _by_roundings(self, row: Row, at: Compared, index: int) -> Row:
        """A row of a quantised model, beside what its own roundings do to it."""
        want = at.want[index]
        if row.verdict is not Verdict.FAIL or row.max_abs is None or not _is_floating(want):
            return row

        def draw(turn: int) -> torch.Tensor | None:
            outputs = self.reference.jolted(at.leaves, turn)
            return None if outputs is None else outputs[index]

        answer = to_tensor(at.got[index])
        found = sway(want, answer, draw) if finite((want, answer)) else None
        if found is None:
            return row
        if found.is_one_step:
            detail = (
                f"{found.share:.1%} of the values are one step of {found.step:.2g} off, as ties are"
            )
            return replace(
                row, verdict=Verdict.PASS, detail=detail, rtol=0.0, atol=found.step, choices=()
            )
        said = f"some integers moved by one step move the model by {found.allowed / 2:.2g}"
        if not found.is_within:
            return replace(row, detail=f"{row.detail} ({said})")
        detail = f"{said}: up to twice that is allowed"
        return replace(
            row, verdict=Verdict.PASS, detail=detail, rtol=0.0, atol=found.allowed, choices=()
        )

    def _by_choice(self, rows: list[Row], at: Compared) -> list[Row]:
        """Looked at again beside the model that was told what to choose."""
        feeds = self.inputs.feeds(at.leaves)
        invented = at.case.values is not Values.EXAMPLE
        likely = self._made if invented else ()  # at the user's own values it counts which it was
        for settling in settlings(
            self.reference,
            at.leaves,
            self.deciding,
            feeds,
            likely=likely,
            briefly=self._leads_on(at),
        ):
            try:
                want, made = self.reference.settled(at.leaves, settling=settling)
            except RefusedError:
                return rows
            if not made or len(want) != len(at.got):
                continue
            pairs = enumerate(zip(want, at.got, strict=True))
            again = [at.judge(index, *pair) for index, pair in pairs]
            if not _failed(again):  # one choice holds for all outputs
                self.chosen_at = self.chosen_at or settling.place
                self._made = made
                by_chance = invented or Choice.ROUNDING in made
                if Choice.ORDER in made and not (by_chance or self.undetermined):
                    by_chance = self.made_equal = self._are_made_equal(want, at)
                return settled_rows(
                    rows, again, made, allowed=self.undetermined, by_chance=by_chance
                )
        return rows

    def _are_made_equal(self, want: Outputs, at: Compared) -> bool:
        """Whether the model in double precision, which also takes the first of equals, takes others
        than it `want`s here: then it can tell apart what is equal here."""
        wide = widened(self.inputs.loaded, torch.float64)
        if wide is None:
            return False
        try:
            with Reference(wide, self.seed) as reference:
                exact, _ = reference.settled(widened_leaves(at.leaves, torch.float64))
        except RefusedError:
            return False
        return len(exact) == len(want) and any(
            at.judge(index, one, to_array(two.to(one.dtype))).verdict is Verdict.FAIL
            for index, (one, two) in enumerate(zip(want, exact, strict=True))
            if isinstance(one, torch.Tensor) and isinstance(two, torch.Tensor)
        )


def _swayed(left: Left | None) -> float | None:
    if left is None:
        return None
    want, answer, index, shaken = left
    if answer.dtype != want.dtype:
        return None

    def draw(turn: int) -> torch.Tensor | None:
        outputs = shaken(turn)
        return None if outputs is None else outputs[index]

    drawn = [one for one in map(draw, range(TURNS)) if one is not None]
    if _sways_in_size(want, answer, drawn):
        return math.inf  # they decide even how many there are
    alike = [one for one in drawn if one.shape == want.shape]
    if answer.shape != want.shape or not alike:
        return None
    again = itertools.cycle(alike).__next__
    found = sway(want, answer, lambda _: again()) if finite((want, answer)) else None
    return found.allowed / 2 if found is not None and found.is_within else None


def _sways_in_size(want: torch.Tensor, answer: torch.Tensor, drawn: Sequence[torch.Tensor]) -> bool:
    """Whether last digits decide how many elements there are: at every draw; or at some of them, and the
    file has as many more or fewer. Draws are few: it may be off by twice as many."""
    others = [one for one in drawn if one.shape != want.shape]
    if not others or len(others) == len(drawn):
        return bool(others)
    apart = max(abs(one.numel() - want.numel()) for one in others)
    return answer.shape != want.shape and abs(answer.numel() - want.numel()) <= 2 * apart


def _failed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.verdict is Verdict.FAIL]


def _shape(dims: Dims, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """None where the sizes of the inputs do not tell it."""
    if not dims or None in dims:  # of an output without a shape nothing is known
        return None
    try:
        return tuple(evaluate(dim, sizes) for dim in dims if dim is not None)
    except (KeyError, ValueError):
        return None


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
