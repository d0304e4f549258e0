"""Catalogues without registries: walk a package and gather the values of one type."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterable
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def modules(package: ModuleType) -> list[ModuleType]:
    """Every module below a package, imported, in name order."""
    found = []
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        found.append(module)
        if info.ispkg:
            found += modules(module)
    return found


def collect(package: ModuleType, kind: type[T], keys: Callable[[T], Iterable[K]]) -> dict[K, T]:
    """Every value of type `kind` defined at the top of a module of `package`, by its keys.

    Raises ValueError for two values with one key: which of them wins must not depend on the
    order of imports."""
    found: dict[K, T] = {}
    home: dict[K, str] = {}
    for module in modules(package):
        for value in vars(module).values():
            if not isinstance(value, kind):
                continue
            for key in keys(value):
                if key in found and found[key] is not value:
                    raise ValueError(f"{key!r} is defined in {home[key]} and in {module.__name__}")
                found[key] = value
                home[key] = module.__name__
    return found
