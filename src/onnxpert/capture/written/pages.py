"""A recorder that writes the sides of a branch and the turns of a loop on pages of their own.

What a page reads of the tensors around it is brought in by itself; what it writes of them is handed
back. Private torch APIs used here were tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import _constrain_range_for_size

from onnxpert.capture.holder import Recorded
from onnxpert.capture.rolling.scope import NestingRecorder, blank, written_stores
from onnxpert.capture.written.absences import Absences
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.second_names import SecondNames
from onnxpert.core.storages import storage
from onnxpert.core.types import GraphInput, InputKind, Location

aten: Any = torch.ops.aten


@dataclass(eq=False)
class Page:
    """A graph inside another one."""

    parent: Page | None
    content: dict[str, Any]
    others: list[torch.Tensor] = field(default_factory=list)  # outer tensors, in order of use
    bodies: list[torch.nn.Module] = field(default_factory=list)
    places: dict[int, fx.Node] = field(default_factory=dict)  # id of an outer tensor -> what it is

    @property
    def graph(self) -> fx.Graph:
        graph: fx.Graph = self.content["graph"]
        return graph


class PageRecorder(NestingRecorder):  # type: ignore[no-untyped-call]
    """Whatever is called goes to the page that is open."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.top = Page(None, self.current)
        self.page = self.top
        self.asked: list[tuple[str, Location | None, bool]] = []  # branches, as they are numbered
        self.absences = Absences()
        self.second_names = SecondNames()

    @contextmanager
    def opened(self, page: Page) -> Iterator[None]:
        before, self.page = self.page, page
        try:
            with self.turned_to(page.content):
                yield
        finally:
            self.page = before

    def new_page(self) -> Page:
        return Page(self.page, blank())

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is aten.item.default:  # torch takes that one apart where an offset is a symbol
            func = aten._local_scalar_dense.default
        self.absences.check((*args, *(kwargs or {}).values()))
        self.second_names.check(func, args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs)

    def give(self, outputs: Iterable[Any]) -> None:
        self.absences.check(outputs := list(outputs))
        self.second_names.check_use(outputs)
        super().give(outputs)

    # ---- tensors from around ---------------------------------------------------------------

    def _lift(self, real: torch.Tensor) -> torch.Tensor:
        with self.opened(self.top):
            return super()._lift(real)

    def reference(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or id(value) in self._nodes:
            return super().reference(value)
        if self.page.parent is None or self._is_here(value):
            return super().reference(value)
        with self.opened(self.page.parent):
            self.reference(value)  # wherever it is from: it is known there now
        self.placeholder(GraphInput(InputKind.USER, f"other_{len(self.page.others)}"), value)
        self.page.others.append(value)
        self.page.places[id(value)] = self._nodes[id(value)]
        return self._nodes[id(value)]

    def _is_here(self, value: torch.Tensor) -> bool:
        """Whether it lies in memory that this page made, or wears another look of it."""
        own = self._by_storage.get(storage(value), [])
        return any(node.op != "placeholder" for node in own) and not self._is_around(value)

    def _is_around(self, value: torch.Tensor) -> bool:
        page = self.page.parent
        while page is not None:
            if id(value) in page.content["_nodes"]:
                return True
            page = page.parent
        return False

    def _is_new(self, out: Any) -> bool:
        tensors = out if isinstance(out, (list, tuple)) else [out]
        stores = {storage(one) for one in tensors if isinstance(one, torch.Tensor)}
        page: Page | None = self.page
        while page is not None:
            content = self.__dict__ if page is self.page else page.content
            if not stores.isdisjoint(content["_by_storage"]):
                return False
            page = page.parent
        return True

    def is_given(self, value: torch.Tensor) -> bool:
        """Whether it lies in the memory of an input or of a weight."""
        content = self.__dict__ if self.page is self.top else self.top.content
        looks = content["_by_storage"].get(storage(value), [])
        return any(node.op == "placeholder" for node in looks)

    def _looks(self, value: torch.Tensor) -> Iterable[fx.Node]:
        page: Page | None = self.page
        while page is not None:
            content = self.__dict__ if page is self.page else page.content
            yield from content["_by_storage"].get(storage(value), [])
            page = page.parent

    # ---- numbers and sizes -----------------------------------------------------------------

    def known(self, tensor: torch.Tensor) -> Any | None:
        return self._number(self._stand_in(tensor))

    def size(self) -> torch.SymInt:
        """One that only a run knows."""
        environment: Any = self.fake_mode.shape_env
        made: torch.SymInt = environment.create_unbacked_symint()
        _constrain_range_for_size(made)
        environment.pending_fresh_unbacked_symbols.clear()
        return made

    def read(self, tensor: torch.Tensor) -> Any:
        """The number in a tensor; nobody asked for it but us."""
        asked = len(self.reads)
        number = aten._local_scalar_dense.default(tensor)
        del self.reads[asked:]
        environment: Any = self.fake_mode.shape_env
        environment.pending_fresh_unbacked_symbols.clear()
        return number

    # ---- pages that are full ---------------------------------------------------------------

    def formal(self, name: str, value: Any) -> fx.Node:
        return self.placeholder(GraphInput(InputKind.USER, name), value)

    def held(self, page: Page) -> fx.Node:
        """A page as an argument of a call here."""
        name = f"loop_{len(self.page.bodies)}"
        self.page.bodies.append(Recorded(page.graph, page.bodies))
        return self.graph.create_node("get_attr", name)


def written_in(page: Page) -> list[torch.Tensor]:
    """The outer tensors that the calls on a page write."""
    stores = written_stores(page.graph)
    found = [outer for outer in page.others if storage(outer) in stores]
    if len({storage(outer) for outer in found}) < len(found):
        raise UnwritableError("a tensor is written that goes by two names")
    return found


def made_own(
    recorder: PageRecorder, page: Page, outer: torch.Tensor, place: fx.Node | None = None
) -> fx.Node:
    """Has a page write a copy of a tensor from around, or of one that it is given at a place; gives
    what the copy is in the end."""
    place = place or page.places[id(outer)]
    with recorder.opened(page):
        copied = _behind_inputs(page, aten.clone.default, place)
        place.replace_all_uses_with(copied, delete_user_cb=lambda user: user is not copied)
        copied.meta["val"] = outer
        place.meta["val"] = recorder.unrecorded(outer.shape, outer.dtype)
        recorder._nodes[id(outer)] = copied
    return copied


def _behind_inputs(page: Page, target: Any, *args: Any) -> fx.Node:
    last = [node for node in page.graph.nodes if node.op == "placeholder"][-1]
    with page.graph.inserting_after(last):
        return page.graph.call_function(target, args)


def arranged(
    recorder: PageRecorder, page: Page, first: Sequence[fx.Node], others: Iterable[torch.Tensor]
) -> None:
    """The inputs of a page in an order: some of its own, and then these tensors from around."""
    places = list(first)
    for outer in others:
        if id(outer) not in page.places:
            with recorder.opened(page):
                node = recorder.formal("unread", recorder.unrecorded(outer.shape, outer.dtype))
            page.places[id(outer)] = node
        places.append(page.places[id(outer)])
    for node in reversed(places):
        start = next(iter(page.graph.nodes))
        if start is not node:
            start.prepend(node)


def same_size(a: Any, b: Any) -> bool:
    """Whether two sizes are one for certain."""
    one, other = (s.node.expr if isinstance(s, torch.SymInt) else s for s in (a, b))
    return bool(one == other)


def symbols(value: Any) -> set[Any]:
    return set(value.node.expr.free_symbols) if isinstance(value, torch.SymInt) else set()
