"""What the installed ONNX Runtime has kernels for, asked of itself.

The kernel table is not part of its public face; tried on ONNX Runtime 1.31."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAMES = {"float": "float32", "double": "float64"}


@dataclass(frozen=True, slots=True)
class Kernels:
    """The CPU's kernels for the operators of the standard."""

    operators: int
    # dtype -> how many operators take it somewhere
    dtypes: Mapping[str, int] = field(default_factory=dict)


def kernels() -> Kernels | None:
    """None where this build of the runtime does not tell."""
    try:
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def
    except ImportError:
        return None
    taken: dict[str, set[str]] = {}
    names = set()
    for each in get_all_opkernel_def():
        if each.provider != "CPUExecutionProvider" or each.domain not in ("", "ai.onnx"):
            continue
        names.add(each.op_name)
        for kinds in each.type_constraints.values():
            for kind in kinds:
                if kind.startswith("tensor("):
                    plain = kind.removeprefix("tensor(").removesuffix(")")
                    taken.setdefault(_NAMES.get(plain, plain), set()).add(each.op_name)
    counts = Counter({dtype: len(operators) for dtype, operators in taken.items()})
    return Kernels(len(names), dict(counts.most_common()))
