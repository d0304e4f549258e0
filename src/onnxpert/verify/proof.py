"""The proof itself: each case through the model and through the file, and a row per output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from onnxpert.core.errors import UsageError
from onnxpert.core.types import (
    Answer,
    Captured,
    Choice,
    Loaded,
    Randomness,
    Row,
    Verdict,
    Verified,
)
from onnxpert.targets.target import Run, Target
from onnxpert.verify import cases
from onnxpert.verify.allowance import Allowance
from onnxpert.verify.branches import Sides, has_sides
from onnxpert.verify.compare import compare, differs_in_signs
from onnxpert.verify.digits import deciding
from onnxpert.verify.distribution import likeness
from onnxpert.verify.explanations import Compared, Explanations
from onnxpert.verify.file import FileFacts, facts, read
from onnxpert.verify.inputs import Case, Inputs, bind
from onnxpert.verify.messages import runtime_line
from onnxpert.verify.precision import coarsest
from onnxpert.verify.reference import (
    CHANCES,
    FEWEST_CHANCES,
    Character,
    Output,
    Reference,
    RefusedError,
)
from onnxpert.verify.sided import SidedCases
from onnxpert.verify.values import Values
from onnxpert.verify.wider import HALVES

_LONG_SECONDS = 0.1
_MOST_AFTER = (
    2  # cases of either sort that a model which changes is given before and after the example
)


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
    provisional: bool = False,
    replaced_at: Callable[[Mapping[str, int]], bool] | None = None,
    alike: Sequence[tuple[str, str]] = (),
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
    unwritten = randomness.unwritten if randomness is not None else ()
    with Reference(loaded, seed, unwritten) as reference:
        allowance = Allowance()
        explanations = Explanations(
            inputs,
            tuple(file.shapes.values()),
            reference,
            deciding(path, target),
            seed,
            undetermined,
            allowance,
            provisional,
            replaced_at,
        )
        sided = None
        if captured is not None and has_sides(captured):
            sided = SidedCases(inputs, Sides(captured), seed, allowance)
        proof = _Proof(
            inputs,
            file,
            reference,
            run,
            explanations,
            allowance,
            seed,
            sizes,
            randomness,
            captured.answer if captured is not None else None,
            sided,
            tuple(far),
            computed_in,
            alike,
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
    sizes: list[Mapping[str, int]] = field(default_factory=list)  # at which something was compared

    def is_enough(self, extra: int) -> bool:
        most, attempts = cases.MOST_CASES + extra, cases.MOST_ATTEMPTS + extra
        return self.done >= most or self.attempts >= attempts


@dataclass(slots=True)
class _Proof:
    inputs: Inputs
    file: FileFacts
    reference: Reference
    run: Run
    explanations: Explanations
    allowance: Allowance
    seed: int
    sizes: Sequence[Mapping[str, int]]  # to be tried beside what every proof tries
    randomness: Randomness | None
    answer: Answer | None  # that the capture saw to the example
    sides: SidedCases | None  # of a model with branches, or numbers that the data decide
    far: tuple[str, ...] = ()  # sizes to be tried much larger too
    precision: str = ""  # that the file was turned to; "": the model's own
    # Sizes that become one if the file fails where they differ.
    alike: Sequence[tuple[str, str]] = ()
    drew: bool = False  # an answer that looked certain turned out to be a matter of luck
    remembers: bool = False  # a call changed the answer to another input
    wanted: tuple[cases.Wish, ...] = ()  # beside what every proof tries

    def verified(self) -> Verified:
        first = cases.example(self.inputs)
        leaves = self.inputs.build(first, self.seed)
        try:
            character = self.reference.examine(leaves, self.answer)
            if self.sides is not None:  # it may loop for as long as the data say
                self.reference.patience = self.sides.patience(first, character.seconds)
        except RefusedError as refusal:
            return Verified((_refused(first, str(refusal)),))
        self.wanted = tuple(self._wanted(character.effort))
        character = self._chance(character, leaves, character.outputs)
        self.explanations.half = character.computed_in in HALVES
        if self.precision:
            kinds = [
                getattr(torch, name) for name in (self.precision, character.computed_in) if name
            ]
            character = replace(character, computed_in=coarsest(kinds))
        rows = self._rows(first, leaves, character.outputs, character)
        if character.nondeterministic and self._is_meant:
            rows += self._draws(first, leaves)
        provable = not character.nondeterministic or self._is_meant
        if provable:
            rows += self._further(character)
        return Verified(
            tuple(rows),
            sway=self.explanations.sway(),
            nondeterministic=character.nondeterministic or self.drew,
            stateful=character.stateful or self.remembers,
            unseeded=character.unseeded,
            location=self.explanations.chosen_at,
            made_equal=self.explanations.made_equal,
            randomness=self.randomness,
            branches=self.sides.report() if self.sides is not None and provable else (),
        )

    def _wanted(self, effort: float) -> Iterator[cases.Wish]:
        yield from cases.given(self.inputs)
        beyond = cases.at(self.inputs, self.sizes, effort)
        if self.sides is not None:
            self.sides.beyond = tuple(wish.ways[0].sizes for wish in beyond if wish.ways)
        yield from beyond
        distant = [cases.far(self.inputs, name, effort) for name in self.far]
        yield from (wish for wish in distant if wish is not None)

    @property
    def _is_meant(self) -> bool:
        """Whether chance is what was asked for."""
        return self.randomness is not None and self.randomness.allowed

    def _chance(
        self, character: Character, leaves: Sequence[Any], first: tuple[Output, ...]
    ) -> Character:
        """The same model at other inputs: what is certain at one may be a matter of luck there."""
        if self.randomness is None or character.stateful:
            return character
        chances = FEWEST_CHANCES if self.allowance.is_spent else CHANCES
        varies = self.randomness.sided or self.reference.varies(leaves, first, chances)
        return replace(character, nondeterministic=varies)

    def _draws(self, case: Case, leaves: Sequence[Any]) -> list[Row]:
        feeds = self.inputs.feeds(leaves)
        found = likeness(lambda turn: self.reference.draw(leaves, turn), lambda _: self.run(feeds))
        if self.explanations.undetermined and not all(one.same for one in found):
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

    def _further(self, character: Character) -> list[Row]:
        rows: list[Row] = []
        tally = _Tally(character)
        usual = list(cases.wishes(self.inputs))
        beside = self.wanted
        if self.sides is not None:
            tried = (cases.example(self.inputs), *(wish.ways[0] for wish in self.wanted))
            beside += tuple(self.sides.here(tried))
        slow = character.effort > _LONG_SECONDS  # then what another file replaces is not run on
        replaced = False
        for wish in (*beside, *usual):
            is_over = slow and self.explanations.is_over and wish not in beside
            replaced = is_over or (slow and self._are_to_be_one(rows))
            if replaced or tally.is_enough(len(beside)):
                break
            rows += self._shown(wish, tally)
        # Of a quick model all that is wrong is looked for at once: another file takes longer.
        replaced = replaced or (slow and any(map(self._leads_on, rows)))
        for wish in () if replaced else self._wishes_elsewhere(character.effort):
            if not self._was_shown(wish, tally):
                rows += self._shown(wish, tally)
        done = tally.compared  # perhaps for another wish, that is always shown
        return [row for row in rows if row.verdict is not Verdict.SKIPPED or row.case not in done]

    def _was_shown(self, wish: cases.Wish, tally: _Tally) -> bool:
        """Whether the sides that it is for were compared there: sizes alone decide."""
        if self.sides is None or self.sides.by_values or not wish.ways:
            return False
        return wish.ways[0].sizes in tally.sizes

    def _leads_on(self, row: Row) -> bool:
        """Whether a failure has the model captured again, and the next file is tried everywhere."""
        replaced_at = self.explanations.replaced_at
        failed = row.verdict is Verdict.FAIL and not row.other_rank
        return failed and replaced_at is not None and replaced_at(row.sizes)

    def _are_to_be_one(self, rows: Sequence[Row]) -> bool:
        failed = [row.sizes for row in rows if row.verdict is Verdict.FAIL]
        return any(at.get(one) != at.get(other) for one, other in self.alike for at in failed)

    def _shown(self, wish: cases.Wish, tally: _Tally) -> list[Row]:
        """The rows of the first way that the model takes."""
        refusals: list[Row] = []
        if self.allowance.is_spent and not wish.always:
            tally.done += 1
            return [_skipped(case, tally.character.seconds) for case in wish.ways[:1]]
        for case in wish.ways:
            if case.name in tally.compared:  # another wish came to the same sizes
                break
            if case.name in tally.refused:
                continue
            tally.attempts += 1
            leaves = self.inputs.build(case, self.seed)
            if self.sides is not None:
                self.reference.patience = self.sides.patience(case, tally.character.seconds)
            try:
                outputs = self.reference.call(leaves)
                tally.character = self._chance(tally.character, leaves, outputs)
                self._remember(tally, case, leaves, outputs)
                if self._has_tamer_values(case):
                    _refuse_new_nan(tally.character.outputs, outputs)
                rows = self._rows(case, leaves, outputs, tally.character)
            except RefusedError as refusal:
                tally.refused.add(case.name)
                refusals.append(_refused(case, str(refusal)))
                if self.sides is not None and isinstance(refusal.__cause__, TimeoutError):
                    self.sides.unended.append(case)
                    if not self.sides.by_values:  # at these sizes no values come to an end
                        break
                continue
            if self.sides is not None and self.sides.branching:
                self.sides.note(case, leaves)
                self.sides.compared.append(case)
            tally.compared.add(case.name)
            tally.sizes.append(case.sizes)
            tally.done += 1
            return rows + refusals[:1]
        return refusals[:1]  # the other ways were only tried because of the first

    def _remember(
        self, tally: _Tally, case: Case, leaves: Sequence[Any], outputs: tuple[Output, ...]
    ) -> None:
        """What is kept of a call may only show after one with other values, a largest one so far, or of
        other sizes, a table made for the first."""
        character = tally.character
        is_settled = character.stateful or character.nondeterministic or self.remembers
        is_resized = case.sizes != self.inputs.example
        alike = [one for one in tally.sizes if (one != self.inputs.example) is is_resized]
        if not character.changed or is_settled or len(alike) >= _MOST_AFTER:
            return
        example = self.inputs.build(cases.example(self.inputs), self.seed)
        calls = ((example, leaves, outputs), (leaves, example, character.outputs))
        self.remembers = any(self.reference.remembers(*call) for call in calls)

    def _wishes_elsewhere(self, effort: float) -> Iterator[cases.Wish]:
        """All sizes larger; of branches the same sides there."""
        if self.allowance.is_spent:
            return
        if self.sides is not None and self.sides.branching:
            yield from self.sides.elsewhere(effort)
        else:
            larger = cases.larger(self.inputs, effort)
            if larger is not None:
                yield larger
        if self.wanted or self.sides is not None:  # something is assumed, or decided, by sizes
            yield from cases.mixed(self.inputs, effort)

    def _has_tamer_values(self, case: Case) -> bool:
        """Whether the next way is of the same sizes: then it may be the doing of the values."""
        resized = case.sizes != self.inputs.example
        return case.values in ((Values.SHUFFLED,) if resized else (Values.WILD, Values.SHUFFLED))

    def _refuse_overflow(self, case: Case, leaves: Sequence[Any], rows: Sequence[Row]) -> None:
        """Values that a model's own numbers cannot hold prove nothing of a file that differs there."""
        if not self._has_tamer_values(case) or all(row.verdict is not Verdict.FAIL for row in rows):
            return
        example = self.inputs.build(cases.example(self.inputs), self.seed)
        if self.reference.overflows(leaves, example):
            raise RefusedError("the model's own numbers leave their range for these values")

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

        def judge(index: int, expected: Output, answer: Any) -> Row:
            return self._row(case, index, expected, answer, character)

        judged = [judge(index, *pair) for index, pair in enumerate(zip(want, got, strict=True))]
        self._refuse_overflow(case, leaves, judged)
        rows = self.explanations.explained(
            judged,
            Compared(case, leaves, want, got, judge),
            steady=not character.nondeterministic and not character.stateful,
        )
        if any(row.verdict is Verdict.FAIL for row in rows) and self._may_be_luck(character):
            self.drew = True
            return self._draws(case, leaves)
        return rows

    def _may_be_luck(self, character: Character) -> bool:
        """A coin that falls on one side in a hundred shows it in none of a dozen throws."""
        return self._is_meant and not character.nondeterministic and not character.stateful

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
            other_rank=getattr(want, "ndim", 0) != got.ndim,
            other_dtype=result.other_dtype,
            found=case.found,
        )


def _refused(case: Case, why: str) -> Row:
    return Row(case.name, "", case.sizes, Verdict.REFUSED, detail=why)


def _skipped(case: Case, seconds: float) -> Row:
    detail = f"one run of the model takes {seconds:.1f} s"
    return Row(case.name, "", case.sizes, Verdict.SKIPPED, detail=detail)


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
