"""What a scheme is: the operators it has a form for, its limits, and how a file is turned to it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from onnxpert.targets.target import Array

Feeds: TypeAlias = Sequence[Mapping[str, Array]]  # by input name, one mapping per run


@dataclass(frozen=True, slots=True)
class Work:
    """A prepared float file, and the nodes of it that shall be turned; at least one."""

    source: Path
    destination: Path  # in the same directory; its weights lie beside it
    layers: Mapping[str, str]  # name of a node -> its operator
    feeds: Feeds  # what activations are measured on
    signed: bool = (
        False  # the target has no unsigned bytes: zero is in the middle, biases are float
    )


@dataclass(frozen=True)
class Scheme:
    """A way to quantise."""

    name: str
    operators: frozenset[str]  # with weights, that it has a form for
    bound: float  # the largest error of an output, as a share of its norm, unless another is asked
    calibrated: bool  # it measures activations
    standard: bool  # all it writes is in the ONNX standard, not a runtime's own
    splits_gemm: bool  # it has a form for MatMul only
    lowest_opset: int
    since: tuple[int, int]  # the first release of ONNX Runtime that runs all it writes
    run: Callable[[Work], None]
    about: str


def scheme(
    name: str,
    *,
    operators: frozenset[str],
    bound: float,
    calibrated: bool = False,
    standard: bool = False,
    splits_gemm: bool = False,
    lowest_opset: int = 13,
    since: tuple[int, int] = (1, 15),
) -> Callable[[Callable[[Work], None]], Scheme]:
    """Make a `Scheme` of a function that writes the quantised file of a `Work`."""

    def decorate(run: Callable[[Work], None]) -> Scheme:
        return Scheme(
            name=name,
            operators=operators,
            bound=bound,
            calibrated=calibrated,
            standard=standard,
            splits_gemm=splits_gemm,
            lowest_opset=lowest_opset,
            since=since,
            run=run,
            about=inspect.getdoc(run) or "",
        )

    return decorate
