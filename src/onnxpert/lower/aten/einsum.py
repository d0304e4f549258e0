"""Einstein sums, taken apart into the matrix products they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linear import in_wide, matmul
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Term:
    """A tensor with a label for each of its axes; the axes of an ellipsis are named `...N`."""

    value: ir.Value
    labels: tuple[str, ...]


@lowering(aten.einsum.default)
def einsum(
    op: Emitter,
    equation: str,
    tensors: Sequence[ir.Value],
    path: Sequence[int] | None = None,
) -> ir.Value:
    sides = equation.replace(" ", "").split("->")
    written = [
        _spelled(side, op.rank(value))
        for side, value in zip(sides[0].split(","), tensors, strict=True)
    ]
    wanted = _output(sides, written)
    terms = [
        _without_repeats(op, Term(value, labels))
        for value, labels in zip(tensors, written, strict=True)
    ]
    terms = _without_broadcast(op, terms)
    steps = iter(path or ())
    while len(terms) > 1:
        first, second = sorted((next(steps, 0), next(steps, 1)))
        right, left = terms.pop(second), terms.pop(first)
        needed = {*wanted, *(label for term in terms for label in term.labels)}
        result = _contracted(op, left, right, needed, wanted)
        terms.insert(len(terms) if path else 0, result)
    only = _summed(op, terms[0], set(wanted))
    return _ordered(op, only, wanted).value


# ---- the equation --------------------------------------------------------------------------


def _spelled(side: str, rank: int) -> tuple[str, ...]:
    """The labels of one operand, its ellipsis counted from the right."""
    before, dots, after = side.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise Refusal(f"the equation names {len(before) + len(after)} axes of a {rank}-d tensor")
    return (*before, *(f"...{axis}" for axis in range(-hidden, 0)), *after)


def _output(sides: Sequence[str], written: Sequence[Sequence[str]]) -> tuple[str, ...]:
    everything = [label for labels in written for label in labels]
    hidden = sorted(
        {label for label in everything if len(label) > 1}, key=lambda label: int(label[3:])
    )
    if len(sides) == 1:  # implicit: what stands once, in alphabetical order
        once = sorted(label for label in set(everything) if everything.count(label) == 1)
        return (*hidden, *(label for label in once if len(label) == 1))
    before, dots, after = sides[1].partition("...")
    return (*before, *(hidden if dots else ()), *after)


# ---- one operand ---------------------------------------------------------------------------


def _without_repeats(op: Emitter, term: Term) -> Term:
    """`ii` reads a diagonal."""
    unique = tuple(dict.fromkeys(term.labels))
    if len(unique) == len(term.labels):
        return term
    letters = {label: chr(ord("a") + index) for index, label in enumerate(unique)}
    left = "".join(letters[label] for label in term.labels)
    right = "".join(letters[label] for label in unique)
    sizes = dict(zip(term.labels, op.shape(term.value), strict=True))
    value = in_wide(op, lambda x: op.Einsum(x, equation=f"{left}->{right}"), term.value)
    return Term(op.describe(value, [sizes[label] for label in unique]), unique)


def _without_broadcast(op: Emitter, terms: Sequence[Term]) -> list[Term]:
    """An axis of size one that meets a longer one under its label is no axis at all."""
    sizes: dict[str, list[Size]] = {}
    for term in terms:
        for label, size in zip(term.labels, op.shape(term.value), strict=True):
            sizes.setdefault(label, []).append(size)
    wide = {label for label, found in sizes.items() if any(not _is_one(size) for size in found)}
    result = []
    for term in terms:
        shape = op.shape(term.value)
        gone = [i for i, label in enumerate(term.labels) if label in wide and _is_one(shape[i])]
        kept = tuple(label for i, label in enumerate(term.labels) if i not in gone)
        result.append(Term(op.squeeze(term.value, *gone), kept) if gone else term)
    return result


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def _summed(op: Emitter, term: Term, needed: Collection[str]) -> Term:
    axes = [axis for axis, label in enumerate(term.labels) if label not in needed]
    if not axes:
        return term
    total = in_wide(op, lambda x: op.reduce("ReduceSum", x, axes, False), term.value)
    return Term(total, tuple(label for label in term.labels if label in needed))


def _ordered(op: Emitter, term: Term, labels: Sequence[str]) -> Term:
    order = [term.labels.index(label) for label in labels]
    return Term(op.Transpose(term.value, perm=order) if order else term.value, tuple(labels))


# ---- two operands --------------------------------------------------------------------------


def _contracted(
    op: Emitter, a: Term, b: Term, needed: Collection[str], wanted: Sequence[str]
) -> Term:
    a = _summed(op, a, {*needed, *b.labels})
    b = _summed(op, b, {*needed, *a.labels})
    shared = [label for label in _sorted(a.labels, wanted) if label in b.labels]
    summed = [label for label in shared if label not in needed]
    if not summed:
        return _multiplied(op, a, b, wanted)
    if _place(b, shared, wanted) < _place(a, shared, wanted):
        a, b = b, a  # so that the result comes out in the order asked for
    # As the second operand has them: it is the one that is best left as it lies.
    summed = [label for label in b.labels if label in summed]
    batch = [label for label in shared if label in needed]
    rows = _sorted([label for label in a.labels if label not in shared], wanted)
    columns = _sorted([label for label in b.labels if label not in shared], wanted)
    left = _ordered(op, a, [*batch, *rows, *summed])
    right = _ordered(op, b, [*batch, *summed, *columns])
    return _matrix_product(op, left, right, batch, rows, columns, summed)


def _sorted(labels: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """In the order of the result, where it says one."""
    return sorted(labels, key=lambda one: wanted.index(one) if one in wanted else len(wanted))


def _place(term: Term, shared: Sequence[str], wanted: Sequence[str]) -> int:
    own = [wanted.index(label) for label in term.labels if label not in shared and label in wanted]
    return min(own, default=len(wanted))


def _multiplied(op: Emitter, a: Term, b: Term, wanted: Sequence[str]) -> Term:
    labels = _sorted(list(dict.fromkeys((*a.labels, *b.labels))), wanted)

    def aligned(term: Term) -> ir.Value:
        placed = _ordered(op, term, [label for label in labels if label in term.labels]).value
        first = min((labels.index(label) for label in term.labels), default=len(labels))
        # Axes before its first one broadcast by themselves.
        gaps = [i - first for i in range(first, len(labels)) if labels[i] not in term.labels]
        return op.unsqueeze(placed, *gaps) if gaps else placed

    return Term(in_wide(op, op.Mul, aligned(a), aligned(b)), tuple(labels))


def _matrix_product(
    op: Emitter,
    left: Term,
    right: Term,
    batch: Sequence[str],
    rows: Sequence[str],
    columns: Sequence[str],
    summed: Sequence[str],
) -> Term:
    sizes = dict(zip(left.labels, op.shape(left.value), strict=True))
    sizes |= dict(zip(right.labels, op.shape(right.value), strict=True))
    labels = (*batch, *rows, *columns)
    a, b = left.value, right.value
    if len(summed) == 1 and not batch and len(columns) <= 1:  # any number of rows broadcasts
        return Term(matmul(op, a, b), labels)
    if len(summed) == 1 and len(rows) == 1 and len(columns) == 1:
        return Term(matmul(op, a, b), labels)
    outer = [sizes[label] for label in batch]
    depth = product([sizes[label] for label in summed])
    a = op.reshape(a, (*outer, product([sizes[label] for label in rows]), depth))
    b = op.reshape(b, (*outer, depth, product([sizes[label] for label in columns])))
    result = matmul(op, a, b)
    return Term(op.reshape(result, [sizes[label] for label in labels]), labels)
