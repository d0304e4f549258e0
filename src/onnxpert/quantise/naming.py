"""Names that nobody else gives: ONNX Runtime's quantiser makes new ones by appending to old ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

_TOKEN = re.compile(r"@(\d+)@")


class Tokens:
    """Every name of a graph as a token, and back; `x_scale` of the user's can then not be taken."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._tokens: dict[str, str] = {}

    def token(self, name: str) -> str:
        """The one of this name, the same each time; none has none."""
        if name and name not in self._tokens:
            self._tokens[name] = f"@{len(self._names)}@"
            self._names.append(name)
        return self._tokens[name] if name else ""

    def fresh(self, name: str) -> str:
        """A token that stands for a second thing of that name."""
        self._names.append(name)
        return f"@{len(self._names) - 1}@"

    def name(self, text: str) -> str:
        """What a token, or a name made of tokens, stands for."""
        return _TOKEN.sub(lambda found: self._names[int(found[1])], text)

    @staticmethod
    def rank(text: str) -> tuple[bool, int, str]:
        """The user's own names before what was made of them, the older before the newer."""
        found = _TOKEN.fullmatch(text)
        return (False, int(found[1]), "") if found else (True, 0, text)

    @staticmethod
    def first(text: str) -> str:
        """The token that a name was made of, or "" for a name of another's."""
        found = _TOKEN.search(text)
        return found[0] if found else ""


def renamed(graph: onnx.GraphProto, change: Callable[[str], str]) -> None:
    """Every value's name in a graph and in the bodies inside it, changed in place."""
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = change(value.name)
    for node in graph.node:
        rename_node(node, change)


def rename_node(node: onnx.NodeProto, change: Callable[[str], str]) -> None:
    inputs, outputs = [change(name) for name in node.input], [change(name) for name in node.output]
    del node.input[:], node.output[:]
    node.input.extend(inputs)
    node.output.extend(outputs)
    for body in bodies(node):
        renamed(body, change)


def bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def every_node(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Those of a graph and of all bodies inside it."""
    for node in graph.node:
        yield node
        for body in bodies(node):
            yield from every_node(body)
