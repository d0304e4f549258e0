"""A recorder with the real values beside the fake ones: what stands for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.recorder import Recorder
from onnxpert.capture.scouting.knowing import Knowing
from onnxpert.capture.scouting.witness import SPARSE, densely, is_odd, sparsely
from onnxpert.capture.unwritten import tensors
from onnxpert.core.types import GraphInput, InputKind

SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Doubles(Recorder):  # type: ignore[no-untyped-call]
    """Keeps the example's value of every tensor of the graph, as far as it is known."""

    def __init__(
        self, mode: Any, names: Mapping[int, tuple[InputKind, str]], whole: frozenset[Any]
    ) -> None:
        super().__init__(mode, names, whole)
        self.known = self._environment.number
        self._real: dict[int, torch.Tensor] = {}  # id of a fake -> what it stands for
        self._doubtful: dict[int, torch.Tensor] = {}  # stand-ins of sizes that nobody knows, by id
        self._stood_in: set[int] = set()  # ids of real tensors that came from outside the graph
        self._left = (
            False  # whether NumPy has been handed anything: what it gives back is no constant
        )

    @property
    def _environment(self) -> Knowing:
        environment = self.fake_mode.shape_env
        assert isinstance(environment, Knowing)
        return environment

    def placeholder(self, entry: GraphInput, value: Any, example: Any = None) -> Any:
        real = entry.tensor if example is None else example
        if isinstance(value, torch.Tensor) and isinstance(real, torch.Tensor):
            is_user = entry.kind is InputKind.USER  # the model may write to it
            self._keep(value, real.detach().clone() if is_user else real)
        return super().placeholder(entry, value, example)

    def _keep(self, fake: torch.Tensor, real: torch.Tensor) -> None:
        if real.is_meta or isinstance(real, FakeTensor):
            return
        self._real[id(fake)] = real
        for size, known in zip(fake.shape, real.shape, strict=False):
            if isinstance(size, torch.SymInt):
                self._environment.learn(size, known)

    def _lift(self, real: torch.Tensor) -> torch.Tensor:
        weight = id(real) in self._names
        odd = is_odd(real) and not (weight and real.layout in SPARSE)
        outside = odd or (self._left and not weight)
        if id(real) in self._fakes or not (outside or id(real) in self._stood_in):
            return super()._lift(real)
        fake = self._standing_for(real, self._sizes(densely(real)))
        self._fakes[id(real)] = fake
        return fake

    def apart(self, real: torch.Tensor) -> torch.Tensor:
        """What stands for these values of the data, in a tensor of just this size."""
        return self._standing_for(real, list(real.shape))

    def _standing_for(self, real: torch.Tensor, sizes: list[Any]) -> torch.Tensor:
        dense = densely(real)
        with self.fake_mode:
            fake = torch.empty(sizes, dtype=real.dtype)
        self._kept.append(real)
        name = f"outside_{len(self.inputs)}"
        self.placeholder(GraphInput(InputKind.CONSTANT, name, dense, stands_in=True), fake)
        self._real[id(fake)] = real
        self._doubt(fake)
        return fake

    def _doubt(self, fake: torch.Tensor) -> None:
        """Sizes that may be made of dynamic ones, though they are numbers: what is asked of them says
        nothing of the model."""
        if not self._dynamic():
            return
        known = {pair for shape in self._shapes() for pair in _numbers(shape)}
        if any(pair not in known for pair in _numbers(fake.shape) if pair[1] != 1):
            self._doubtful[id(fake)] = fake

    def _sizes(self, real: torch.Tensor) -> list[Any]:
        """The shape of a stand-in: a size that an input's dynamic one has is taken to be that one,
        lest it be said of the user's model that it fixes a size which only the stand-in fixed."""
        return [self._dynamic().get(size, size) for size in real.shape]

    def _dynamic(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for shape in self._shapes():
            for size in shape:
                if isinstance(size, torch.SymInt) and size.node.hint is not None:
                    found.setdefault(size.node.hint, size)
        return found

    def _shapes(self) -> Iterator[torch.Size]:
        """Those of the inputs."""
        for entry, node in zip(self.inputs, self.graph.nodes, strict=False):
            value = node.meta["val"]
            if entry.kind is InputKind.USER and isinstance(value, torch.Tensor):
                yield value.shape

    def real(self, value: Any) -> Any:
        """The example's value of what stands for it; raises LookupError where it is not known."""
        if isinstance(value, torch.Tensor):
            if id(value) in self._real:
                return self._real[id(value)]
            if isinstance(value, FakeTensor) or value.is_meta:
                raise LookupError("no value is known")
            return value
        if isinstance(value, SYMBOLS):
            number = self._environment.number(value)
            if number is None:
                raise LookupError("no value is known")
            return number
        return value

    def reals(self, tree: Any) -> Any:
        return pytree.tree_map(self.real, tree)

    def stand_in(self, tree: Any) -> Any:
        """Real results, as tensors that the run can go on with."""

        def one(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            self._stood_in.add(id(value))
            self._kept.append(value)
            if value.is_quantized:
                box = self.quantised.lifted(value)
                self._real[id(box)] = value
                return box
            return self._lift(value)

        return pytree.tree_map(one, tree)

    def has(self, fake: torch.Tensor) -> bool:
        return id(fake) in self._real

    def _really(self, func: Any, args: Any, kwargs: Any) -> Any:
        """A call on the example's values; dense where torch did not notice that they were sparse,
        since what stands in for them is dense (`.to_dense()`), and sparse where a recording made them
        dense as they were made (`.coalesce()`)."""
        given, named = self.reals((args, kwargs))
        with _disable_current_modes():
            try:
                return func(*given, **named)
            except (NotImplementedError, RuntimeError) as error:
                odd = any(is_odd(each) for each in tensors((given, named)))
                if not odd and "sparse" not in f"{func} {error}":
                    raise
                look = densely if odd else sparsely
                given, named = pytree.tree_map_only(torch.Tensor, look, (given, named))
                return func(*given, **named)


def _numbers(shape: torch.Size) -> Iterator[tuple[int, int]]:
    """The sizes that are none of the dynamic ones, each with its place from the end."""
    pairs = zip(range(len(shape)), reversed(shape), strict=True)
    yield from ((place, size) for place, size in pairs if isinstance(size, int))
