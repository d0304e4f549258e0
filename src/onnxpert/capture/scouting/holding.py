"""Objects that hold tensors, which a pytree takes for one leaf, handed on with others in their place."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

_CLOSED = (torch.nn.Module, torch.Tensor, type, FunctionType, MethodType, ModuleType)
_DEEPEST = 4


class Handover:
    """A tree for a call, its tensors changed wherever they are held; the objects themselves stay
    as they are, until the call is over and what it left in theirs is taken back."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change
        self._copies: dict[
            int, tuple[Any, Any, dict[str, Any]]
        ] = {}  # of the objects that were met

    def given(self, tree: Any, depth: int = 0) -> Any:
        def one(leaf: Any) -> Any:
            held = None if isinstance(leaf, _CLOSED) else getattr(leaf, "__dict__", None)
            if type(held) is not dict or depth >= _DEEPEST:
                return self._change(leaf)
            return self._copied(leaf, held, depth)

        return pytree.tree_map(one, tree)

    def _copied(self, holder: Any, held: dict[str, Any], depth: int) -> Any:
        if id(holder) in self._copies:
            return self._copies[id(holder)][1]
        names = {name: self.given(item, depth + 1) for name, item in held.items()}
        if all(names[name] is item for name, item in held.items()):
            return holder
        try:
            double = copy.copy(holder)
            vars(double).update(names)
        except Exception:  # a class that allows no copies is handed on as it is
            return holder
        self._copies[id(holder)] = holder, double, names
        return double

    def taken_back(self, change: Callable[[Any], Any]) -> None:
        for holder, double, names in self._copies.values():
            for name, item in vars(double).items():
                if name not in names or names[name] is not item:
                    vars(holder)[name] = change(item)
