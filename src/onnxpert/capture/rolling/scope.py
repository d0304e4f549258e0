"""Graphs within graphs: while the body of a loop is written, calls go there and not around it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.recorder import Recorder
from onnxpert.capture.rolling.trace import UnalikeError
from onnxpert.core.storages import storage, written
from onnxpert.core.types import GraphInput, InputKind

# What belongs to one graph; the rest of a recorder (weights, known values) is the model's.
_PAGE = ("graph", "inputs", "_nodes", "_by_storage", "_last_placeholder", "_journal")


class NestingRecorder(Recorder):  # type: ignore[no-untyped-call]
    """A recorder that can be turned to another graph for a while."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.current: dict[str, Any] = {}
        self.turns: set[Any] = set()  # symbols of turns
        self.rest: Any = None  # how long the last of several blocks is, where it may be shorter

    @contextmanager
    def turned_to(self, page: dict[str, Any]) -> Iterator[None]:
        before = self.current
        self._turn(page)
        try:
            yield
        finally:
            self._turn(before)

    def _turn(self, page: dict[str, Any]) -> None:
        self.current.update({name: getattr(self, name) for name in _PAGE})
        self.__dict__.update(page)
        self.current = page

    def knows(self, value: torch.Tensor) -> bool:
        return id(value) in self._nodes

    def stand_in(self, value: torch.Tensor) -> torch.Tensor:
        with _disable_current_modes():  # to look at a constant is no call of the model's
            found: torch.Tensor = self._stand_in(value)
        return found

    def unrecorded(self, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        """A tensor that no call has made: an input of a body, a result of a loop."""
        with _disable_current_modes(), self.fake_mode:
            return torch.empty(shape, dtype=dtype)

    def sliced(
        self, tensor: torch.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
    ) -> torch.Tensor | None:
        """A slice that moves with a turn is as long as it says: torch would not say at all."""
        start = 0 if start is None else start
        end = tensor.shape[dim] if end is None or end is sys.maxsize else end
        if step != 1:
            return None
        sizes = list(tensor.shape)
        if self.turns & (_symbols(start) | _symbols(end)):
            sizes[dim] = end - start
        elif self.rest is not None and _is_same(tensor.shape[dim] - start, self.rest):
            sizes[dim] = self.rest  # of a last block, however long it was to be
        else:
            return None
        offset = tensor.storage_offset() + start * tensor.stride(dim)
        with _disable_current_modes(), self.fake_mode:
            result = tensor.as_strided(sizes, tensor.stride(), offset)
        self.write(torch.ops.aten.slice.Tensor, (tensor, dim, start, end), {}, result)
        return result


def _is_same(one: Any, other: Any) -> bool:
    """Whether two sizes are known to be one."""
    return isinstance(one, torch.SymInt) and bool(one.node.expr == other.node.expr)


def _symbols(value: Any) -> set[Any]:
    return set(value.node.expr.free_symbols) if isinstance(value, torch.SymInt) else set()


def blank() -> dict[str, Any]:
    return {
        "graph": fx.Graph(),
        "inputs": [],
        "_nodes": {},
        "_by_storage": {},
        "_last_placeholder": None,
        "_journal": [],
    }


class Scope:
    """A graph being written: the model's, or the body of a loop with what it takes from outside."""

    def __init__(self, recorder: NestingRecorder, parent: Scope | None = None) -> None:
        self.recorder = recorder
        self.parent = parent
        self.page = recorder.current if parent is None else blank()
        self.others: list[torch.Tensor] = []  # outer tensors that a body reads
        self.bodies: list[torch.nn.Module] = []
        self._stand_ins: dict[int, torch.Tensor] = {}  # id of an outer tensor -> what is here
        self._written: list[int] = []  # storages of outer tensors that have a stand-in to write

    def put(self, outer: torch.Tensor, here: torch.Tensor) -> None:
        """Whoever asks for `outer` in here means `here`, and may write it."""
        self._stand_ins[id(outer)] = here
        self._written.append(storage(outer))

    def formal(self, name: str, value: Any) -> None:
        self.recorder.placeholder(GraphInput(InputKind.USER, name), value)

    def bring(self, value: torch.Tensor) -> torch.Tensor:
        """A tensor from outside, made an input of this graph."""
        if self.parent is None:
            return self.recorder.stand_in(value)
        if id(value) in self._stand_ins:
            return self._stand_ins[id(value)]
        if self.recorder.knows(value):
            return value
        with self.recorder.turned_to(self.parent.page):
            outer = self.parent.bring(value)
        if outer is not value:
            return self.bring(outer)
        if storage(outer) in self._written:
            raise UnalikeError("a loop writes a tensor that it also knows by another name")
        self.formal(f"other_{len(self.others)}", outer)
        self.others.append(outer)
        return outer


def written_stores(graph: torch.fx.Graph) -> set[int]:
    """The memory that the calls of a graph write to."""
    found: set[int] = set()
    for node in graph.nodes:
        for one in written(node.target, node.args, node.kwargs):
            if isinstance(one, torch.fx.Node):
                found.add(storage(one.meta["val"]))
    return found
