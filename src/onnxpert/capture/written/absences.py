"""What is None on one side of a branch and a tensor on the other: either, until the model asks which.

Such a variable goes on as a tensor, of which nothing is true where it is None. `x is None` is then what
the branch was about; on either side of an `if` that asks, it is the one or the other. Nobody may use it
who has not asked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import sympy
import torch

from onnxpert.capture.written.exits import UnwritableError


class UnaskedError(UnwritableError):
    """Something is used that may be None."""


Fact: TypeAlias = tuple[Any, bool]  # a tensor or a symbol, and what it is


class Absences:
    """The tensors that may be None, and what is known where the model stands."""

    def __init__(self) -> None:
        self._when: dict[int, tuple[torch.Tensor, Fact]] = {}  # by id; it is None if the fact holds
        self._facts: list[Fact] = []
        self._follows: list[tuple[Fact, Fact]] = []  # from the one, the other

    def note(self, tensor: torch.Tensor, truth: Any, when: bool) -> None:
        self._when[id(tensor)] = (tensor, (truth, when))

    def follows(self, made: Any, answer: bool, truth: Any, then: bool) -> None:
        """If `made` is the answer, `truth` is something too."""
        if self._when:
            self._follows.append(((made, answer), (truth, then)))

    @contextmanager
    def given(self, truth: Any, answer: bool) -> Iterator[None]:
        """The side of a branch on which that is the answer."""
        depth = len(self._facts)
        self._facts.append((truth, answer))
        for fact in itertools.islice(self._facts, depth, None):  # which grows
            self._facts += [then for one, then in self._follows if _held(fact, one) is True]
        try:
            yield
        finally:
            del self._facts[depth:]

    def is_none(self, value: Any) -> Any:
        """Whether it is: a tensor or a symbol, and the answer that says so, where nobody knows."""
        if (found := self._of(value)) is None:
            return value is None
        known = [held for fact in self._facts if (held := _held(fact, found)) is not None]
        return known[0] if known else found

    def settled(self, value: Any) -> Any:
        """What it is, as far as that is known here."""
        return None if self._of(value) is not None and self.is_none(value) is True else value

    def check(self, values: Iterable[Any]) -> None:
        """Raises where one of them is used and may be None."""
        if self._when and any(self._of(value) and self.is_none(value) for value in _flat(values)):
            raise UnaskedError("a variable is used that may be None")

    def _of(self, value: Any) -> Fact | None:
        found = self._when.get(id(value)) if isinstance(value, torch.Tensor) else None
        return None if found is None else found[1]


def _held(fact: Fact, asked: Fact) -> bool | None:
    """Whether what is asked is so, if the fact is; None: it does not say."""
    (one, is_so), (other, answer) = fact, asked
    if isinstance(one, torch.SymBool) and isinstance(other, torch.SymBool):
        if one.node.expr == other.node.expr:
            return is_so == answer
        return is_so != answer if one.node.expr == sympy.Not(other.node.expr) else None
    return is_so == answer if one is other else None


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value
