"""Write down the kernels of a provider of ONNX Runtime, for a target whose runtime is not here.

    python tools/read_kernels.py CUDAExecutionProvider > src/onnxpert/targets/tables/cuda_kernels.txt
    build/releases/1.17/bin/python tools/read_kernels.py CPUExecutionProvider --oldest 11

into tables/cpu_kernels_1.17.txt of the same folder.

Asked of the onnxruntime that this Python has: run it where the provider can be loaded; `make releases`
makes the environments of older ones. Kernels for opsets below 13, or --oldest, are left out, and so
are types that are no tensors."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TypeAlias

Types: TypeAlias = Mapping[str, frozenset[str]]
OLDEST = 13
DOMAINS = ("", "ai.onnx.ml", "com.microsoft")
OPEN = 2**31 - 1


def lines(provider: str, oldest: int = OLDEST) -> Iterator[str]:
    """`Add 13-13 T=float,int32`, the operators of the standard first, in the order of names."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

    found: dict[tuple[str, str, int, int], list[Types]] = {}
    for each in get_all_opkernel_def():
        first, last = each.version_range
        if each.provider == provider and each.domain in DOMAINS and last >= oldest:
            key = (each.domain, each.op_name, first, last)
            found.setdefault(key, []).append(_tensors(each.type_constraints))
    for (domain, name, first, last), kernels in sorted(found.items()):
        versions = f"{first}-{'' if last == OPEN else last}"
        for types in joined(kernels):
            said = [f"{each}={','.join(sorted(kinds))}" for each, kinds in sorted(types.items())]
            yield " ".join([f"{domain}::{name}" if domain else name, versions, *said])


def _tensors(constraints: Mapping[str, list[str]]) -> Types:
    found = {
        name: frozenset(kind[7:-1] for kind in kinds if kind.startswith("tensor("))
        for name, kinds in constraints.items()
    }
    return {name: kinds for name, kinds in found.items() if kinds}


def joined(kernels: list[Types]) -> list[Types]:
    """Those that differ in one type variable only, as one."""
    done: list[Types] = []
    for types in kernels:
        for at, other in enumerate(done):
            differing = [name for name in types if types[name] != other.get(name)]
            if types.keys() == other.keys() and len(differing) <= 1:
                done[at] = {name: types[name] | other[name] for name in types}
                break
        else:
            done.append(types)
    return done if len(done) == len(kernels) else joined(done)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("provider")
    parser.add_argument("--oldest", type=int, default=OLDEST, help="the oldest opset")
    asked = parser.parse_args()
    import onnxruntime

    print(f"# The kernels of the {asked.provider} of onnxruntime {onnxruntime.__version__}.")
    print("# Operator, versions (first-last, open: until a newer one is named), types by variable.")
    for line in lines(asked.provider, asked.oldest):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
