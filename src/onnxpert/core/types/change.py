"""A frozen value with some of its fields changed."""

from __future__ import annotations

import dataclasses
from typing import Any


def replace(value: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`, untyped on purpose: a frozen value with some fields changed."""
    return dataclasses.replace(value, **changes)
