"""Of which type a number is that only a run of the file knows: Python's own, not the one of its symbol.

`isinstance(k, int)` and `type(k) is float` are answered without the number. In the modules that
a model is written in, and only while it is captured, these two names stand for versions that know
symbols; torch itself goes on telling them apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch

from onnxpert.core.belongings import user_modules
from onnxpert.core.source import Owner, ownership

_OWN: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
_sym: Any = torch  # whose functions of symbols have no types


def own_type(value: Any) -> type:
    """What `type(value)` is where the model runs by itself."""
    kind = type(value)
    return _OWN.get(kind, kind)


def same(value: Any, number: int) -> Any:
    """`value is number`; of a symbol, whether it is that one."""
    if isinstance(value, torch.SymBool):
        if not isinstance(number, bool):
            return False
        return value if number else _sym.sym_not(value)
    if isinstance(value, torch.SymInt):
        return False if isinstance(number, bool) else value == number
    return value is number


def _is_instance(value: Any, kinds: Any, /) -> bool:
    # A library that knows symbols and asks for them is told, too.
    return isinstance(value, kinds) or (
        type(value) in _OWN and issubclass(_OWN[type(value)], kinds)
    )


class _Asked(type):
    """Passes for `type` wherever that is not called with one thing."""

    home: dict[str, Any]

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if len(args) != 1 or named:
            return type(*args, **named)
        found = own_type(args[0])
        # Where `int` stands for a version of ours, `type(k) is int` means that one.
        soft = cls.home.get(found.__name__) if found in (int, float) else None
        return soft if getattr(soft, "plain", None) is found else found

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, type)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is type

    def __hash__(cls) -> int:
        return hash(type)


@contextmanager
def own_types(root: torch.nn.Module | None) -> Iterator[None]:
    """While on, numbers that are not there are of the types that Python gives them."""
    homes = [] if root is None else [home for home in _homes(root) if "type" not in home]
    for home in homes:
        home["type"] = _Asked("type", (type,), {"home": home})
        home.setdefault("isinstance", _is_instance)
    try:
        yield
    finally:
        for home in homes:
            del home["type"]
            if home["isinstance"] is _is_instance:
                del home["isinstance"]


def _homes(root: torch.nn.Module) -> Iterable[dict[str, Any]]:
    """The modules that a model is written in."""
    found = [vars(module) for module in user_modules(root)]
    for kind in {kind for part in root.modules() for kind in type(part).__mro__}:
        # By its function: a model may come from a file that nobody imported by name.
        function = vars(kind).get("forward")
        if isinstance(function, FunctionType):
            owned = ownership(function.__code__.co_filename) >= Owner.LIBRARY
            found += [function.__globals__] if owned else []
    return {id(home): home for home in found}.values()
