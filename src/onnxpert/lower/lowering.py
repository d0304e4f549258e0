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

    def __call__(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        return self.body(op, *args, **kwargs)


def lowering(*overloads: Any, since: int = 13) -> Callable[[Callable[..., Any]], Lowering]:
    """Make a `Lowering` of a function `(op: Emitter, *args as ATen names them)`.

    An overload is the object itself (`aten.relu.default`); an operator of a package that may not be
    imported is named (`"torchvision::nms"`).

    Several lowerings of one overload differ in `since`; the highest that the asked opset reaches
    is taken."""

    def decorate(body: Callable[..., Any]) -> Lowering:
        names = frozenset(inspect.signature(body).parameters)
        return Lowering(overloads, since, body, body.__name__, names)

    return decorate
