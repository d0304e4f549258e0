"""What a model remembers between calls, so that asking it a question leaves it as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxpert.core import belongings
from onnxpert.core.flatten import is_tensor
from onnxpert.core.layouts import equal, refill

if TYPE_CHECKING:
    import torch

_REGISTRIES = ("_parameters", "_buffers", "_modules")


@dataclass(frozen=True, slots=True)
class _Kept:
    """One thing that a call may change: what it is called, whether it did, how to undo it."""

    name: str
    changed: Callable[[], bool]
    restore: Callable[[], None]


class Memory:
    """A snapshot of a model, and of the variables of its code. Buffers are copied; parameters are watched
    but too large to copy."""

    def __init__(self, model: Any) -> None:
        self._memories = tuple(_memories(model))

    def changed(self) -> tuple[str, ...]:
        """The names of what is not as it was."""
        return tuple(memory.name for memory in self._memories if memory.changed())

    def restore(self) -> None:
        for memory in self._memories:
            if memory.changed():
                memory.restore()


def _memories(model: Any) -> Iterator[_Kept]:
    import torch

    owner = getattr(model, "__self__", model)  # of a bound method: its module
    if not isinstance(owner, torch.nn.Module):
        return
    for table in (*belongings.of_model(owner), *belongings.of_code(owner)):
        yield _Kept(table.name, table.is_changed, table.restore)
    for path, module in owner.named_modules():
        prefix = f"{path}." if path else ""
        if not isinstance(module, torch.jit.ScriptModule):  # whose attributes are out of reach
            yield from _attributes(module, prefix)
        for name, tensor in module.named_parameters(recurse=False):
            yield _watched(prefix + name, tensor)
        for name, tensor in module.named_buffers(recurse=False):
            if not tensor.is_quantized:  # they cannot all be copied, and nothing writes to them
                yield _copied(prefix + name, tensor)


def _attributes(module: torch.nn.Module, prefix: str) -> Iterator[_Kept]:
    """Names that are bound anew, lists that grow, tensors that are not registered as buffers."""
    for registry in _REGISTRIES:
        yield _container(prefix + registry, vars(module)[registry])
    yield _container(prefix.removesuffix("."), vars(module))
    for name, value in vars(module).items():
        if name.startswith("_") and name.endswith(("_hooks", "_hooks_with_kwargs")):
            continue
        if name in _REGISTRIES:
            continue
        if is_tensor(value) and value.is_quantized:
            continue
        if is_tensor(value):
            yield _copied(prefix + name, value)
        elif type(value) in (list, dict):
            yield _container(prefix + name, value)


def _copied(name: str, tensor: torch.Tensor) -> _Kept:
    """Compared by value: some kernels (batch normalisation) write past torch's version counter."""
    before = tensor.detach().clone()

    return _Kept(name, lambda: not equal(tensor.detach(), before), lambda: refill(tensor, before))


def _watched(name: str, tensor: torch.Tensor) -> _Kept:
    def stamp() -> int:
        return 0 if tensor.is_inference() else tensor._version

    seen = [stamp()]

    def restore() -> None:
        seen[0] = stamp()

    return _Kept(name, lambda: stamp() != seen[0], restore)


def _container(name: str, container: Any) -> _Kept:
    before = container.copy()

    def changed() -> bool:
        if len(container) != len(before):
            return True
        if isinstance(container, dict):
            return any(
                key not in container or container[key] is not value for key, value in before.items()
            )
        return any(a is not b for a, b in zip(container, before, strict=True))

    def restore() -> None:
        container.clear()
        container.extend(before) if isinstance(container, list) else container.update(before)

    return _Kept(name, changed, restore)
