"""Calls that write several results into tensors they are given: `torch.topk(x, 2, out=(values, indices))`.

torch's own shape functions of those take sizes that vary for the numbers of the example. The call
that gives its results instead does not, and says what the given tensors become."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from torch._ops import OpOverload


def written_out(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """The given tensors in their new sizes; NotImplemented for every other call."""
    giving = _giving(func) if isinstance(func, OpOverload) else None
    if giving is None or any(name not in kwargs for name in giving[1]):
        return NotImplemented
    function, names = giving
    outs = [kwargs[name] for name in names]
    rest = {name: value for name, value in kwargs.items() if name not in names}
    for out, made in zip(outs, function(*args, **rest), strict=True):
        if out.dtype is not made.dtype or list(map(str, out.shape)) != list(map(str, made.shape)):
            if out.dtype is not made.dtype or 0 not in [s for s in out.shape if type(s) is int]:
                return NotImplemented  # which torch warns of, or refuses
            out.resize_(made.shape)
    return tuple(outs)


@functools.cache
def _giving(func: OpOverload) -> tuple[OpOverload, tuple[str, ...]] | None:
    """The overload that gives what this one writes, and the names under which it is given."""
    arguments = func._schema.arguments
    names = tuple(each.name for each in arguments if each.kwarg_only and each.is_out)
    if len(names) < 2:
        return None
    wanted = [(each.name, str(each.type)) for each in arguments if each.name not in names]
    packet = func.overloadpacket
    for name in packet.overloads():
        other: OpOverload = getattr(packet, name)
        if [(each.name, str(each.type)) for each in other._schema.arguments] == wanted:
            return other, names
    return None
