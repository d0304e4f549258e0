"""How the slots are found that hold what every turn of a loop, or either side of a branch, gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import NUMBERS, UNDEFINED, Grown, Seen, is_list, same_value
from onnxpert.capture.written.looks import Look, look
from onnxpert.capture.written.pages import same_size, symbols
from onnxpert.capture.written.slots import (
    Again,
    Columns,
    FirstTurnError,
    Growing,
    Lost,
    Many,
    Maybe,
    One,
    Same,
    Slot,
    Text,
)
from onnxpert.capture.written.texts import TEXTS
from onnxpert.capture.written.tuples import Tuples, column, kind_of


def widened(slot: Slot | None, start: Seen, end: Seen, known: set[Any]) -> Slot:
    """The slot that holds what it held before, what a loop begins with and what a turn leaves."""
    start.made = None
    if isinstance(slot, Lost):
        return slot
    if isinstance(slot, Again):
        return _again(start, end)
    if isinstance(slot, (Growing, Columns)):
        return _growing(start, end, known, slot)
    if isinstance(slot, Many):
        return _many(slot, start, end, known)
    return _of_one(slot, start, end, known)


def _of_one(slot: Slot | None, start: Seen, end: Seen, known: set[Any]) -> Slot:
    """Of what is no container, or of what nothing is known yet."""
    if isinstance(slot, One):
        return _one(slot, start.value, end.value, known)
    if isinstance(slot, Text):
        return _of_values(UNDEFINED, end.value, known)
    return _between(start, end, known)


def either(yes: Seen, no: Seen, known: set[Any]) -> Slot:
    """The slot that holds what one or the other side of a branch gives."""
    return _of_one_type(widened(None, yes, no, known), yes, no)


def _of_one_type(slot: Slot, yes: Seen, no: Seen) -> Slot:
    """Two types do not become one: the file would give the wider for either."""
    if isinstance(slot, Many) and not isinstance(slot, Columns):
        pairs = zip(slot.parts, yes.inner or (), no.inner or (), strict=False)
        slot.parts[:] = [_of_one_type(*three) for three in pairs] or slot.parts
    values = [each.value for each in (yes, no) if isinstance(each.value, torch.Tensor)]
    return Lost() if len({value.dtype for value in values}) > 1 else slot


def _between(start: Seen, end: Seen, known: set[Any]) -> Slot:
    start.made = None
    a, b = start.value, end.value
    if start.first is not None or end.first is not None:
        # What a turn begins without need not go by that name in the next.
        return Lost() if start.value is UNDEFINED else _again(start, end)
    if start.inner is not None and end.inner is not None and _is_alike(start, end):
        parts = [_between(x, y, known) for x, y in zip(start.inner, end.inner, strict=True)]
        unchanged = a is b and all(isinstance(part, Same) for part in parts)
        return Same(start) if unchanged else Many(start, parts, a is b)
    if is_list(a) and is_list(b):
        return _growing(start, end, known, None)
    if same_value(a, b):
        if start.keys != end.keys:
            raise UnwritableError(f"a {type(a).__name__} changes")
        return Same(start)
    if start.inner is not None or end.inner is not None:
        return _with_nothing(start, end, known)
    return _of_values(a, b, known)


def _again(start: Seen, end: Seen) -> Again:
    """Nothing but the first name says what becomes of it, as long as it is the same all along."""
    if start.first is None or end.first is None or start.first.number != end.first.number:
        raise UnwritableError("a list goes by two names on one way and not on another")
    return Again(start.first)


def _of_values(a: Any, b: Any, known: set[Any]) -> Slot:
    """Two that are no containers, and not the same."""
    plain = [x is UNDEFINED or isinstance(x, (torch.Tensor, *NUMBERS)) for x in (a, b)]
    if all(plain):
        return _one(None, a, b, known)
    if all(x is UNDEFINED or isinstance(x, TEXTS) for x in (a, b)):
        return Text()
    if a is not UNDEFINED and b is not UNDEFINED and (a is None or b is None):
        one = _of_values(UNDEFINED, b if a is None else a, known)
        if isinstance(one, One) and one.number is None:
            return Maybe(one, a is None)
        raise FirstTurnError("a variable is None at first and something else later")
    return Lost()


def _with_nothing(start: Seen, end: Seen, known: set[Any]) -> Slot:
    if start.value is None or end.value is None:
        raise FirstTurnError("a variable is None at first and something else later")
    whole = end if start.value is UNDEFINED else start
    other = start if whole is end else end
    if other.value is not UNDEFINED or not isinstance(whole.value, tuple):
        return Lost()
    return Many(whole, [_between(Seen(UNDEFINED), one, known) for one in whole.inner or ()])


def _is_alike(a: Seen, b: Seen) -> bool:
    if a.kind is not b.kind or a.keys != b.keys or isinstance(a.value, Grown):
        return False
    return len(a.inner or ()) == len(b.inner or ())


def _many(slot: Many, start: Seen, end: Seen, known: set[Any]) -> Slot:
    if end.value is UNDEFINED or not _is_alike(slot.old, end):
        if is_list(slot.old.value) and is_list(end.value):
            return _growing(start, end, known, None)
        return Lost()
    starts = start.inner
    if starts is None:
        starts = tuple(Seen(UNDEFINED) for _ in slot.parts)
    parts = [
        widened(part, a, b, known)
        for part, a, b in zip(slot.parts, starts, end.inner or (), strict=True)
    ]
    return Many(slot.old, parts, slot.same and slot.old.value is end.value)


def _one(slot: One | None, a: Any, b: Any, known: set[Any]) -> Slot:
    values = [x for x in (a, b) if x is not UNDEFINED]
    tensors = [x for x in values if isinstance(x, torch.Tensor)]
    if slot is not None and slot.number is None and not tensors:
        tensors = []
    if not all(isinstance(x, (torch.Tensor, *NUMBERS)) for x in values):
        if any(x is None for x in values):
            raise FirstTurnError("a variable is None at first and something else later")
        return Lost()
    if not tensors:
        return slot if slot is not None else _number(values)
    # What Python begins with as a number has the shape that a turn gives it.
    found = slot.look if slot is not None and slot.number is None else look(tensors[-1], known)
    for tensor in tensors:
        if tensor.dim() > len(found.sizes) == 0 and slot is not None and slot.number is not None:
            found = look(tensor, known)
        found = found.over(tensor, known)
    return One(found)


def _number(values: Sequence[Any]) -> One:
    if all(isinstance(x, (bool, torch.SymBool)) for x in values):
        return One(Look(torch.bool, ()))
    if any(isinstance(x, (float, torch.SymFloat)) for x in values):
        return One(Look(torch.float64, ()), float)
    return One(Look(torch.int64, ()), int)


def _growing(start: Seen, end: Seen, known: set[Any], slot: Slot | None) -> Slot:
    if not is_list(end.value):
        return Lost()
    tuples = kind_of(start, end)
    if tuples is not None:
        return _columns(start, end, known, slot, tuples)
    grown = [x for x in (start, end) if isinstance(x.value, Grown)]
    if grown and grown[-1].keys != (None,):
        (axis,) = grown[-1].keys or (None,)
        rows = (grown[-1].inner or ())[0].value
        sizes: list[Any] = list(rows.shape[1:])
        sizes.insert(axis, None)
        return _one_list(
            Growing(Look(rows.dtype, tuple(sizes)), grown[-1].value.number, axis), start, end
        )
    looks: list[Look] = [slot.item] if isinstance(slot, Growing) else []
    items = [
        one.value for x in (start, end) if not isinstance(x.value, Grown) for one in x.inner or ()
    ]
    for one in grown:
        rows = (one.inner or ())[0].value
        looks.append(_known_only(Look(rows.dtype, tuple(rows.shape[1:])), known))
    if not all(isinstance(item, (torch.Tensor, *NUMBERS)) for item in items):
        raise UnwritableError("a list holds more than tensors and numbers")
    numbers = not any(isinstance(item, torch.Tensor) for item in items)
    number = grown[0].value.number if grown else numbers
    for item in items:
        tensor_look = look(item, known) if isinstance(item, torch.Tensor) else _number([item]).look
        looks.append(tensor_look)
    found = looks[0]
    for other in looks[1:]:
        found = _over(found, other)
    open_axes = [axis for axis, size in enumerate(found.sizes) if size is None]
    return _one_list(Growing(found, number, open_axes[0] if open_axes else None), start, end)


def _columns(
    start: Seen, end: Seen, known: set[Any], slot: Slot | None, tuples: tuple[type, int]
) -> Slot:
    kind, width = tuples
    before = slot.parts if isinstance(slot, Columns) else [None] * width
    parts = [
        _growing(column(start, place), column(end, place), known, before[place])
        for place in range(width)
    ]
    same = isinstance(start.value, Tuples) and start.value is end.value
    return Columns(start, parts, same, kind)


def _one_list(slot: Growing, start: Seen, end: Seen) -> Growing:
    slot.old = start
    limits = {_limit(one.value) for one in (start, end) if one.value is not UNDEFINED}
    if len(limits) > 1:
        raise UnwritableError("a list takes the place of a deque")
    (slot.limit,) = limits
    slot.same = isinstance(start.value, Grown) and start.value is end.value
    return slot


def _limit(value: Any) -> int | None:
    limit: int | None = getattr(value, "limit" if isinstance(value, Grown) else "maxlen", None)
    return limit


def _known_only(found: Look, known: set[Any]) -> Look:
    sizes = tuple(size if symbols(size) <= known else None for size in found.sizes)
    return Look(found.dtype, sizes)


def _over(one: Look, other: Look) -> Look:
    if len(one.sizes) != len(other.sizes):
        raise UnwritableError("the items of a list differ in their number of axes")
    sizes = tuple(
        a if a is not None and b is not None and same_size(a, b) else None
        for a, b in zip(one.sizes, other.sizes, strict=True)
    )
    return Look(torch.promote_types(one.dtype, other.dtype), sizes)
