"""A model that remembers, made one that does not: what it remembers goes in and comes out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from onnxpert.core.flatten import WithState, flatten_outputs
from onnxpert.core.memory import Memory
from onnxpert.core.types import DimSpec, InputLeaf, Loaded, StateLeaf
from onnxpert.load.copies import copied
from onnxpert.load.remembered import Place, remembered

_FACTORS = (
    -1.0,
    3.0,
)  # of the example's values: a model may change what it holds on a side of a branch


def exposed(loaded: Loaded) -> Loaded:
    """The same model with its state as inputs and outputs; as it is, where it has none.

    It is called a few times to see what a call leaves behind, and put back as it was. A model that
    does not run on its example has no state to find, and is diagnosed as it is."""
    module = getattr(loaded.module, "__self__", loaded.module)
    loaded = dataclasses.replace(loaded, exposed=True)
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        return loaded
    try:
        found = _Observation(loaded, module).found()
    except Exception:  # what the model does on its example is the capture's to say
        return loaded
    if not found.places and not found.arguments:
        return loaded
    return _with_state(loaded, module, found)


@dataclass(frozen=True, slots=True)
class _Found:
    places: tuple[tuple[Place, InputLeaf, StateLeaf], ...]
    arguments: tuple[int, ...]  # leaves that the model writes


class _Observation:
    """A model called on its example, and on other sizes of it."""

    def __init__(self, loaded: Loaded, module: torch.nn.Module) -> None:
        self.loaded = loaded
        self.module = module

    def found(self) -> _Found:
        memory = Memory(self.module)
        try:
            before = remembered(self.module)
            first, arguments = self._call(self._example())
            once = remembered(self.module)
            second, _ = self._call(self._example())
            twice = remembered(self.module)
            memory.restore()
            elsewhere = self._changed_elsewhere(memory)
            others = [(spec, shift, self._at(size)) for spec, shift, size in self._sizes()]
        finally:
            memory.restore()
        matters = not _alike(first, second) or not _alike(_tensors(once), _tensors(twice))
        places = []
        for name, (place, value) in once.items():
            old = before[name][1] if name in before else None
            if name not in twice or (old is None and place.number is not None):
                continue
            unchanged = old is not None and _same(old, value) and _same(value, twice[name][1])
            if name not in elsewhere and (unchanged or not (matters or place.is_buffer)):
                continue
            dims = self._dims(name, value, twice[name][1], others)
            places.append((place, *self._leaf(name, value, twice[name][1], old, dims)))
        return _Found(tuple(places), arguments)

    def _changed_elsewhere(self, memory: Memory) -> set[str]:
        """What is changed by a call on other values, where those make a difference to a second one."""
        found: set[str] = set()
        for factor in _FACTORS:
            try:
                before = remembered(self.module)
                first, _ = self._call(self._example(factor))
                once = remembered(self.module)
                second, _ = self._call(self._example(factor))
            except Exception:  # values that the model does not take say nothing
                continue
            finally:
                memory.restore()
            for name, (place, value) in once.items():
                changed = name in before and not _same(before[name][1], value)
                if changed and (place.is_buffer or not _alike(first, second)):
                    found.add(name)
        return found

    def _leaf(
        self,
        name: str,
        value: torch.Tensor,
        later: torch.Tensor,
        old: torch.Tensor | None,
        dims: Mapping[int, DimSpec],
    ) -> tuple[InputLeaf, StateLeaf]:
        leaf = InputLeaf(name, value, f"state[{name!r}]", tuple(sorted(dims.items())))
        dtype = str(value.dtype).removeprefix("torch.")
        if old is not None:
            held = (
                None
                if not old.any()
                else bytes(old.contiguous().view(-1).view(torch.uint8).numpy())
            )
            return leaf, StateLeaf(name, f"{name}_out", dtype, tuple(old.shape), held)
        grown = zip(value.shape, later.shape, strict=True)
        shape = tuple(
            2 * now - then if now != then else (dims[axis].name or now) if axis in dims else now
            for axis, (now, then) in enumerate(grown)
        )
        return leaf, StateLeaf(name, f"{name}_out", dtype, shape)

    def _dims(
        self,
        name: str,
        value: torch.Tensor,
        later: torch.Tensor,
        others: Sequence[tuple[DimSpec, int, Mapping[str, tuple[Place, torch.Tensor]]]],
    ) -> dict[int, DimSpec]:
        """Sizes of a state that follow a size of an input, and those that grow from call to call."""
        dims: dict[int, DimSpec] = {}
        if later.dim() != value.dim():
            raise ValueError("the rank of a state changes from call to call")
        for spec, shift, seen in others:
            if name not in seen or seen[name][1].dim() != value.dim():
                continue
            for axis, (now, then) in enumerate(zip(value.shape, seen[name][1].shape, strict=True)):
                if then - now == shift:
                    dims[axis] = DimSpec(spec.name, asked=spec.asked)
        for axis, (now, then) in enumerate(zip(value.shape, later.shape, strict=True)):
            if now != then:
                dims[axis] = DimSpec(f"{name.replace('.', '_')}_length", lower=0)
        return dims

    # ---- calls -----------------------------------------------------------------------------

    def _example(self, factor: float = 1) -> list[Any]:
        values = [copied(leaf.value) for leaf in self.loaded.leaves]
        return [_scaled(value, factor) for value in values] if factor != 1 else values

    def _call(self, values: list[Any]) -> tuple[list[Any], tuple[int, ...]]:
        given = [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
        args, kwargs = self.loaded.rebuild(given)
        with torch.no_grad():
            outputs = [value for _, value in flatten_outputs(self.loaded.module(*args, **kwargs))]
        written = tuple(
            place
            for place, (old, new) in enumerate(zip(values, given, strict=True))
            if isinstance(old, torch.Tensor) and not _same(old, new)
        )
        return [v.clone() if isinstance(v, torch.Tensor) else v for v in outputs], written

    def _sizes(self) -> list[tuple[DimSpec, int, dict[tuple[str, int], int]]]:
        """Each size that may vary, one larger, wherever it appears."""
        groups: dict[Any, dict[tuple[str, int], tuple[DimSpec, int]]] = {}
        for leaf in self.loaded.leaves:
            for axis, spec in leaf.dims:
                key = spec.name or (leaf.name, axis)
                size = leaf.value.shape[axis] + spec.scale
                groups.setdefault(key, {})[leaf.name, axis] = (spec, size)
        return [
            (next(iter(group.values()))[0], 1, {at: size for at, (_, size) in group.items()})
            for group in groups.values()
        ]

    def _at(self, sizes: Mapping[tuple[str, int], int]) -> dict[str, Any]:
        values = []
        for leaf in self.loaded.leaves:
            value = copied(leaf.value)
            for (name, axis), size in sizes.items():
                if name == leaf.name:
                    value = value.index_select(axis, torch.arange(size) % value.shape[axis])
            values.append(value)
        memory = Memory(self.module)
        try:
            self._call(values)
            return remembered(self.module)
        except Exception:  # a size that the model does not take says nothing
            return {}
        finally:
            memory.restore()


def _with_state(loaded: Loaded, module: torch.nn.Module, found: _Found) -> Loaded:
    count = len(loaded.leaves)
    arguments = [loaded.leaves[place] for place in found.arguments]
    states = (
        *(state for _, _, state in found.places),
        *(StateLeaf(a.name, f"{a.name}_out", is_argument=True) for a in arguments),
    )
    explicit = _Explicit(
        loaded.module, module, [place for place, _, _ in found.places], [s.output for s in states]
    )
    plain = loaded.rebuild

    def rebuild(values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        own = list(values[:count])
        for place in found.arguments:  # the caller's tensor stays as it was
            own[place] = own[place].clone()
        args, kwargs = plain(own)
        written = [own[place] for place in found.arguments]
        return ((list(values[count:]), written), *args), kwargs

    leaves = (*loaded.leaves, *(leaf for _, leaf, _ in found.places))
    args, kwargs = rebuild([leaf.value for leaf in leaves])
    return dataclasses.replace(
        loaded,
        module=explicit,
        args=args,
        kwargs=kwargs,
        leaves=leaves,
        rebuild=rebuild,
        states=states,
        stateful=loaded,
    )


class _Explicit(torch.nn.Module):
    """The user's model with its state put in before a call and taken out after it."""

    def __init__(
        self,
        call: Any,
        module: torch.nn.Module,
        places: Sequence[Place],
        names: Sequence[str],
    ) -> None:
        super().__init__()
        # Its weights are this one's own: they keep the names that they have in its state dict.
        for table in ("_parameters", "_buffers", "_modules"):
            self.__dict__[table] = module.__dict__[table]
        self._call = [call]  # in a list, lest its weights be counted twice
        self._places = tuple(places)
        self._names = tuple(names)
        self.__name__ = type(module).__name__
        self.training = module.training

    def forward(self, state: tuple[list[Any], list[Any]], *args: Any, **kwargs: Any) -> WithState:
        call, places, names = self._call[0], self._places, self._names
        given, written = state
        before = [place.read() for place in places]
        for place, value in zip(places, given, strict=True):
            place.take(value)
        try:
            outputs = call(*args, **kwargs)
            after = [place.tensor() for place in places]
        finally:
            for place, value in zip(places, before, strict=True):
                place.write(value)
        return WithState(outputs, dict(zip(names, [*after, *written], strict=True)))


def _tensors(seen: Mapping[str, tuple[Place, torch.Tensor]]) -> list[torch.Tensor]:
    """Without the numbers: one that only counts calls makes no other tensors, or it shows in them."""
    return [value for place, value in seen.values() if place.number is None]


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype.is_floating_point:
        return value * factor
    if isinstance(value, torch.Tensor) and value.dtype is torch.bool:
        return ~value if factor < 0 else value
    return value


def _alike(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return bool(a.shape == b.shape and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True))
    return bool(a == b)
