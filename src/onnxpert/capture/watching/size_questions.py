"""Which lines go one way or another by a size: one that is to vary, or that the data decide.

A capture for which such a size has become a number, an earlier line having fixed it, has no question left
to tell of. A call of the model itself has: Python reads every size from a tensor."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import torch

from onnxpert.capture.places import user_frames
from onnxpert.capture.unwritten import tensors
from onnxpert.core.deciding import deciding, is_given_a_variable
from onnxpert.core.types import InputLeaf, Location

aten = torch.ops.aten
_JOINS = frozenset({aten.stack.default, aten.cat.default})
_ASKED = frozenset({"size", "numel", "nelement", "__len__"})


class OpenSizes:
    """The sizes of each tensor that another input may change."""

    def __init__(self) -> None:
        self._sizes: dict[int, tuple[Any, frozenset[int]]] = {}
        self._counted: set[int] = set()  # ids of those of which the data decide

    def of(self, tensor: torch.Tensor) -> frozenset[int]:
        known, sizes = self._sizes.get(id(tensor), (lambda: None, frozenset()))
        return sizes if known() is tensor else frozenset()

    def is_counted(self, tensor: torch.Tensor) -> bool:
        """Whether it is the data that decide, and not whoever calls the model."""
        return bool(self.of(tensor)) and id(tensor) in self._counted

    def entered(self, leaf: InputLeaf, value: torch.Tensor) -> None:
        self._note(value, (value.shape[axis] for axis, spec in leaf.dims if spec.asked))

    def called(self, func: Any, given: Any, out: Any, *, by_data: bool) -> None:
        """An operator has run; `by_data`: the values it was given decided how large its result is."""
        sources = tensors(given)
        known = frozenset[int]().union(*map(self.of, sources)) if self._sizes else frozenset()
        if not known and not by_data:
            return
        counted = by_data or any(map(self.is_counted, sources))
        before = {size for each in sources for size in each.shape}
        for each in tensors(out):
            shapes = [one.shape for one in sources if 1 in self.of(one)]
            sizes = {size for size in each.shape if size in known and size != 1}
            sizes |= {1} if each.shape in shapes else set()  # any other has a 1 of its own
            if by_data and each.dim():
                axis = func.overloadpacket.__name__ in ("stack", "cat") and given[0][1:2]
                place = int(axis[0]) if axis else 0
                new = [size for size in each.shape if size not in before]
                sizes.update(new[:1] or [each.shape[place]])
            self._note(each, sizes, counted=counted)

    def _note(self, tensor: torch.Tensor, sizes: Iterable[int], *, counted: bool = False) -> None:
        telling = frozenset(sizes)
        if telling:
            self._sizes[id(tensor)] = (weakref.ref(tensor), telling)
            (self._counted.add if counted else self._counted.discard)(id(tensor))


def joins_a_list(func: Any, places: Collection[tuple[str, str]]) -> bool:
    """Whether it makes one tensor of a list that was made in one of these functions, (file, name), and
    is as long as Python made it there."""
    if func not in _JOINS or not places:
        return False
    frames = user_frames()
    if not frames or (frames[-1][0], frames[-1][2]) not in places:
        return False
    return is_given_a_variable(frames[-1][0], frames[-1][1])


def questions(
    func: Any, args: Any, sizes: OpenSizes, at: Callable[[], Location | None]
) -> Iterator[Location]:
    """The conditions and loops that what Python asks here about the size of a tensor decides; of a
    size that the data decide, the line itself, whatever is done with it."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        name = "size" if func == torch.Tensor.shape.__get__ else ""  # type: ignore[attr-defined]
    tensor = args[0] if name in _ASKED and args else None
    if not isinstance(tensor, torch.Tensor) or not sizes.of(tensor):
        return
    axes = [axis for axis, size in enumerate(tensor.shape) if size in sizes.of(tensor)]
    place = at()
    if place is not None:
        yield from deciding(place, axes if name == "size" else None)
        if sizes.is_counted(tensor):
            yield place
