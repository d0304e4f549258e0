"""A body that only runs on real tensors, watched: Python has the values, the graph has stand-ins.

Where a scouted body raises on fake tensors, it is run once more as the user runs it. Every call that
it dispatches is done for real and written down beside it, so that nothing after the exception stays
unseen. Sizes are numbers here, and so is what Python reads out of a tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from onnxpert.capture.recorder import Recorder
from onnxpert.core.types import Asked, GraphInput, InputKind

if TYPE_CHECKING:
    from onnxpert.capture.scouting.scout import Scout

aten = torch.ops.aten
_READS = frozenset(
    {
        aten._local_scalar_dense.default,
        aten.item.default,
        aten.is_nonzero.default,
        aten.equal.default,
    }
)
# What hands a tensor's memory to something that is not torch, without a call that is dispatched.
LEAVES = frozenset(
    {"numpy", "__array__", "__array_wrap__", "tolist", "data_ptr", "storage", "untyped_storage",
     "__dlpack__"}
)  # fmt: skip

SPARSE = frozenset(
    {torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc}
)


class Witness(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Does each call, and has the scout write it down."""

    def __init__(self, scout: Scout) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._scout = scout
        self._shadows: dict[int, torch.Tensor] = {}  # id of a real tensor -> its stand-in
        self._kept: list[torch.Tensor] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        with _disable_current_modes(), self:
            yield

    def knows(self, real: torch.Tensor) -> bool:
        """Whether a tensor's value is the same for every input of the model."""
        scout = self._scout
        shadow = self._shadows.get(id(real))
        return id(real) in scout._names or (shadow is not None and id(shadow) in scout._constants)

    def follow(self, real: torch.Tensor, copy: torch.Tensor) -> None:
        self._remember(copy, self._shadow(real))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if isinstance(func, HigherOrderOperator):
            return func(*args, **kwargs)
        if func in _READS:
            out = func(*args, **kwargs)
            if not self.knows(args[0]):
                self._scout.was_read(truth=isinstance(out, bool))
            return out
        # Before the call, which may write to what it is given.
        given = pytree.tree_map(self._shadow, (tuple(args), kwargs))
        out = func(*args, **kwargs)
        of_weights = any(map(is_sparse_stand_in, pytree.tree_leaves(given)))
        odd = next(filter(is_odd, pytree.tree_leaves(out)), None)
        if odd is not None and not of_weights:
            self._scout.block(Asked.CALL, f"a {oddity(odd)} tensor is made")
        elif of_weights or not any(map(is_odd, pytree.tree_leaves((args, kwargs)))):
            self._write(func, types, given, out)
        return out

    def _write(self, func: Any, types: Any, given: Any, out: Any) -> None:
        scout = self._scout
        args, kwargs = given
        mark = scout.mark()
        try:
            with scout.fake_mode:
                shadow = Recorder.__torch_dispatch__(scout, func, types, args, kwargs)
        except Exception as error:
            scout.take_back(mark)
            scout.block(Asked.CALL, f"{type(error).__name__}: {error}")
            return
        pairs = zip(pytree.tree_leaves(out), pytree.tree_leaves(shadow), strict=False)
        for real, fake in pairs:
            if isinstance(real, torch.Tensor) and isinstance(fake, torch.Tensor):
                self._remember(real, fake)

    def _remember(self, real: torch.Tensor, fake: torch.Tensor) -> None:
        self._kept.append(real)
        self._shadows[id(real)] = fake

    def _shadow(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
            return value
        scout = self._scout
        found = self._shadows.get(id(value))
        if found is None and id(value) in scout._names:  # a weight
            with scout.fake_mode:
                found = Recorder._lift(scout, value)
        elif found is None:
            found = self._from_outside(value)
        self._remember(value, found)
        return found

    def _from_outside(self, real: torch.Tensor) -> torch.Tensor:
        """An argument, or what NumPy, a thread or a module of its own made: sizes as they are."""
        scout = self._scout
        dense = densely(real)
        with scout.fake_mode:
            fake = torch.empty(tuple(dense.shape), dtype=real.dtype)
        name = f"outside_{len(scout.inputs)}"
        Recorder.placeholder(
            scout, GraphInput(InputKind.CONSTANT, name, dense, stands_in=True), fake
        )
        return fake


def is_odd(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (
        value.is_nested or value.layout is not torch.strided
    )


def is_sparse_stand_in(value: Any) -> bool:
    """What stands for a sparse weight, which a file holds, or for what is made of one."""
    return isinstance(value, FakeTensor) and is_odd(value)


def oddity(value: torch.Tensor) -> str:
    """What a tensor is that no graph has."""
    if value.is_nested:
        return "nested"
    return "mkldnn" if value.is_mkldnn else "sparse"


def densely(real: torch.Tensor) -> torch.Tensor:
    """A tensor as a graph could hold it."""
    if not is_odd(real):
        return real
    with _disable_current_modes():
        return real.to_padded_tensor(0.0) if real.is_nested else real.to_dense()


def sparsely(real: torch.Tensor) -> torch.Tensor:
    """A tensor as `sparse_coo_tensor` gives it."""
    return real if is_odd(real) or not real.dim() else real.to_sparse()
