"""What a lowering is: ATen overloads, the lowest opset it needs, and the function that emits ONNX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from onnxpert.core.errors import UsageError


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

    An overload is the object itself (`aten.relu.default`), a packet of them (`torch.ops.my.op`), or
    what `torch.library.custom_op` returned; an operator of a package that may not be imported is
    named (`"torchvision::nms"`). A `torch.autograd.Function` is given as its class.

    Several lowerings of one overload differ in `since`; the highest that the asked opset reaches
    is taken. One that is not `complex` is never given a complex value; one that is `complex` is
    the only one that is, and is given real values too where there is no other."""

    keys = tuple(key for given in overloads for key in _keys(given))
    if not keys:
        raise UsageError("a lowering needs the operator that it lowers", _HOW)

    def decorate(body: Callable[..., Any]) -> Lowering:
        names = frozenset(inspect.signature(body).parameters)
        return Lowering(keys, since, body, body.__name__, names, complex)

    return decorate


_HOW = 'write @onnxpert.lowering(torch.ops.my.op.default), or @onnxpert.lowering("my::op")'


def _keys(given: Any) -> tuple[Any, ...]:
    """Without torch, which need not be imported to write a lowering down."""
    if isinstance(given, str):
        if "::" not in given.strip(":"):
            raise UsageError(f"{given!r} does not name an operator", _HOW)
        return (given,)
    overload = getattr(given, "_opoverload", None)
    if overload is not None:  # what @torch.library.custom_op makes of a function
        return (overload,)
    if hasattr(given, "overloads") and hasattr(given, "_qualified_op_name"):
        return tuple(getattr(given, name) for name in given.overloads())
    users = isinstance(given, FunctionType) and not given.__module__.startswith(("torch", "math"))
    if users or isinstance(given, (int, float, list, tuple, dict)):
        name = getattr(given, "__name__", repr(given))
        raise UsageError(f"{name} is not an operator", _HOW)
    return (given,)
