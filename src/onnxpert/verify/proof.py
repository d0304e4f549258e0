"""The proof itself: each case through the model and through the file, and a row per output."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Loaded, Row, Verdict, Verified
from onnxpert.targets.target import Run, Target
from onnxpert.verify import cases
from onnxpert.verify.compare import compare
from onnxpert.verify.file import FileFacts, facts, read
from onnxpert.verify.inputs import Case, Inputs, Values, bind
from onnxpert.verify.messages import runtime_line
from onnxpert.verify.reference import Character, Output, Reference, RefusedError

BUDGET_SECONDS = 60.0
FEWEST_CASES = 3  # example, another size, other values: tried whatever it costs


def prove(
    loaded: Loaded,
    path: Path,
    target: Target,
    *,
    sizes: Sequence[Mapping[str, int]],
    seed: int,
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
    wanted = cases.at(inputs, sizes)
    with Reference(loaded, seed) as reference:
        return _Proof(inputs, file, reference, run, seed, wanted).verified()


@dataclass(slots=True)
class _Proof:
    inputs: Inputs
    file: FileFacts
    reference: Reference
    run: Run
    seed: int
    wanted: tuple[cases.Wish, ...]  # beside what every proof tries

    def verified(self) -> Verified:
        first = cases.example(self.inputs)
        leaves = self.inputs.build(first, self.seed)
        start = time.monotonic()
        try:
            character = self.reference.examine(leaves)
        except RefusedError as refusal:
            return Verified((_refused(first, str(refusal)),))
        rows = self._rows(first, leaves, character.outputs, character)
        rows += self._further(character, start)
        return Verified(
            tuple(rows),
            nondeterministic=character.nondeterministic,
            stateful=character.stateful,
        )

    def _further(self, character: Character, start: float) -> list[Row]:
        rows: list[Row] = []
        done, attempts = 1, 0
        compared: set[str] = set()
        refused: set[str] = set()
        extra = len(self.wanted)
        for wish in (*self.wanted, *cases.wishes(self.inputs)):
            if done >= cases.MOST_CASES + extra or attempts >= cases.MOST_ATTEMPTS + extra:
                break
            if done >= FEWEST_CASES + extra and time.monotonic() - start > BUDGET_SECONDS:
                break
            refusals: list[Row] = []
            for case in wish.ways:
                if case.name in compared:  # another wish came to the same sizes
                    break
                if case.name in refused:
                    continue
                attempts += 1
                leaves = self.inputs.build(case, self.seed)
                try:
                    outputs = self.reference.call(leaves)
                    if self._has_tamer_values(case):
                        _refuse_new_nan(character.outputs, outputs)
                except RefusedError as refusal:
                    refused.add(case.name)
                    refusals.append(_refused(case, str(refusal)))
                    continue
                rows += self._rows(case, leaves, outputs, character)
                compared.add(case.name)
                done += 1
                break
            rows += refusals[:1]  # the other ways were only tried because of the first
        return rows

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
        return [
            self._row(case, name, expected, answer, character)
            for name, expected, answer in zip(self.file.outputs, want, got, strict=True)
        ]

    def _row(self, case: Case, name: str, want: Output, got: Any, character: Character) -> Row:
        compared = not character.nondeterministic
        result = compare(want, got, computed_in=character.computed_in, values=compared)
        unseen = "" if compared else "the model is random: only shape and dtype were compared"
        return Row(
            case=case.name,
            output=name,
            sizes=case.sizes,
            verdict=Verdict.FAIL if result.problem else Verdict.PASS,
            max_abs=result.max_abs,
            max_rel=result.max_rel,
            rtol=result.rtol,
            atol=result.atol,
            detail=result.problem or unseen,
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
