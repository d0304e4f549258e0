"""Calls that raise for the sizes of what they are given, with tensors cut or stretched until they may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass(frozen=True, slots=True)
class Way:
    """Axes of the arguments, each by the argument's place and its own, and the size they get; or the
    place of a number, which gets it."""

    axes: Sequence[tuple[int, int | None]]
    size: int

    def taken(self, args: Any) -> Any:
        """The arguments with those sizes."""
        changed, spec = pytree.tree_flatten(tuple(args))
        for place, axis in self.axes:
            changed[place] = (
                self.size if axis is None else _stretched(changed[place], axis, self.size)
            )
        return pytree.tree_unflatten(changed, spec)


def ways(args: Any, fixed: Set[int] = frozenset()) -> Iterator[Way]:
    """The sizes of one tensor changed to others that are there: all that are fixed, one, or two."""
    flat = pytree.tree_leaves(tuple(args))
    slots = [
        (place, axis)
        for place, each in enumerate(flat)
        for axis in range(each.dim() if isinstance(each, torch.Tensor) else 0)
    ]
    sizes = {flat[place].shape[axis] for place, axis in slots} - {0, 1}
    pairs = [(a, b) for a in slots for b in slots if a[0] == b[0] and a[1] < b[1]]
    held = [slot for slot in slots if flat[slot[0]].shape[slot[1]] in fixed]
    whole = [
        [one for one in held if one[0] == place] for place in dict.fromkeys(p for p, _ in held)
    ]
    # What came later in a call is more often the table or the mask.
    singles = [[slot] for slot in reversed(slots)]
    for chosen in (*reversed(whole), *singles, *reversed(pairs)):
        for size in sorted(sizes, key=lambda each: (each in fixed, each)):
            yield Way(chosen, size)


def numbers_left_out(args: Any) -> Iterator[Way]:
    """Each number in turn as the one that torch works out by itself: `x.view(2, -1, 4)`."""
    for place, each in enumerate(pytree.tree_leaves(tuple(args))):
        if type(each) is int:
            yield Way([(place, None)], -1)


def _stretched(tensor: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    index = torch.arange(size).clamp(max=max(tensor.shape[axis] - 1, 0))
    return tensor.index_select(axis, index) if tensor.shape[axis] else tensor
