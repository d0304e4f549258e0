"""Stage 5: a captured graph -> ONNX."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from onnxpert.core.collect import collect
from onnxpert.core.types import Captured, Lowered
from onnxpert.lower import aten, torchlib
from onnxpert.lower.build import Build
from onnxpert.lower.custom import Wishes
from onnxpert.lower.lowering import Lowering


@functools.cache
def catalogue() -> Mapping[Any, tuple[Lowering, ...]]:
    """Every lowering by ATen overload, the newest opset's first."""
    found = collect(
        aten,
        Lowering,
        lambda one: ((target, one.since, one.complex) for target in one.overloads),
    )
    table: dict[Any, list[Lowering]] = {}
    for (target, _, _), one in found.items():
        table.setdefault(target, []).append(one)
    return {
        target: tuple(sorted(ones, key=lambda one: -one.since)) for target, ones in table.items()
    }


def lower(
    captured: Captured,
    *,
    opset: int,
    ir_version: int = 10,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    library: Mapping[Any, Sequence[Lowering]] | None = None,
    plugins: Mapping[Any, Sequence[Lowering]] | None = None,
    domains: Mapping[str, str] | None = None,
) -> Lowered:
    """The graph in ONNX; what has no lowering is in `unsupported`, and the walk went on.

    `plugins` are lowerings of the user's, asked first; `domains` keep operators as nodes."""
    table = catalogue() if library is None else {**catalogue(), **library}
    wishes = Wishes(plugins or {}, domains or {}, table)
    build = Build(captured, opset, table, torchlib.call, wishes)
    return build.run(tuple(input_names), tuple(output_names), ir_version)
