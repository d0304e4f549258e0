"""Unique names, kept as close as possible to the ones that were asked for."""

from __future__ import annotations


class Names:
    """Hands out each name once; the second asker gets a numbered one."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self._taken: set[str] = set(taken or ())
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        self._taken.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def unique(self, wish: str) -> str:
        if wish not in self._taken:
            self._taken.add(wish)
            return wish
        number = self._next.get(wish, 1)
        while f"{wish}_{number}" in self._taken:
            number += 1
        self._next[wish] = number + 1
        name = f"{wish}_{number}"
        self._taken.add(name)
        return name
