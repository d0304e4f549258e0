"""Which inputs a proof tries: the example, other values, and other sizes of all that may vary."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onnxpert.verify.inputs import Case, Inputs
from onnxpert.verify.turning import retold
from onnxpert.verify.values import LONE, Values, is_lone

MOST_CASES = 8
FEWEST_SIZES = 2  # beside the example's
MOST_ATTEMPTS = 24  # a model that refuses most sizes shall not keep us for ever
EXAMPLE = "example"
OTHER_VALUES = "other values"
SHUFFLED = " (shuffled)"
NEAR = " (near the example)"
REPEATED = " (repeated values)"
_FAR = (1031, 521, 263, 131)  # the first that the model takes
_FAR_SECONDS = 2.0
_FAR_SQUARE_SECONDS = 16.0  # where all that is there attends to all
_TIMES = 3
_LARGER_SECONDS = 0.1
_TIMES_FAR = 32
_LARGE_SECONDS = 0.5  # where all that is there attends to all
_QUICK_SECONDS = 0.08
_SLOW_SECONDS = 1.0
_MIXTURES = 6
_FEWER_MIXTURES = 2
_FEWEST_MIXED = 2


@dataclass(frozen=True, slots=True)
class Wish:
    """Something a proof should show, and the ways to show it: the first that the model takes."""

    ways: tuple[Case, ...]
    always: bool = False  # however long the model takes


def example(inputs: Inputs) -> Case:
    return Case(EXAMPLE, inputs.example, Values.EXAMPLE)


def given(inputs: Inputs) -> tuple[Wish, ...]:
    """The further examples of the user's, whatever else is tried."""
    found = []
    for index, values in enumerate(inputs.loaded.examples):
        name = f"{EXAMPLE} {index + 2}"
        case = Case(name, inputs.sizes_of(values), Values.EXAMPLE, index)
        found.append(Wish((case,), always=True))
    return tuple(found)


def at(inputs: Inputs, sizes: Sequence[Mapping[str, int]], effort: float) -> tuple[Wish, ...]:
    """A wish for each of the sizes that differ from the example and that nobody ruled out.

    What the file itself was narrowed to does not count: these are the sizes that show it."""
    asked = [
        change
        for change in sizes
        if all(
            name in inputs.example and _asked(inputs, name, size) for name, size in change.items()
        )
    ]
    return tuple(
        _resized(inputs, [*_beside_ones(inputs, change, effort), *_ways(inputs, moved)])
        for change in asked
        if (moved := _moved_by(inputs, change))
    )


def _moved_by(inputs: Inputs, change: Mapping[str, int]) -> dict[str, int]:
    return {name: size for name, size in change.items() if size != inputs.example[name]}


def _beside_ones(
    inputs: Inputs, change: Mapping[str, int], effort: float
) -> Iterator[dict[str, int]]:
    """Sizes far from the example's at which the model computes much, with 1 for all that they say nothing
    of: a limit of 2048 tokens is the same for a batch of one."""
    growth = math.prod(max(size / max(inputs.example[name], 1), 1) for name, size in change.items())
    if growth < _TIMES_FAR or effort * growth**2 <= _LARGE_SECONDS:
        return
    lengths = {inputs.example[name] for name in change}
    others = [
        name
        for name, size in inputs.example.items()
        if size > 1
        and name not in change
        and size not in lengths  # a mask has to go along
        and _Ladder(name, inputs).allows(1)
    ]
    if others:
        yield {**_moved_by(inputs, change), **dict.fromkeys(others, 1)}


def _ways(inputs: Inputs, change: Mapping[str, int]) -> list[dict[str, int]]:
    """The change alone, and with whatever is as long in the example: a mask has to go along."""
    together = {
        other: size
        for name, size in change.items()
        for other, length in inputs.example.items()
        if length == inputs.example[name] and _asked(inputs, other, size)
    } | dict(change)
    return [dict(change), together] if together != change else [dict(change)]


def far(inputs: Inputs, name: str, effort: float) -> Wish | None:
    """A size a good deal larger, by what the example takes: a block of 128 has a second one there."""
    example = inputs.example.get(name)
    if example is None:
        return None
    sizes = [
        size
        for size in _FAR
        if size > example
        and effort * size / max(example, 1) <= _FAR_SECONDS
        and effort * (size / max(example, 1)) ** 2 <= _FAR_SQUARE_SECONDS
        and _asked(inputs, name, size)
    ]
    ways = [way for size in sizes for way in _ways(inputs, {name: size})]
    return _resized(inputs, ways) if ways else None


def larger(inputs: Inputs, effort: float) -> Wish | None:
    """All sizes a good deal larger at once, where that takes no time: a size that is frozen, or a
    question that only small ones answer as the example does, shows itself."""
    ladders = [_Ladder(name, inputs) for name in inputs.example]
    apart: dict[str, int] = {}
    scaled: dict[str, int] = {}
    for ladder in ladders:
        example = inputs.example[ladder.name]
        size = next(
            prime for prime in _primes_above(_TIMES * example) if prime not in apart.values()
        )
        if ladder.allows(size):
            apart[ladder.name] = size
        if ladder.allows(_TIMES * example):
            scaled[ladder.name] = _TIMES * example
    growth = math.prod(size / max(inputs.example[name], 1) for name, size in apart.items())
    ways = [change for change in (apart, scaled) if change]
    return _resized(inputs, ways) if ways and growth * effort <= _LARGER_SECONDS else None


def mixed(inputs: Inputs, effort: float) -> Iterator[Wish]:
    """Sizes drawn for all symbols at once, fewer for a slow model: what one assumes on a side that another
    decides shows itself nowhere else."""
    ladders = [_Ladder(name, inputs) for name in inputs.example]
    varying = [ladder for ladder in ladders if ladder.larger or ladder.smaller]
    if len(varying) < _FEWEST_MIXED or effort > _SLOW_SECONDS:
        return
    chance = random.Random(0)
    for _ in range(_MIXTURES if effort <= _QUICK_SECONDS else _FEWER_MIXTURES):
        yield _resized(inputs, [{ladder.name: ladder.drawn(chance) for ladder in varying}])


def _asked(inputs: Inputs, name: str, size: int) -> bool:
    low, high = inputs.asked.get(name, (1, None))
    return low <= size and (high is None or size <= high)


def remade(name: str, sizes: Mapping[str, int]) -> Case:
    """The case of that name, as a row of a proof has it."""
    number = name.removeprefix(f"{EXAMPLE} ")
    if number != name:
        return Case(name, sizes, Values.EXAMPLE, int(number) - 2)
    turned = retold(name, sizes)
    if turned is not None:
        return turned
    values = {
        EXAMPLE: Values.EXAMPLE,
        OTHER_VALUES: Values.WILD,
        OTHER_VALUES + SHUFFLED: Values.SHUFFLED,
        OTHER_VALUES + NEAR: Values.NEAR,
    }
    values |= {_lone(number): kind for kind, number in LONE.items()}
    resized = Values.REPEATED if name.endswith(REPEATED) else Values.SHUFFLED
    plain, _, moved = name.partition(", ")
    if plain == EXAMPLE and moved:
        return Case(name, sizes, Values.REPEATED)
    return Case(name, sizes, values.get(plain, resized))


def elsewhere(inputs: Inputs, case: Case, effort: float) -> Iterator[Wish]:
    """The values of a case at sizes a good deal larger, and at the smallest: a side of a branch that
    is right at one size may have kept it."""
    ladders = [_Ladder(name, inputs) for name in inputs.example]
    large = [_larger(inputs, ladder, effort) for ladder in ladders]
    small = [{ladder.name: ladder.smaller[0]} for ladder in ladders if ladder.smaller]
    for changes in (large, small):
        together = {name: size for change in changes for name, size in change.items()}
        ways = [together, *changes] if len(changes) > 1 else changes
        moved = (_moved(inputs, case, change) for change in ways if change)
        yield Wish(tuple(one for one in moved if inputs.exist(one.sizes)))


def across(inputs: Inputs, case: Case, sizes: Mapping[str, int]) -> Case:
    """The values of a case at sizes of which something is assumed that does not hold there."""
    change = {name: size for name, size in sizes.items() if size != inputs.example[name]}
    return _moved(inputs, case, change)


def small(inputs: Inputs) -> Iterator[Mapping[str, int]]:
    """All sizes 1, 2 and 3, as far as they may be: counts that a model compares are small."""
    for size in (1, 2, 3):
        allowed = [name for name in inputs.example if _Ladder(name, inputs).allows(size)]
        sizes = inputs.resized(dict.fromkeys(allowed, size))
        if allowed and inputs.exist(sizes):
            yield sizes


def _larger(inputs: Inputs, ladder: _Ladder, effort: float) -> dict[str, int]:
    example = inputs.example[ladder.name]
    threefold = next(_primes_above(_TIMES * example))
    slow = effort * threefold / max(example, 1) > _FAR_SECONDS
    sizes = ladder.larger if slow or not ladder.allows(threefold) else (threefold,)
    return {ladder.name: sizes[0]} if sizes else {}


def _moved(inputs: Inputs, case: Case, change: Mapping[str, int]) -> Case:
    sizes = inputs.resized(change)
    at = ", ".join(f"{symbol}={sizes[symbol]}" for symbol in change)
    values = Values.REPEATED if case.values is Values.EXAMPLE else case.values
    return replace(case, name=f"{case.name}, {at}", sizes=sizes, values=values)


def wishes(inputs: Inputs) -> Iterator[Wish]:
    """All that is worth trying beside the example, what matters most first; other values and a few
    other sizes always."""
    sizes = 0
    for wish in filter(lambda wish: wish.ways, _wishes(inputs)):
        resized = wish.ways[0].sizes != inputs.example
        sizes += resized
        first = sizes <= FEWEST_SIZES if resized else wish.ways[0].name == OTHER_VALUES
        yield replace(wish, always=first)


def _wishes(inputs: Inputs) -> Iterator[Wish]:
    ladders = [_Ladder(name, inputs) for name in inputs.example]
    varying = [ladder for ladder in ladders if ladder.larger or ladder.smaller]
    if varying:
        yield _resized_together(inputs, varying)
    yield Wish(
        tuple(
            Case(OTHER_VALUES + extra, inputs.example, values)
            for extra, values in (
                ("", Values.WILD),
                (SHUFFLED, Values.SHUFFLED),
                (NEAR, Values.NEAR),
            )
        )
    )
    full = inputs.full_windows()
    if full:
        yield _resized(inputs, [full])
    lone = [leaf.value for leaf in inputs.loaded.leaves if is_lone(leaf.value)]
    for values, number in LONE.items():
        if any(int(value) != number for value in lone):
            yield Wish((Case(_lone(number), inputs.example, values),))
    if len(varying) > 1:
        lowest = {ladder.name: ladder.smaller[0] for ladder in varying if ladder.smaller}
        yield _resized(inputs, [lowest])
    for ladder in varying:
        yield _resized(inputs, [{ladder.name: size} for size in ladder.smaller])
    if len(varying) > 1:
        for ladder in varying:
            yield _resized(inputs, [{ladder.name: size} for size in ladder.larger])


def _lone(number: int) -> str:
    return f"whole numbers {number}"


def _resized_together(inputs: Inputs, ladders: list[_Ladder]) -> Wish:
    """Pairwise different sizes show a mixed-up pair; else one factor for all, else one at a time."""
    changes: list[dict[str, int]] = []
    taken: set[int] = set()
    apart: dict[str, int] = {}
    for ladder in ladders:
        size = next((size for size in ladder.sizes() if size not in taken), None)
        if size is not None:
            apart[ladder.name] = size
            taken.add(size)
    changes.append(apart)
    for factor in (2, 3):
        scaled = {ladder.name: inputs.example[ladder.name] * factor for ladder in ladders}
        if all(ladder.allows(scaled[ladder.name]) for ladder in ladders):
            changes.append(scaled)
    for ladder in ladders:
        changes += [{ladder.name: size} for size in (*ladder.larger, *ladder.smaller)]
    distinct = {tuple(change.items()): change for change in changes if change}
    return _resized(inputs, list(distinct.values()))


def _resized(inputs: Inputs, changes: list[dict[str, int]]) -> Wish:
    """Each change with fresh values, and if those lead the model astray, with repeated ones."""
    ways = []
    for change in changes:
        sizes = inputs.resized(change)
        if not inputs.exist(sizes):
            continue
        name = ", ".join(f"{symbol}={sizes[symbol]}" for symbol in change)
        ways.append(Case(name, sizes, Values.SHUFFLED))
        ways.append(Case(name + REPEATED, sizes, Values.REPEATED))
    return Wish(tuple(ways))


class _Ladder:
    """The sizes of one symbol that are worth trying, each way the best first."""

    def __init__(self, name: str, inputs: Inputs) -> None:
        self.name = name
        low, self._upper = inputs.ranges.get(name, (1, None))
        self._lower = max(low, 1)  # an empty tensor proves nothing
        example = self._example = inputs.example[name]
        primes = list(itertools.islice(_primes_above(example), 5))
        larger = [primes[0], 2 * example, 3 * example, example + 1]
        if self._upper is not None and self._upper < 4 * example:  # a far bound may be far too far
            larger.append(self._upper)
        smaller = [1, self._lower, example // 2, example - 1]
        # An example that is already the smallest: a second larger size stands in for a smaller one.
        smaller += [primes[1], 4 * example]
        self._primes = self._chosen(primes, self.allows)
        self.larger = self._chosen(larger, lambda size: size > example)
        self.smaller = self._chosen(smaller, lambda size: size != example)

    def allows(self, size: int) -> bool:
        return self._lower <= size and (self._upper is None or size <= self._upper)

    def sizes(self) -> tuple[int, ...]:
        """One after the other until one is free: primes, which are a factor of nothing, first."""
        return tuple(dict.fromkeys((*self._primes, *self.larger, *self.smaller)))

    def drawn(self, chance: random.Random) -> int:
        """One of the small sizes, or one about the example's."""
        near = (self._example // 2, self._example, 2 * self._example + 1, 3 * self._example)
        return chance.choice(self._chosen([1, 2, 3, 5, 8, *near], self.allows))

    def _chosen(self, sizes: list[int], wanted: Callable[[int], bool]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(size for size in sizes if wanted(size) and self.allows(size)))


def _primes_above(number: int) -> Iterator[int]:
    for candidate in itertools.count(max(number, 1) + 1):
        if all(candidate % divisor for divisor in range(2, math.isqrt(candidate) + 1)):
            yield candidate
