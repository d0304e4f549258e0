"""One random program of sizes: each line is one that torch takes at two sets of sizes."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from conformance.drawn import Program
from conformance.sizes.grammar import BLOCKS, CONDITIONS, INPUTS, MODULE, VALUES

EXAMPLES = ({"a": 4, "b": 6, "c": 5, "d": 7}, {"a": 6, "b": 8, "c": 3, "d": 9})
_GAP = re.compile(r"\{(\w+)\}")
_WEIGHTS = {"n": 4, "v": 4, "m": 6, "c": 3}
_MOST_NUMBERS = 4000  # in one tensor
_RANKS = {"v": 1, "m": 2, "c": 3}
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Sized(Program):
    """One that is called with sizes of its own."""

    example: dict[str, int]  # the size of each name


def draw(seed: int) -> Sized:
    """The program of a seed; the same on every machine."""
    chance = random.Random(seed)
    sizes = dict(EXAMPLES[0])
    for name in sizes:
        sizes[name] = chance.randint(2, 8)
    draft = _Draft(chance, sizes)
    for _ in range(chance.randint(3, 8)):
        draft.extend()
    return draft.program(seed)


class _Draft:
    """A program in the making, with what its names stand for at each set of sizes."""

    def __init__(self, chance: random.Random, example: dict[str, int]) -> None:
        self.chance = chance
        self.example = example
        self.statements: dict[str, str] = {}  # by the name that gets a value
        self.known: dict[str, list[str]] = {"n": [], "v": ["z"], "m": ["x", "y"], "c": []}
        larger = {name: size + 3 + index for index, (name, size) in enumerate(example.items())}
        self.scopes = [self._scope(example), self._scope(larger), self._scope(EXAMPLES[1])]

    def _scope(self, sizes: dict[str, int]) -> dict[str, Any]:
        scope: dict[str, Any] = {"torch": torch, "F": F, "math": math}
        namespace: dict[str, Any] = {}
        exec(MODULE.format(seed=0), namespace)
        scope["self"] = namespace["Program"]()
        for name, axes in INPUTS.items():
            scope[name] = torch.randn(*(sizes[axis] for axis in axes))
        return scope

    def extend(self) -> None:
        """One more value, if a line is found that torch takes."""
        for _ in range(_TRIES):
            kind = self.chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            name = f"{kind}{len(self.statements) + 1}"
            if text := self._statement(kind, name):
                self.statements[name] = text
                # What is new is used more often.
                self.known[kind] += [name] * (2 + len(self.statements))
                return

    def _statement(self, kind: str, name: str) -> str | None:
        blocks = BLOCKS.get(kind, ())
        try:
            if blocks and self.chance.random() < 0.3:
                text = self._filled(self.chance.choice(blocks), {"new": name})
            else:
                text = f"{name} = {self._filled(self.chance.choice(VALUES[kind]))}"
        except LookupError:  # nothing of a kind yet
            return None
        scopes = [dict(scope) for scope in self.scopes]
        for scope in scopes:
            try:
                with torch.no_grad():
                    exec(text, scope)
            except Exception:  # whatever torch has against it
                return None
            if not _is_handy(scope[name], kind):
                return None
        self.scopes = scopes
        return text

    def _filled(self, text: str, own: dict[str, str] | None = None) -> str:
        constant = str(self.chance.randint(2, 4))

        def fill(match: re.Match[str]) -> str:
            gap = match[1]
            if own and gap in own:
                return own[gap]
            if gap == "d":
                return constant
            if gap == "axis":
                return str(self.chance.randrange(2))
            if gap == "condition":
                return self._filled(self.chance.choice(CONDITIONS))
            if gap == "n" and (not self.known["n"] or self.chance.random() < 0.3):
                return f"{self.chance.choice(self.known['m'])}.shape[{self.chance.randrange(2)}]"
            return self.chance.choice(self.known[gap])

        return _GAP.sub(fill, text)

    def program(self, seed: int) -> Sized:
        """Its results are the values that no later line uses: every line counts."""
        ends = [
            name
            for name in self.statements
            if not any(
                re.search(rf"\b{name}\b", text)
                for other, text in self.statements.items()
                if other != name
            )
        ]
        results = [name if name[0] != "n" else f"torch.tensor({name})" for name in ends]
        drawn = "\n".join(self.statements.values()).splitlines()
        lines = [*drawn, f"return {', '.join(results) or 'x'},"]
        text = "\n".join(lines)
        inputs = tuple(n for n in INPUTS if re.search(rf"(?<![\w.]){n}(?!\w)", text))
        head = MODULE.replace("{seed}", str(seed))
        body = "".join(f"        {line}\n" for line in lines)
        source = f"{head}\n    def forward(self, {', '.join(inputs)}):\n{body}"
        return Sized(seed, source, inputs, len(head.splitlines()) + 2, self.example)


def _is_handy(value: Any, kind: str) -> bool:
    """A value of the kind, neither empty nor large."""
    if kind == "n":
        return isinstance(value, int) and 0 <= value <= 60
    if not isinstance(value, torch.Tensor) or value.dim() != _RANKS[kind]:
        return False
    return 0 < value.numel() <= _MOST_NUMBERS and bool(value.float().isfinite().all())
