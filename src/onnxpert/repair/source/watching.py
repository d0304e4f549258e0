"""What expressions were when the model ran: its source with every expression noted, run once.

Nobody can tell from `x[0]` whether it is a tensor or an entry of a list; a run can."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

NOTE = "__onnxpert_note__"
Place: TypeAlias = tuple[str, int, int, int, int]  # file, first and last line and column


_FEW = 256  # elements of a list that are looked at


class Kind(StrEnum):
    """What an expression was."""

    TENSOR = "tensor"
    ARRAY = "array"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    LAYER = "layer"
    TENSORS = "tensors"
    NUMBERS = "numbers"
    VALUES = "values"  # numbers, and tensors of one value each
    MAKER = "maker"
    OTHER = "other"


# What torch makes of Python's numbers.
_DTYPES = {Kind.FLOAT: "float32", Kind.INT: "int64", Kind.BOOL: "bool"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A value that was there: of a tensor also its shape and dtype, of a layer its weights' dtype,
    of torch.FloatTensor and its kin the dtype of what they make, of a list that holds nothing but
    tensors how deep in lists they are, of one of numbers the shape and dtype of a tensor of them."""

    kind: Kind
    shape: tuple[int, ...] = ()
    dtype: str = ""
    depth: int = 0
    keys: tuple[int, ...] = ()  # of a list or a dict of anything else
    open: tuple[int, ...] = ()  # of an input: the axes whose sizes the example only happens to have


class Notes:
    """Everything that was seen while it was on."""

    def __init__(self) -> None:
        self.seen: dict[Place, list[Seen]] = {}
        self.on = False
        self.inputs: Mapping[int, tuple[int, ...]] = {}  # id -> axes

    def __call__(self, place: Place, value: Any) -> Any:
        if self.on:
            known = self.seen.setdefault(place, [])
            found = _seen(value, self.inputs)
            if found not in known:
                known.append(found)
        return value


def _seen(value: Any, inputs: Mapping[int, tuple[int, ...]]) -> Seen:
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return Seen(Kind.TENSOR, tuple(value.shape), dtype, open=inputs.get(id(value), ()))
    if isinstance(value, torch.nn.Module):
        weight = next(iter(value.parameters()), None)
        dtype = str(weight.dtype)[6:] if weight is not None else ""
        return Seen(Kind.LAYER, dtype=dtype, keys=_keys(value))
    if value is torch.Tensor or isinstance(value, type(torch.FloatTensor)):
        made = torch.get_default_dtype() if value is torch.Tensor else value.dtype
        return Seen(Kind.MAKER, dtype=str(made)[6:])
    if isinstance(value, (np.ndarray, np.generic)):
        return Seen(Kind.ARRAY, tuple(value.shape), str(value.dtype))
    if isinstance(value, (list, tuple)) and 0 < len(value) <= _FEW:
        held = _held([_seen(each, inputs) for each in value])
        return replace(held, keys=_keys(value) if held.kind is not Kind.TENSORS else ())
    kinds = ((bool, Kind.BOOL), (int, Kind.INT), (float, Kind.FLOAT))
    kind = next((kind for python, kind in kinds if isinstance(value, python)), Kind.OTHER)
    return Seen(kind, keys=_keys(value))


def _held(inside: list[Seen]) -> Seen:
    """What a list is of which these are the elements."""
    first, kinds = inside[0], {each.kind for each in inside}
    if (
        kinds <= {Kind.TENSOR, Kind.TENSORS}
        and len({(each.kind, each.depth) for each in inside}) == 1
    ):
        return Seen(Kind.TENSORS, depth=first.depth + 1)
    if Kind.TENSOR in kinds and kinds <= {Kind.TENSOR, *_DTYPES}:
        return Seen(Kind.OTHER if any(each.shape for each in inside) else Kind.VALUES)
    if not kinds <= {Kind.NUMBERS, *_DTYPES} or len({each.shape for each in inside}) > 1:
        return Seen(Kind.OTHER)
    dtypes = {_DTYPES.get(each.kind, each.dtype) for each in inside}
    widest = next((name for name in ("float32", "int64") if name in dtypes), "bool")
    return Seen(Kind.NUMBERS, (len(inside), *first.shape), widest)


def _keys(value: Any) -> tuple[int, ...]:
    """The whole numbers for which it has an entry, if these are few and there are no others."""
    import torch

    listed = isinstance(value, (list, tuple, torch.nn.ModuleList, torch.nn.Sequential))
    keys = range(len(value)) if listed else value if isinstance(value, dict) else ()
    few = len(keys) <= _FEW and all(isinstance(key, int) for key in keys)
    return tuple(keys) if few else ()


def _place(file: str, lines: list[str], node: Any) -> Place:
    """In characters: Python's own trees count bytes."""

    def column(line: int, offset: int) -> int:
        text = lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode())

    first, last = node.lineno, node.end_lineno
    start, end = column(first, node.col_offset), column(last, node.end_col_offset)
    return file, first, start, last, end


_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_NOTED = (
    ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp,
    ast.IfExp, ast.List, ast.ListComp,
)  # fmt: skip


class _Noting(ast.NodeTransformer):
    """Wraps the expressions of function bodies; annotations stay bare."""

    def __init__(self, file: str, content: str) -> None:
        self.file = file
        self.lines = _LINE_ENDS.split(content)  # as Python counts them: a form feed ends none
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self.visit(each) for each in node.body]
        self.depth -= 1
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals"):
            return node
        node.func = self.visit(node.func)
        node.args = [self.visit(each) for each in node.args]
        node.keywords = [self.visit(each) for each in node.keywords]
        return self._noted(node)

    def _expression(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        return self._noted(node)

    def visit(self, node: ast.AST) -> Any:
        return self._expression(node) if isinstance(node, _NOTED) else super().visit(node)

    def _noted(self, node: Any) -> ast.AST:
        if not self.depth or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return node  # type: ignore[no-any-return]
        where = ast.Constant(_place(self.file, self.lines, node))  # type: ignore[arg-type]  # it takes tuples
        noted = ast.Call(ast.Name(NOTE, ast.Load()), [where, node], [])
        return ast.fix_missing_locations(ast.copy_location(noted, node))


def noting(content: str, file: str) -> Any:
    """The code of a file that notes what its expressions are."""
    return compile(_Noting(file, content).visit(ast.parse(content)), file, "exec")
