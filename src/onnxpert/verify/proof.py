"""The proof itself: each case through the model and through the file, and a row per output."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from onnxpert.core.errors import UsageError
from onnxpert.core.types import (
    Captured,
    Choice,
    Loaded,
    Location,
    Randomness,
    Row,
    Verdict,
    Verified,
)
from onnxpert.targets.target import Array, Run, Target
from onnxpert.verify import cases
from onnxpert.verify.arrays import to_tensor
from onnxpert.verify.branches import Sides, further, has_branches
from onnxpert.verify.choosing import settled_rows, settlings
from onnxpert.verify.compare import compare, differs_in_signs
from onnxpert.verify.digits import deciding
from onnxpert.verify.distribution import likeness
from onnxpert.verify.file import FileFacts, facts, read
from onnxpert.verify.inputs import Case, Inputs, Values, bind
from onnxpert.verify.messages import runtime_line
from onnxpert.verify.noise import within_noise
from onnxpert.verify.precision import coarsest
from onnxpert.verify.reference import Character, Output, Reference, RefusedError
from onnxpert.verify.roundings import finite, sway
from onnxpert.verify.wider import HALVES, distances, widened, widened_leaves

BUDGET_SECONDS = 60.0
FEWEST_CASES = 3  # example, another size, other values: tried whatever it costs
_MOST_TURNED = 6  # cases that take sides of their own, at other sizes too


def prove(
    loaded: Loaded,
    path: Path,
    target: Target,
    *,
    sizes: Sequence[Mapping[str, int]],
    far: Sequence[str],
    seed: int,
    randomness: Randomness | None = None,
    captured: Captured | None = None,
    computed_in: str = "",
    undetermined: bool = False,
) -> Verified:
    if not path.is_file():
        raise UsageError(f"there is no file {path}", "give the path of an ONNX file")
    try:
        run = target.open(path)
    except UsageError:
        raise
    except Exception as error:  # each runtime has its own kinds, with no base class in common
        return Verified((), runtime_error=runtime_line(error))
    file = facts(read(path))
    inputs = bind(loaded, file)
    wanted = (*cases.given(inputs), *cases.at(inputs, sizes))
    unwritten = randomness.unwritten if randomness is not None else ()
    with Reference(loaded, seed, unwritten) as reference:
        sides = Sides(captured) if captured is not None and has_branches(captured) else None
        proof = _Proof(
            inputs,
            file,
            reference,
            run,
            functools.partial(deciding, path, target),
            seed,
            wanted,
            randomness,
            sides,
            tuple(far),
            computed_in,
            undetermined,
        )
        return proof.verified()


@dataclass(slots=True)
class _Tally:
    """How far a proof has come."""

    character: Character
    done: int = 1
    attempts: int = 0
    compared: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def is_enough(self, extra: int) -> bool:
        most, attempts = cases.MOST_CASES + extra, cases.MOST_ATTEMPTS + extra
        return self.done >= most or self.attempts >= attempts


@dataclass(slots=True)
class _Proof:
    inputs: Inputs
    file: FileFacts
    reference: Reference
    run: Run
    deciding: Callable[[Mapping[str, Array]], Sequence[torch.Tensor]]  # the file's inner values
    seed: int
    wanted: tuple[cases.Wish, ...]  # beside what every proof tries
    randomness: Randomness | None
    sides: Sides | None  # of a model with branches
    far: tuple[str, ...] = ()  # sizes to be tried much larger too
    precision: str = ""  # that the file was turned to; "": the model's own
    undetermined: bool = False  # the file may choose what torch leaves open
    half: bool = False  # the model computes in half precision
    turned: tuple[Case, ...] = ()  # with values that take sides which the example does not
    drew: bool = False  # an answer that looked certain turned out to be a matter of luck
    chosen_at: Location | None = None  # where the first choice was made that is the file's

    def verified(self) -> Verified:
        first = cases.example(self.inputs)
        leaves = self.inputs.build(first, self.seed)
        start = time.monotonic()
        try:
            character = self.reference.examine(leaves)
            took = time.monotonic() - start
            if self.sides is not None:  # it may loop for as long as the data say
                self.reference.patience = 2 + 20 * took
        except RefusedError as refusal:
            return Verified((_refused(first, str(refusal)),))
        distant = [cases.far(self.inputs, name, took / 2) for name in self.far]  # it ran twice
        self.wanted += tuple(wish for wish in distant if wish is not None)
        character = self._chance(character, leaves)
        self.half = character.computed_in in HALVES
        if self.precision:
            kinds = [
                getattr(torch, name) for name in (self.precision, character.computed_in) if name
            ]
            character = replace(character, computed_in=coarsest(kinds))
        rows = self._rows(first, leaves, character.outputs, character)
        if character.nondeterministic and self._is_meant:
            rows += self._draws(first, leaves)
        if not character.nondeterministic or self._is_meant:  # else there is nothing to be proven
            rows += self._further(character, start, took)
        return Verified(
            tuple(rows),
            sway=None if character.nondeterministic or character.stateful else self._sway(rows),
            nondeterministic=character.nondeterministic or self.drew,
            stateful=character.stateful,
            location=self.chosen_at,
            randomness=self.randomness,
            branches=() if self.sides is None else self.sides.report(),
        )

    @property
    def _is_meant(self) -> bool:
        """Whether chance is what was asked for."""
        return self.randomness is not None and self.randomness.allowed

    def _sway(self, rows: Sequence[Row]) -> float | None:
        """How far its own roundings move the model at the first case that nothing explains, if
        that is as far as the file is off."""
        failed = [row for row in rows if row.verdict is Verdict.FAIL]
        first = next((row for row in failed if row.max_abs is not None), None)
        if first is None or all(row.choices for row in failed):
            return None
        leaves = self.inputs.build(cases.remade(first.case, first.sizes), self.seed)
        index = self.file.outputs.index(first.output)
        want = self.reference.call(leaves)[index]
        answer = to_tensor(self.run(self.inputs.feeds(leaves))[index])
        if not isinstance(want, torch.Tensor) or not want.is_floating_point():
            return None

        def draw(turn: int) -> torch.Tensor | None:
            outputs = self.reference.shaken(leaves, turn)
            return None if outputs is None else outputs[index]

        found = sway(want, answer, draw) if finite((want, answer)) else None
        return found.allowed / 2 if found is not None and found.is_within else None

    def _chance(self, character: Character, leaves: Sequence[Any]) -> Character:
        """The same model at other inputs: what is certain at one may be a matter of luck there."""
        if self.randomness is None or character.stateful:
            return character
        varies = self.randomness.sided or self.reference.varies(leaves)
        return replace(character, nondeterministic=varies)

    def _draws(self, case: Case, leaves: Sequence[Any]) -> list[Row]:
        feeds = self.inputs.feeds(leaves)
        found = likeness(lambda turn: self.reference.draw(leaves, turn), lambda _: self.run(feeds))
        if self.undetermined and not all(one.same for one in found):
            settled = self.reference.settled
            found = likeness(lambda turn: settled(leaves, turn)[0], lambda _: self.run(feeds))
        return [
            Row(
                f"{one.draws} draws",
                name,
                case.sizes,
                Verdict.PASS if one.same else Verdict.FAIL,
                detail=f"distributions are {one.distance:.2g} apart, {one.threshold:.2g} allowed",
            )
            for index, (name, one) in enumerate(zip(self.file.outputs, found, strict=True))
            if not self._is_unwritten(index)
        ]

    def _is_unwritten(self, index: int) -> bool:
        return self.randomness is not None and index in self.randomness.unwritten

    def _further(self, character: Character, start: float, took: float) -> list[Row]:
        rows: list[Row] = []
        tally = _Tally(character)
        every = (*self.wanted, *self._wishes_of_branches(), *cases.wishes(self.inputs))
        extra = len(every) - len(list(cases.wishes(self.inputs)))
        for wish in every:
            if tally.is_enough(extra):
                break
            if tally.done >= FEWEST_CASES + extra and time.monotonic() - start > BUDGET_SECONDS:
                break
            rows += self._shown(wish, tally)
        for wish in self._wishes_elsewhere(took):
            if time.monotonic() - start > BUDGET_SECONDS:
                break
            rows += self._shown(wish, tally)
        return rows

    def _shown(self, wish: cases.Wish, tally: _Tally) -> list[Row]:
        """The rows of the first way that the model takes."""
        refusals: list[Row] = []
        for case in wish.ways:
            if case.name in tally.compared:  # another wish came to the same sizes
                break
            if case.name in tally.refused:
                continue
            tally.attempts += 1
            leaves = self.inputs.build(case, self.seed)
            try:
                outputs = self.reference.call(leaves)
                tally.character = self._chance(tally.character, leaves)
                if self._has_tamer_values(case):
                    _refuse_new_nan(tally.character.outputs, outputs)
            except RefusedError as refusal:
                tally.refused.add(case.name)
                refusals.append(_refused(case, str(refusal)))
                continue
            rows = self._rows(case, leaves, outputs, tally.character)
            self._note_sides(leaves)
            tally.compared.add(case.name)
            tally.done += 1
            return rows + refusals[:1]
        return refusals[:1]  # the other ways were only tried because of the first

    def _wishes_of_branches(self) -> list[cases.Wish]:
        """What takes the sides of branches that the example and the other sizes do not."""
        if self.sides is None:
            return []
        for case in (cases.example(self.inputs), *(wish.ways[0] for wish in self.wanted)):
            self._note_sides(self.inputs.build(case, self.seed))
        self.turned = tuple(further(self.inputs, self.sides, self.seed))
        return [cases.Wish((case,)) for case in self.turned]

    def _wishes_elsewhere(self, took: float) -> Iterator[cases.Wish]:
        """The same sides at other sizes: where one was recorded it may have kept the example's."""
        if self.sides is None:
            return
        for case in (cases.example(self.inputs), *self.turned[:_MOST_TURNED]):
            large, small = cases.elsewhere(self.inputs, case, took / 2)
            yield large
            if not self.sides.all_elsewhere:
                yield small

    def _note_sides(self, leaves: Sequence[Any]) -> None:
        if self.sides is not None:
            names = [leaf.name for leaf in self.inputs.loaded.leaves]
            resized = self.inputs.sizes_of(leaves) != self.inputs.example
            self.sides.note(dict(zip(names, leaves, strict=True)), resized=resized)

    def _has_tamer_values(self, case: Case) -> bool:
        """Whether the next way is of the same sizes: then NaN may be the doing of the values."""
        resized = case.sizes != self.inputs.example
        return case.values is (Values.SHUFFLED if resized else Values.WILD)

    def _rows(
        self, case: Case, leaves: Sequence[Any], want: tuple[Output, ...], character: Character
    ) -> list[Row]:
        try:
            got = self.run(self.inputs.feeds(leaves))
        except Exception as error:  # as above: no base class in common
            return [Row(case.name, "", case.sizes, Verdict.FAIL, detail=runtime_line(error))]
        if len(got) != len(want):
            detail = f"the model gives {len(want)} outputs, the file {len(got)}"
            return [Row(case.name, "", case.sizes, Verdict.FAIL, detail=detail)]
        rows = [
            self._by_roundings(
                self._by_float32(
                    self._row(case, index, expected, answer, character), leaves, expected, answer
                ),
                leaves,
                expected,
                answer,
            )
            for index, (expected, answer) in enumerate(zip(want, got, strict=True))
        ]
        if not character.nondeterministic and not character.stateful:
            rows = within_noise(rows, want, got, functools.partial(self.reference.shaken, leaves))
        if any(row.verdict is Verdict.FAIL for row in rows):
            rows = self._by_choice(rows, case, leaves, got, character)
        if any(row.verdict is Verdict.FAIL for row in rows) and self._may_be_luck(character):
            self.drew = True
            return self._draws(case, leaves)
        return rows

    def _by_choice(
        self,
        rows: list[Row],
        case: Case,
        leaves: Sequence[Any],
        got: Sequence[Any],
        character: Character,
    ) -> list[Row]:
        """Rows that fail, looked at again beside the model that was told what to choose."""
        for settling in settlings(self.reference, leaves, self.deciding, self.inputs.feeds(leaves)):
            try:
                want, made = self.reference.settled(leaves, settling=settling)
            except RefusedError:
                return rows
            if not made or len(want) != len(got):
                continue
            pairs = enumerate(zip(want, got, strict=True))
            again = [self._row(case, index, *pair, character) for index, pair in pairs]
            # One choice holds for all outputs.
            if all(row.verdict is not Verdict.FAIL for row in again):
                self.chosen_at = self.chosen_at or settling.place
                invented = case.values is not Values.EXAMPLE
                return settled_rows(rows, again, made, allowed=self.undetermined, invented=invented)
        return rows

    def _may_be_luck(self, character: Character) -> bool:
        """A coin that falls on one side in a hundred shows it in none of a dozen throws."""
        return self._is_meant and not character.nondeterministic and not character.stateful

    def _by_float32(self, row: Row, leaves: Sequence[Any], want: Output, got: Any) -> Row:
        """A row of half precision that fails, looked at again beside the model in float32."""
        if row.verdict is not Verdict.FAIL or row.max_abs is None or not self.half:
            return row
        exact = self._exact(leaves)
        index = self.file.outputs.index(row.output)
        found = distances(want, got, exact[index]) if exact is not None else None
        if found is None or not found.is_nearer:
            return row
        detail = f"from the model in float32 this is {found.file:.2g}, the model itself {found.model:.2g}"
        return replace(row, verdict=Verdict.PASS, detail=detail, choices=())

    def _by_roundings(self, row: Row, leaves: Sequence[Any], want: Output, got: Any) -> Row:
        """A row of a quantised model that fails, beside what its own roundings do to it."""
        if row.verdict is not Verdict.FAIL or row.max_abs is None:
            return row
        if not isinstance(want, torch.Tensor) or not want.is_floating_point():
            return row
        index = self.file.outputs.index(row.output)

        def draw(turn: int) -> torch.Tensor | None:
            outputs = self.reference.jolted(leaves, turn)
            return None if outputs is None else outputs[index]

        answer = to_tensor(got)
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

    def _exact(self, leaves: Sequence[Any]) -> tuple[Output, ...] | None:
        wide = widened(self.inputs.loaded)
        if wide is None:
            return None
        try:
            with Reference(wide, self.seed) as reference:
                return reference.call(widened_leaves(leaves))
        except RefusedError:
            return None

    def _unseen(self, index: int, character: Character) -> str:
        """Why the values of an output are not compared, if they are not."""
        if self._is_unwritten(index):
            return "nobody writes this memory: only shape and dtype were compared"
        random = character.nondeterministic
        return "the model is random: only shape and dtype were compared" if random else ""

    def _row(self, case: Case, index: int, want: Output, got: Any, character: Character) -> Row:
        unseen = self._unseen(index, character)
        result = compare(want, got, computed_in=character.computed_in, values=not unseen)
        return Row(
            case=case.name,
            output=self.file.outputs[index],
            sizes=case.sizes,
            verdict=Verdict.FAIL if result.problem else Verdict.PASS,
            max_abs=result.max_abs,
            max_rel=result.max_rel,
            rtol=result.rtol,
            atol=result.atol,
            detail=result.problem or unseen,
            choices=(Choice.SIGN,) if result.problem and differs_in_signs(want, got) else (),
        )


def _refused(case: Case, why: str) -> Row:
    return Row(case.name, "", case.sizes, Verdict.REFUSED, detail=why)


def _refuse_new_nan(example: tuple[Output, ...], outputs: tuple[Output, ...]) -> None:
    """Values that turn a model's answer into NaN are outside of what it is made for."""
    if _has_nan(outputs) and not _has_nan(example):
        raise RefusedError("the model itself gives NaN for these values")


def _has_nan(outputs: tuple[Output, ...]) -> bool:
    return any(
        isinstance(output, torch.Tensor)
        and (output.is_floating_point() or output.is_complex())
        and bool(output.isnan().any())
        for output in outputs
    )
