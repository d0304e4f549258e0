"""Where the model itself raises when a size that was to vary does.

A run that took such a size for a number only knows the first line that wanted one. The model, called
with another size, tells which line cannot do without it; and which others, when what it meets there is
cut or stretched to fit and the call goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.capture.examples.rehearsal import rehearse, takes
from onnxpert.capture.examples.stretching import ways
from onnxpert.capture.flat import fed, owner
from onnxpert.capture.places import user_frames
from onnxpert.capture.rolling.ties import Axis, frozen_axes
from onnxpert.capture.unwritten import tensors
from onnxpert.core.source import Owner, location, of_exception, ownership
from onnxpert.core.types import Captured, Loaded, Location, Sight, Sighting, replace

_SMALLEST_TOLD = 2


def refusals(captured: Captured) -> Iterator[Sighting]:
    """A sighting for each dimension that was asked to vary and was frozen, if the model refuses."""
    loaded = captured.loaded
    axes = [] if loaded is None else frozen_axes(loaded, captured.inputs, captured.root.graph)
    axes = [one for one in axes if one.spec.asked and one.axis is not None]
    for root in dict.fromkeys(one.root for one in axes):
        group = [one for one in axes if one.root == root]
        fitting = _Fitting({_size(one) for one in group})
        together = [*group, *_misnamed(loaded, group)] if loaded is not None else []
        for at in _refusals(loaded, together, fitting) if loaded is not None else ():
            if ownership(at.file) == Owner.USER:
                for one in group:
                    yield Sighting(Sight.REFUSAL, f"{one.leaf.name}.{one.axis}", at)
        for at in fitting.met.values():
            if (at.file, at.line) not in fitting.places and ownership(at.file) == Owner.USER:
                yield Sighting(Sight.MEETING, f"{group[0].leaf.name}.{group[0].axis}", at)


def _misnamed(loaded: Loaded, group: Sequence[Axis]) -> Iterator[Axis]:
    """What may go with these sizes, and is only on offer as the request names it wrongly."""
    sizes = {_size(one) for one in group}
    for leaf in fed(loaded) if loaded.problems else ():
        for axis, spec in leaf.dims:
            if not spec.asked and leaf.value.shape[axis] in sizes:
                yield Axis(leaf, axis, spec, group[0].root)


def _refusals(loaded: Loaded, group: list[Axis], fitting: _Fitting) -> list[Location]:
    if _is_scripted(loaded):
        return []  # whose lines Python never enters
    try:
        rehearse(_at_other_sizes(loaded, group), fitting)
    except Exception as error:
        last = None if fitting.is_explained else of_exception(error)
        return [*fitting.places.values(), *([last] if last is not None else [])]
    return list(fitting.places.values())


class Offers:
    """Which dimensions that nobody asked for by name the model takes at the example's size alone."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int | None], bool] = {}

    def refused(self, loaded: Loaded, axes: Sequence[Axis]) -> list[Axis]:
        if _is_scripted(loaded):
            return []
        offered = [one for one in axes if not one.spec.asked and one.axis is not None]
        return [one for one in offered if self._is_refused(loaded, one)]

    def _is_refused(self, loaded: Loaded, one: Axis) -> bool:
        key = (one.leaf.name, one.axis)
        if key not in self._known:
            # Alone, or with what is as long: of two that are tied, the model takes neither alone.
            alike = [
                Axis(leaf, axis, spec, one.root)
                for leaf in fed(loaded)
                for axis, spec in leaf.dims
                if leaf.value.shape[axis] == _size(one)
            ]
            groups = [[one], *([alike] if len(alike) > 1 else [])]
            # A size of 1 is stretched to whatever is there, and says nothing of others.
            changes = (True, False) if _size(one) > _SMALLEST_TOLD else (True,)
            ways = [(more, False) for more in changes]
            # Of numbers that have to add up, another one has to be 0: `x.split(sizes.tolist())`.
            ways += [(True, True)] if _is_whole(one) else []
            self._known[key] = not any(
                _is_taken(loaded, group, *way) for group in groups for way in ways
            )
        return self._known[key]


def _is_whole(one: Axis) -> bool:
    dtype = one.leaf.value.dtype
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def _is_taken(loaded: Loaded, group: list[Axis], more: bool, zeros: bool) -> bool:
    with suppress(RuntimeError, NotImplementedError):  # of what cannot be made longer, or shorter
        return takes(_at_other_sizes(loaded, group, more=more, zeros=zeros))
    return False


def _is_scripted(loaded: Loaded) -> bool:
    return isinstance(owner(loaded.module), torch.jit.ScriptModule)


def _at_other_sizes(
    loaded: Loaded, group: list[Axis], *, more: bool = True, zeros: bool = False
) -> Loaded:
    """The model with another example, which has these axes longer, or shorter."""
    moved = {(one.leaf.name, one.axis): one for one in group}
    leaves = []
    for leaf in loaded.leaves:
        value = leaf.value
        for axis, _ in leaf.dims:
            if (one := moved.get((leaf.name, axis))) is not None:
                value = _resized(value, one, more, zeros=zeros)
        leaves.append(leaf if value is leaf.value else replace(leaf, value=value))
    return replace(loaded, leaves=tuple(leaves))  # type: ignore[no-any-return]


class _Fitting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Makes the tensors fit of a call that raises, where changing a size or two is enough; and knows
    which of them were given a size of the example's as a number, though it is another one now."""

    def __init__(self, sizes: set[int]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.places: dict[tuple[str, int], Location] = {}
        self.met: dict[tuple[str, int], Location] = {}  # where that number is in the way
        self.is_explained = False  # why the model raised in the end
        self._sizes = sizes
        self._fixed: dict[int, Location] = {}  # by the tensors' ids
        self._kept: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        try:
            out = func(*args, **kwargs)
            self._follow((args, kwargs), out)
            return out  # noqa: TRY300  what is followed may raise as well as what is called
        except (RuntimeError, IndexError) as error:
            at = location(user_frames())
            if at is None:
                raise
            written = [self._fixed[id(each)] for each in tensors(args) if id(each) in self._fixed]
            for way in ways(args, self._sizes):
                with suppress(RuntimeError, IndexError):
                    out = func(*way.taken(args), **kwargs)
                    for place in written or [at]:
                        self.places.setdefault((place.file, place.line), place)
                    self.met.setdefault((at.file, at.line), at)
                    return out
            if written:  # nothing fits, and what it met was made at another line
                self.is_explained = True
                self.places.update({(place.file, place.line): place for place in written})
                self.met.setdefault((at.file, at.line), at)
            raise error from None

    def _follow(self, given: Any, out: Any) -> None:
        fixed = [each for each in tensors(out) if not self._sizes.isdisjoint(each.shape)]
        if not fixed:
            return
        numbers = {each for each in pytree.tree_leaves(given) if type(each) is int}
        inherited = (self._fixed.get(id(each)) for each in tensors(given))
        place = next(filter(None, inherited), None)
        if place is None and numbers & self._sizes:
            place = location(user_frames())
        if place is not None:
            self._fixed.update((id(each), place) for each in fixed)
            self._kept += fixed


def _size(one: Axis) -> int:
    assert one.axis is not None
    return int(one.leaf.value.shape[one.axis])


def _resized(value: Any, one: Axis, more: bool, *, zeros: bool = False) -> Any:
    """One more than in the example; one less if so wished, or where more was not asked for."""
    assert one.axis is not None
    value = value.detach()
    size = value.shape[one.axis]
    if more and (one.spec.upper is None or size < one.spec.upper):
        last = value.narrow(one.axis, size - 1, 1)
        return torch.cat([value, torch.zeros_like(last) if zeros else last], one.axis)
    return value.narrow(one.axis, 0, size - 1)
