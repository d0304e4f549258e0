"""The Python body of an operator that the user registered: found, so that it can be looked into.

`torch._C._dispatch_dump` is torch's own; this use was tried on torch 2.13 and 2.15."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# torch's own operators and ours: none of them is a user's, and ours is the lowering.
_TORCHS = frozenset(
    {"aten", "prim", "prims", "rngprims", "debugprims", "onnx_symbolic", "onnxpert"}
)
# Where the kernel of a call on the CPU is looked for, in the dispatcher's own order.
_KEYS = (
    "CPU",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
)
_KERNEL = re.compile(
    r"^(\w+)(?:\[alias\])?: registered at (.*):\d+ :: .*\[ (.*?) ?\]$", re.MULTILINE
)


def is_custom(target: Any) -> bool:
    """Whether a target is an operator (not torch's own) of a namespace that a user made."""
    name = _name(target)
    return bool(name) and name.partition("::")[0] not in _TORCHS


def is_mutable(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def _has_open_number(values: tuple[Any, ...]) -> bool:
    """Whether one is not known before a run; called by way of torch it would be taken as it is."""
    import torch

    return any(type(value) is torch.SymFloat for value in values)


def _function(target: Any) -> Callable[..., Any] | None:
    """What `torch.library.custom_op` was put before (torch's own table, tried on 2.13 and 2.15)."""
    from torch._library.custom_ops import OPDEFS

    found = OPDEFS.get(qualified(target))
    kernels = {} if found is None else found._backend_fns
    function: Callable[..., Any] | None = kernels.get("cpu", kernels.get(None))
    return function


def python_body(target: Any) -> Callable[..., Any] | None:
    """What runs the operator's kernel, if that is written in Python; None for a compiled one.

    A compiled kernel must never be given fake tensors: they have no memory behind them."""
    if not is_custom(target):
        return None
    import torch

    kernels = {
        key: (file, how)
        for key, file, how in _KERNEL.findall(torch._C._dispatch_dump(_full(target)))
    }
    key = next((key for key in _KEYS if key in kernels), None)
    if key is None or not _is_python(*kernels[key]):
        return None
    kernel: Any = torch.library.get_kernel(target, "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def body(*args: Any, **kwargs: Any) -> Any:
        function = _function(target) if _has_open_number((*args, *kwargs.values())) else None
        if function is not None:
            return function(*args, **kwargs)
        return kernel.call_boxed(keys, *args, **kwargs)

    return body


def _is_python(file: str, how: str) -> bool:
    """A Python kernel is boxed only, and was registered in a Python file (or in a session)."""
    return how == "boxed" and (file.endswith(".py") or file.startswith("<") or file == "/dev/null")


def _name(target: Any) -> str:
    schema = getattr(target, "_schema", None)
    return schema.name if schema is not None else ""


def _full(target: Any) -> str:
    overload = target._schema.overload_name
    return f"{target._schema.name}.{overload}" if overload else str(target._schema.name)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a `torch.autograd.Function` that is written down whole."""

    function: Any  # the class

    @property
    def __name__(self) -> str:
        return str(self.function.__name__)

    def __call__(self, *args: Any) -> Any:
        return self.function.apply(*args)

    @property
    def symbolic(self) -> Callable[..., Any] | None:
        """What its author wrote for the old exporter, if anything."""
        return getattr(self.function, "symbolic", None)


def qualified(target: Any) -> str:
    """`package::operator`, by which operators of packages that may not be there are known."""
    return _name(target)
