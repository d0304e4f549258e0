"""Which operators ONNX Runtime can really run, asked of its own table of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from onnxpert.targets.releases import RELEASES, release

_OPEN = 2**31 - 1  # the end of a range that no newer kernel has closed


@dataclass(frozen=True, slots=True)
class Kernel:
    """One registration: the versions of the operator, and what each type variable may be."""

    first: int
    last: int
    types: Mapping[str, frozenset[str]]

    def serves(self, since: int) -> bool:
        """By the runtime's own rule: an open range means the version it starts with, and no other."""
        return self.first == since or (self.first < since <= self.last and self.last != _OPEN)

    def takes(self, types: Mapping[str, str]) -> bool:
        return all(types[name] in allowed for name, allowed in self.types.items() if name in types)


@dataclass(frozen=True, slots=True)
class Kernels:
    """All the kernels of one provider."""

    table: Mapping[tuple[str, str], tuple[Kernel, ...]]

    def has(self, domain: str, op_type: str, since: int, types: Mapping[str, str]) -> bool:
        """Whether an operator, in the version of the opset `since`, runs with these types.

        `types` are by the type variables of its schema: `{"T": "tensor(bfloat16)"}`."""
        return any(
            kernel.serves(since) and kernel.takes(types)
            for kernel in self.table.get((domain, op_type), ())
        )

    def knows(self, domain: str, op_type: str, since: int) -> bool:
        """Whether it runs in any type."""
        return any(kernel.serves(since) for kernel in self.table.get((domain, op_type), ()))


# Releases whose tables are kept, with the highest opset of each: they grow from one to the next.
_KEPT = {(1, 17): 20, (1, 20): 21, (1, 23): 23}


@cache
def installed(target: str, older: str = "") -> Kernels | None:
    """The kernels of the installed runtime; None for a target that has no such table here.

    With a release that is `older`, those of the last release until then whose table is kept, and of
    later opsets, which it does not know, those of the installed one."""
    if target != "ort-cpu":
        return None
    found = _read("CPUExecutionProvider")
    version = release(older).version if older else RELEASES[-1].version
    if version == RELEASES[-1].version:
        return found
    kept = max((each for each in _KEPT if each <= version), default=min(_KEPT))
    table = dict(stored(f"cpu_kernels_{kept[0]}.{kept[1]}").table)
    for key, kernels in found.table.items() if found is not None else ():
        later = tuple(kernel for kernel in kernels if kernel.first > _KEPT[kept])
        if not key[0] and later:
            table[key] = (*table.get(key, ()), *later)
    return Kernels(table)


def _read(provider: str) -> Kernels | None:
    """A private table with no public one; the same in onnxruntime 1.17 to 1.31."""
    try:
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def
    except ImportError:
        return None
    found: dict[tuple[str, str], list[Kernel]] = {}
    for one in get_all_opkernel_def():
        if one.provider != provider:
            continue
        types = {name: frozenset(kinds) for name, kinds in one.type_constraints.items()}
        first, last = one.version_range
        kernel = Kernel(first, last, types)
        found.setdefault((one.domain, one.op_name), []).append(kernel)
    return Kernels({key: tuple(kernels) for key, kernels in found.items()})


@cache
def stored(name: str) -> Kernels:
    """A table that is kept here, of a runtime that need not be: `tools/read_kernels.py` writes it."""
    text = (Path(__file__).with_name("tables") / f"{name}.txt").read_text(encoding="utf-8")
    return parse(line for line in text.splitlines() if line and not line.startswith("#"))


def parse(lines: Iterable[str]) -> Kernels:
    """`Add 13-13 T=float,int32`, or `com.microsoft::Gelu 1- T=float`."""
    found: dict[tuple[str, str], list[Kernel]] = {}
    for line in lines:
        operator, versions, *variables = line.split()
        domain, _, name = operator.rpartition("::")
        first, _, last = versions.partition("-")
        types = {
            variable: frozenset(f"tensor({kind})" for kind in kinds.split(","))
            for variable, _, kinds in (each.partition("=") for each in variables)
        }
        kernel = Kernel(int(first), int(last) if last else _OPEN, types)
        found.setdefault((domain, name), []).append(kernel)
    return Kernels({key: tuple(kernels) for key, kernels in found.items()})
