"""What an opaque operator's result looks like, learned by running it: at the example, and at other sizes.

An operator without `register_fake` says nothing of its result. At fixed sizes one run tells all; sizes
that vary are tried at two more values, and what follows one of them in the result is taken to follow it
always. The proof, which runs at further sizes, has the last word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

# Added to the sizes that vary, each its own, so that none is taken for another.
_STEPS = ((3, 5, 7, 11, 13, 17), (19, 4, 2, 6, 10, 14))


class UnlearnableError(RuntimeError):
    """The result has a size of which the runs do not tell where it comes from."""


@dataclass(frozen=True, slots=True)
class Varying:
    """A size that varies by itself: as torch has it, and what it is in each run."""

    size: torch.SymInt
    tried: tuple[int, ...]


def learned(call: Callable[[Any], Any], given: Any, real: Any, mode: Any) -> Any:
    """Fake results of a call; `given` holds its fake arguments and `real` the example's, alike.

    `mode` is the FakeTensorMode of `given`. Raises UnlearnableError, and whatever the call does."""
    sizes = _varying(given)
    with _disable_current_modes():
        results = [call(real)]
        if sizes:
            results += [call(_resized(given, real, sizes, run)) for run in (1, 2)]
        structure = pytree.tree_structure(results[0])
        leaves = [pytree.tree_leaves(result) for result in results]
        if len({len(each) for each in leaves}) > 1:
            raise UnlearnableError("the number of results varies")
        return pytree.tree_unflatten(
            [_as_fake(alike, sizes, mode) for alike in zip(*leaves, strict=True)], structure
        )


def _varying(given: Any) -> dict[Any, Varying]:
    found: dict[Any, Varying] = {}
    expressions = [size.node.expr for size in _sizes(given)]
    for size in _sizes(given):
        expr, hint = size.node.expr, int(size.node.hint)
        if expr.is_Symbol and expr not in found:
            steps = [each[len(found) % len(each)] for each in _STEPS]
            found[expr] = Varying(size, (hint, *(hint + step for step in steps)))
    if any(not expr.free_symbols <= found.keys() for expr in expressions):
        raise UnlearnableError("a size is made of others that are not there")
    return found


def _sizes(given: Any) -> Iterator[torch.SymInt]:
    for leaf in pytree.tree_leaves(given):
        dimensions: Sequence[Any] = leaf.shape if isinstance(leaf, torch.Tensor) else [leaf]
        yield from (size for size in dimensions if isinstance(size, torch.SymInt))


def _resized(given: Any, real: Any, sizes: Mapping[Any, Varying], run: int) -> Any:
    """The example again and again along the sizes that vary, cut where the other size ends."""
    other = {symbol: one.tried[run] for symbol, one in sizes.items()}

    def resize(fake: Any, value: Any) -> Any:
        if isinstance(fake, torch.SymInt):
            return int(fake.node.expr.subs(other))
        if isinstance(fake, torch.Tensor):
            for axis, size in enumerate(fake.shape):
                if isinstance(size, torch.SymInt):
                    places = torch.arange(int(size.node.expr.subs(other))) % value.shape[axis]
                    value = value.index_select(axis, places)
        return value

    fakes, structure = pytree.tree_flatten(given)
    pairs = zip(fakes, pytree.tree_leaves(real), strict=True)
    return pytree.tree_unflatten([resize(fake, value) for fake, value in pairs], structure)


def _as_fake(alike: Sequence[Any], sizes: Mapping[Any, Varying], mode: Any) -> Any:
    """What stands for one result, seen in every run."""
    if not isinstance(alike[0], torch.Tensor):
        return alike[0]
    if len({(value.dim(), value.dtype) for value in alike}) > 1:
        raise UnlearnableError("the rank or the dtype of a result varies")
    shape = [_source(seen, sizes) for seen in zip(*(value.shape for value in alike), strict=True)]
    with mode:
        return torch.empty(tuple(shape), dtype=alike[0].dtype)


def _source(seen: Sequence[int], sizes: Mapping[Any, Varying]) -> Any:
    """What came out as `seen`, in the order of the runs: `times * size + rest` of one of them."""
    if len(set(seen)) == 1:
        return seen[0]
    for one in sizes.values():
        times, left = divmod(seen[1] - seen[0], one.tried[1] - one.tried[0])
        rest = seen[0] - times * one.tried[0]
        if left == 0 and seen[2] == times * one.tried[2] + rest:
            return one.size * times + rest
    raise UnlearnableError(f"a size is {', '.join(map(str, seen))} in turn")
