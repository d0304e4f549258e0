"""One wish about one dimension, in any of torch's spellings, as a `DimSpec`.

Reads the private classes behind torch.export.Dim by their attributes; tried on torch 2.13.0 and
2.15.0."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim

from onnxpert.core.types import DimSpec

HINT = type(Dim.AUTO)
WISHES = 'a name such as "batch", a torch.export.Dim, Dim.AUTO, Dim.DYNAMIC, Dim.STATIC or None'
_LINEAR = re.compile(
    r"(?:(?P<scale>\d+)\s*\*\s*)?(?P<root>[A-Za-z_]\w*)(?:\s*\*\s*(?P<times>\d+))?"
    r"(?:\s*(?P<sign>[+-])\s*(?P<offset>\d+))?"
)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a wish cannot be meant for this dimension."""

    text: str


def read_dim(wish: Any, size: int) -> DimSpec | Misfit | None:
    """What was asked of a dimension of this size; None: nothing, it stays as it is."""
    if wish is None or isinstance(wish, HINT):
        return _hint(wish)
    if isinstance(wish, str):
        return _checked(_named(wish), size)
    if isinstance(wish, Dim):
        return _checked(_dim(wish), size)
    if isinstance(wish, torch.SymInt):
        spec = _symbolic(wish)
        return spec if isinstance(spec, Misfit) else _checked(spec, size)
    if isinstance(wish, int) and not isinstance(wish, bool):
        return None if wish == size else Misfit(f"its size is {size}, not {wish}")
    return Misfit(f"{wish!r} is not a dimension; write {WISHES}")


def _hint(hint: Any) -> DimSpec | None:
    kind = "STATIC" if hint is None else hint.type.name
    if kind == "STATIC":
        return None
    return DimSpec(lower=hint.min, upper=hint.max, asked=kind != "AUTO")


def _named(text: str) -> DimSpec:
    """A name, or a name in an expression such as `2*batch + 1`; other text makes a name of it."""
    match = _LINEAR.fullmatch(text.strip())
    if match is None or (match["scale"] and match["times"]):
        return DimSpec(re.sub(r"\W+", "_", text).strip("_"))
    offset = int(match["offset"] or 0) * (-1 if match["sign"] == "-" else 1)
    return DimSpec(match["root"], scale=int(match["scale"] or match["times"] or 1), offset=offset)


def _dim(dim: Any) -> DimSpec:
    """A derived Dim has the bounds of its root: they are what the name may take."""
    root = getattr(dim, "root", dim)
    scale, offset = 1, 0
    if root is not dim:
        offset = int(dim.fn(0))
        scale = int(dim.fn(1)) - offset
    return DimSpec(root.__name__, _bound(root.min), _bound(root.max), scale=scale, offset=offset)


def _symbolic(wish: torch.SymInt) -> DimSpec | Misfit:
    """An IntVar or ShapeVar of torch's ShapesSpec, or an expression of one."""
    node: Any = wish.node
    symbols = list(node.expr.free_symbols)
    if len(symbols) != 1:
        return Misfit(f"{node.expr} ties it to {len(symbols)} dimensions, which cannot be kept")
    polynomial = node.expr.as_poly(symbols[0])
    if polynomial is None or polynomial.degree() != 1:
        return Misfit(f"{node.expr} is not of the form 2*batch + 1")
    scale, offset = polynomial.all_coeffs()
    # torch writes a variable as name#number, "anon" where it has no name.
    name, _, number = str(symbols[0]).partition("#")
    limits = node.shape_env.var_to_range.get(symbols[0])
    return DimSpec(
        f"dim_{number}" if name == "anon" else name,
        _bound(limits and limits.lower),
        _bound(limits and limits.upper),
        scale=int(scale),
        offset=int(offset),
    )


def _bound(value: Any) -> int | None:
    """torch's infinity, and the zero it takes for no lower bound, are no bounds."""
    finite = isinstance(value, int) or getattr(value, "is_Integer", False)
    return int(value) if finite and value > 0 else None


def _checked(spec: DimSpec, size: int) -> DimSpec | Misfit:
    root, rest = divmod(size - spec.offset, spec.scale) if spec.scale > 0 else (0, 1)
    if rest or root < 0:
        return Misfit(f"its size {size} is not {shown(spec)} for any {spec.name}")
    if not (spec.lower or 0) <= root <= (root if spec.upper is None else spec.upper):
        limits = f"{spec.lower or 0}..{'' if spec.upper is None else spec.upper}"
        return Misfit(f"its size {size} is outside {limits}, the range of `{spec.name}`")
    return spec


def root_size(spec: DimSpec, size: int) -> int:
    """The size of the named dimension, from the size of the one that is tied to it."""
    return (size - spec.offset) // spec.scale


def shown(spec: DimSpec) -> str:
    text = spec.name if spec.scale == 1 else f"{spec.scale}*{spec.name}"
    if spec.offset:
        text += f" {'+' if spec.offset > 0 else '-'} {abs(spec.offset)}"
    return text
