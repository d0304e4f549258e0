"""Nobody watches torch's own work: no line of the user's runs in it, and Python is half as fast meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Watcher: TypeAlias = Callable[..., Any]
_OURS: set[Watcher] = set()


def of_users_lines(watcher: Watcher) -> Watcher:
    """A trace function of ours, for which torch's own frames are nothing to look at."""
    _OURS.add(watcher)
    return watcher


def unwatched(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """A call of torch's; a debugger, or who measures coverage, goes on watching it."""
    watcher = sys.gettrace()
    if watcher not in _OURS:
        return function(*args, **kwargs)
    sys.settrace(None)
    try:
        return function(*args, **kwargs)
    finally:
        sys.settrace(watcher)
