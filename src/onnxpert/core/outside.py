"""Functions of other libraries that a line calls, by the names under which its file imports them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.core.syntax import nodes_of
from onnxpert.core.types import Location

# What is written with torch's operators, or goes on with whatever it is given.
_FOLLOWED = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "transformers", "timm", "einops", "numpy", "math"),
        *("functools", "itertools", "operator", "collections", "copy", "typing", "contextlib"),
        *("warnings", "dataclasses", "random", "onnxpert"),
    }
)


def called_outside(place: Location | None) -> str | None:
    """`scipy.optimize.brentq`, where a place calls that; None where all that it calls may be followed."""
    if place is None:
        return None
    known = dict(_imports(place.file))
    for node in nodes_of(place.file):
        if isinstance(node, ast.Call) and node.lineno <= place.line <= (node.end_lineno or 0):
            names = _dotted(node.func)
            full = [known[names[0]], *names[1:]] if names and names[0] in known else []
            if full and full[0].partition(".")[0] not in _FOLLOWED:
                return ".".join(full)
    return None


def _imports(file: str) -> Iterator[tuple[str, str]]:
    """The names of what is imported, each with what it stands for; of `import a.b`, `a` for itself."""
    for node in nodes_of(file):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield (
                    one.asname or one.name.partition(".")[0],
                    (one.name if one.asname else one.name.partition(".")[0]),
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                yield one.asname or one.name, f"{node.module}.{one.name}"


def _dotted(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        above = _dotted(node.value)
        return [*above, node.attr] if above else []
    return []
