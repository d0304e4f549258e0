"""What a runtime can do, as data: operators, types, forms and sizes, and where that is known from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxpert.targets.kernels import Kernels

if TYPE_CHECKING:
    import onnx_ir as ir

# With a release of the runtime: as they were then; "": as they are.
Table = Callable[[str], Kernels | None]


def names(text: str) -> frozenset[str]:
    """Words, as a list of operators or types is best read."""
    return frozenset(text.split())


def untold(_release: str) -> Kernels | None:
    """Of a runtime that has no table of kernels, or does not show it."""
    return None


@dataclass(frozen=True, slots=True)
class Restriction:
    """A form of an operator that a runtime does not take."""

    op_type: str
    says: (
        str  # what it takes: `2 or 3 spatial dimensions only`; of some types, what not: `with ...`
    )
    breaks: Callable[[ir.Node], bool]
    help: str = ""
    # The only types in which it does not, whatever its table of kernels says; empty: all of them.
    dtypes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The limits of a runtime. What is not said has none."""

    source: str  # where the tables come from, with the version
    domains: frozenset[str] = frozenset({""})  # of operators it has
    missing: frozenset[str] = frozenset()  # operators of the standard it does not have
    # Operator -> the types it takes where the standard lets it choose; those not named are missing.
    operators: Mapping[str, frozenset[str]] = field(default_factory=dict)
    kernels: Table = untold  # what it runs itself
    fallback: Table = untold  # what runs beside it, at a price
    fallback_says: str = ""  # what is said of those
    widens: frozenset[str] = frozenset()  # types it computes in float32 by itself, without a kernel
    inlines: bool = False  # takes the standard's functions apart where it has no kernel
    dtypes: frozenset[str] = frozenset()  # the only ones it has; empty: those of the standard
    ends: frozenset[str] = frozenset()  # likewise, of the inputs and outputs of a file
    narrower: Mapping[str, str] = field(default_factory=dict)  # type -> what it is computed in
    restrictions: tuple[Restriction, ...] = ()
    most_rank: int | None = None
    most_bytes: int | None = None  # of all weights together
    dynamic: str = ""  # what sizes that vary mean there; "": nothing
    dynamic_help: str = ""
    # Operators of a smaller build that many ship instead, and what is said of the others.
    reduced: frozenset[str] = frozenset()
    reduced_says: str = ""
    layout: str = ""  # of images, where it matters
