"""What a lowering is: ATen overloads, the lowest opset it needs, and the function that emits ONNX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Lowering:
    """How one or more ATen overloads are said in ONNX. Call it to use it inside another one."""

    overloads: tuple[Any, ...]
    since: int
    body: Callable[..., Any]
    name: str
    parameters: frozenset[str] = field(default_factory=frozenset)
    complex: bool = False  # understands pairs of reals (`complex_pairs.py`)

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        return self.body(op, *args, **kwargs)


def lowering(
    *overloads: Any, since: int = 13, complex: bool = False
) -> Callable[[Callable[..., Any]], Lowering]:
    """Make a `Lowering` of a function `(op: Emitter, *args as ATen names them)`.

    An overload is the object itself (`aten.relu.default`); an operator of a package that may not be
    imported is named (`"torchvision::nms"`).

    Several lowerings of one overload differ in `since`; the highest that the asked opset reaches
    is taken. One that is not `complex` is never given a complex value; one that is `complex` is
    the only one that is, and is given real values too where there is no other."""

    def decorate(body: Callable[..., Any]) -> Lowering:
        names = frozenset(inspect.signature(body).parameters)
        return Lowering(overloads, since, body, body.__name__, names, complex)

    return decorate
