"""One random program: the source of a module, drawn from the grammar by a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from conformance.drawn import Program
from conformance.flows.grammar import BEGINNINGS, ENDINGS, INPUTS, INSIDE, MODULE, PHRASES

_GAP = re.compile(r"\{(\w+)\}")
_DEEPEST = 3  # blocks in each other
_LONGEST = 3  # statements of a block
_WEIGHTS = {"assignment": 9, "writing": 4, "branch": 6, "loop": 3}
_PARAMETERS = ("a", "b", "v", "s", "n")  # of a helper
_INDENT = "    "


def draw(seed: int) -> Program:
    """The program of a seed; the same on every machine."""
    draft = _Draft(random.Random(seed))
    lines = draft.forward()
    head = MODULE.replace("{seed}", str(seed))
    text = "".join(f"{_INDENT}{line}".rstrip() + "\n" for line in ("", *draft.helpers, *lines))
    return Program(seed, head + text, draft.inputs, len(head.splitlines()) + 1)


@dataclass(slots=True)
class _Draft:
    """A program in the making."""

    chance: random.Random
    inputs: tuple[str, ...] = ()
    helpers: list[str] = field(default_factory=list)
    helper: str = ""
    names: int = 0
    left: int = 0  # statements that may still be drawn
    depth: int = 0
    loops: list[str | None] = field(default_factory=list)  # each loop around, by its index
    early: str = "return a.sum(0) + v, s"
    helping: bool = False

    def forward(self) -> list[str]:
        body = self._body(self.chance.randint(2, 6))
        lines = self._begun([*body, "return a.sum(0) + b.mean(0) + v, s"], dict(BEGINNINGS))
        self.inputs = tuple(name for name in INPUTS if name == "x" or _mentions(lines, name))
        return [f"def forward(self, {', '.join(self.inputs)}):", *_indented(lines)]

    def _helper(self) -> str:
        """The program's one other method, by its name."""
        if self.helpers:
            return self.helper
        name = self._name("help")
        inner = _Draft(self.chance, names=self.names, early="return v * 0.5", helping=True)
        body = inner._body(self.chance.randint(1, 3))
        starts = INSIDE | {key: text for key, text in BEGINNINGS.items() if key not in _PARAMETERS}
        lines = inner._begun([*body, "return v * limit"], starts)
        self.names, self.helper = inner.names, name
        given = ", ".join(_PARAMETERS)
        self.helpers += [f"def {name}(self, {given}, limit=0.3):", *_indented(lines), ""]
        return name

    def _body(self, statements: int) -> list[str]:
        self.left = statements
        lines: list[str] = []
        while self.left > 0:
            lines += self._statement()
        for name, ending in ENDINGS.items():
            if _mentions(lines, name):
                lines += ending.splitlines()
        return lines

    def _begun(self, lines: list[str], beginnings: dict[str, str]) -> list[str]:
        for name, beginning in reversed(beginnings.items()):
            if _mentions(lines, name):
                lines = [self._filled(beginning), *lines]
        return lines

    def _statement(self) -> list[str]:
        self.left -= 1
        weights = dict(_WEIGHTS)
        if self.loops:
            weights["leaving"] = 2
        if self.depth >= _DEEPEST or self.left < 1:
            weights = {"assignment": 2, "writing": 1}
        kind = self.chance.choices(list(weights), list(weights.values()))[0]
        return list(self._written(self._phrase(kind)))

    def _block(self) -> list[str]:
        self.depth += 1
        lines = [
            line for _ in range(self.chance.randint(1, _LONGEST)) for line in self._statement()
        ]
        self.depth -= 1
        return lines

    def _loop(self, index: str | None) -> list[str]:
        self.loops.append(index)
        lines = self._block()
        self.loops.pop()
        return lines

    def _written(self, phrase: str) -> Iterator[str]:
        """The lines of a statement, with those of the blocks in it."""
        own = {"new": self._name("c"), "index_name": self._name("i")}
        for line in phrase.splitlines():
            text = line.lstrip()
            match text:
                case "{block}":
                    inner = self._block()
                case "{body}":
                    inner = self._loop(own["index_name"])
                case "{turns}":
                    inner = self._loop(None)
                case "{statement}":
                    inner = self._statement()
                case "{return}":
                    inner = [self.early]
                case _:
                    inner = [self._filled(text, own)]
            yield from _indented(inner, line[: len(line) - len(text)])

    def _phrase(self, kind: str, *, plain: bool = False) -> str:
        """One that can be said here; a plain one has no other phrase in it."""
        index = next((name for name in reversed(self.loops) if name), None)
        usable = [
            phrase
            for phrase in PHRASES[kind]
            if (index or "{i}" not in phrase)
            and not (self.helping and "{helper}" in phrase)
            and not (plain and any(gap in PHRASES for gap in _GAP.findall(phrase)))
        ]
        return self.chance.choice(usable)

    def _filled(self, text: str, own: dict[str, str] | None = None, depth: int = 0) -> str:
        def fill(match: re.Match[str]) -> str:
            gap = match[1]
            if own and gap in own:
                return own[gap]
            if gap == "c":
                return f"{self.chance.uniform(-0.9, 0.9):.2f}"
            if gap == "d":
                return str(self.chance.randrange(3))
            if gap == "i":
                return next(name for name in reversed(self.loops) if name)
            if gap == "helper":
                return self._helper()
            return self._filled(self._phrase(gap, plain=depth > 1), own, depth + 1)

        return _GAP.sub(fill, text)

    def _name(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"


def _indented(lines: Iterable[str], by: str = _INDENT) -> list[str]:
    return [f"{by}{line}".rstrip() for line in lines]


def _mentions(lines: Iterable[str], name: str) -> bool:
    return any(re.search(rf"(?<![\w.\"]){name}(?![\w\"])", line) for line in lines)
