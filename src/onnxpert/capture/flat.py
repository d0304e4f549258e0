"""The model behind a flat signature: tensors in, tensors out, whatever structure the user's has."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from onnxpert.core.dress import dressed_as, undressed
from onnxpert.core.flatten import dropped_outputs, flatten_outputs
from onnxpert.core.types import InputLeaf, Loaded


def fed(loaded: Loaded) -> tuple[InputLeaf, ...]:
    """The leaves that become graph inputs: tensors, and numbers that were asked to vary."""
    return tuple(
        leaf
        for leaf in loaded.leaves
        if isinstance(leaf.value, torch.Tensor) or leaf.scalar is not None
    )


def fed_copies(loaded: Loaded) -> list[Any]:
    """Their values, for a call that may write them; torch itself copies no tensor of a user's class."""
    values = [leaf.value for leaf in fed(loaded)]
    copies = copy.deepcopy([undressed(value) for value in values])
    return [dressed_as(each, value) for each, value in zip(copies, values, strict=True)]


def owner(model: Any) -> torch.nn.Module | None:
    """The module whose weights a model uses: itself, or for a bound method the one it is bound to."""
    found = getattr(model, "__self__", model)
    return found if isinstance(found, torch.nn.Module) else None


class LeavingError(RuntimeError):
    """The model ends the process that it runs in."""


class Structure:
    """What came out of a call, apart from its values. torch.export puts a module's own attributes
    back as they were, so this is kept beside it."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] | None = None
        self.dropped: tuple[tuple[str, str], ...] = ()
        self.classes: tuple[str, ...] = ()


def classes(tree: Any) -> tuple[str, ...]:
    """The classes in a structure of which torch does not know how to look inside."""
    known = (torch.Tensor, bool, int, float, complex, str, bytes, type(None))
    leaves = torch.utils._pytree.tree_leaves(tree)
    odd = [leaf for leaf in leaves if not isinstance(leaf, known) and hasattr(leaf, "__dict__")]
    return tuple(dict.fromkeys(type(leaf).__name__ for leaf in odd))


class Flat(torch.nn.Module):
    """Calls the user's model on rebuilt arguments and gives the leaves of its output.

    The structure of the output is only known once it ran: `names` holds it afterwards."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__()
        # Of a bound method the module, so that its weights are found below this one.
        module = owner(loaded.module)
        self.model = loaded.module if module is None else module
        self._method = "" if module in (None, loaded.module) else loaded.module.__name__
        self._loaded = loaded
        self._structure = Structure()

    @property
    def names(self) -> tuple[str, ...] | None:
        return self._structure.names

    @property
    def dropped(self) -> tuple[tuple[str, str], ...]:
        """What came out that is no tensor: its name, and of which class it is."""
        return self._structure.dropped

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of what came out that torch cannot look into."""
        return self._structure.classes

    def forward(self, *values: Any) -> tuple[Any, ...]:
        args, kwargs = self.arguments(values)
        model = getattr(self.model, self._method) if self._method else self.model
        try:
            result = model(*args, **kwargs)
        except SystemExit as leaving:  # which would be the end of whoever asks
            told = f"it ends the process, as sys.exit({leaving.code!r}) does"
            raise LeavingError(told).with_traceback(leaving.__traceback__) from None
        outputs = flatten_outputs(result)
        self._structure.names = tuple(name for name, _ in outputs)
        self._structure.dropped = tuple(dropped_outputs(result))
        self._structure.classes = classes(result)
        return tuple(value for _, value in outputs)

    def arguments(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given = iter(values)
        everything = []
        for leaf in self._loaded.leaves:
            is_input = isinstance(leaf.value, torch.Tensor) or leaf.scalar is not None
            value = next(given) if is_input else leaf.value
            if leaf.name in self._loaded.casts:
                value = value.to(getattr(torch, self._loaded.casts[leaf.name]))
            everything.append(value)
        args, kwargs = self._loaded.rebuild(everything)
        return args, kwargs
