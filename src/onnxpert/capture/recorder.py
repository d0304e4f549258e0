"""The recorder: runs the model on fake tensors and writes down every ATen call, composites whole.

It does what `torch.export` does at the centre (fake tensors with symbolic sizes) and nothing of what
it does around it; a whole capture costs about a third. Below the autograd keys a dispatch mode sees
composite operators (`linear`, `layer_norm`, `scaled_dot_product_attention`) before they fall apart,
so there is nothing to recompose later. Private torch APIs used here were tried on 2.13 and 2.15."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.capture.autocast import Autocast
from onnxpert.capture.custom import Custom, Mark
from onnxpert.capture.faking.elementwise import of_elements
from onnxpert.capture.faking.fake_mode import Fakes
from onnxpert.capture.faking.fakes import faked
from onnxpert.capture.faking.index_ranges import settled_comparison
from onnxpert.capture.faking.outcomes import Outcomes
from onnxpert.capture.faking.uniform import Uniform
from onnxpert.capture.inner import bodies
from onnxpert.capture.open_sizes.derived import with_own_sizes
from onnxpert.capture.open_sizes.lone import forget_lone, note_lone
from onnxpert.capture.open_sizes.packed import known_number
from onnxpert.capture.places import user_frames
from onnxpert.capture.quantised.calls import Quantisation
from onnxpert.capture.reasoning import Frugal
from onnxpert.capture.watching.looking_away import unwatched
from onnxpert.core import deadline
from onnxpert.core.bodies import is_custom
from onnxpert.core.keepsakes import keep
from onnxpert.core.source import location
from onnxpert.core.storages import storage, written
from onnxpert.core.types import GraphInput, InputKind, Location

aten = torch.ops.aten
_READS_VALUE = frozenset({aten._local_scalar_dense.default, aten.item.default})
# Who reads a lone number, and what is made of it where that is known.
_KNOWN_OF: dict[Any, Callable[[Any], Any]] = {
    **dict.fromkeys(_READS_VALUE, lambda known: known),
    aten.is_nonzero.default: bool,
}
_CONSTANT_ELEMENTS = 4096
_FEW_ELEMENTS = 64
_WATCHED = 512
_REPEATING = 96  # after so many calls on sizes that vary, to remember outcomes begins to pay


def new_fake_mode() -> FakeTensorMode:
    environment = Frugal(
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        duck_shape=False,  # two sizes that happen to be equal in the example are still two sizes
    )
    # Without `export`, Python is told the value of a lone number and the file keeps it for ever.
    return Fakes(shape_env=environment, allow_non_fake_inputs=True, export=True)


class UnseenTensorError(RuntimeError):
    """A tensor that was made where the recorder does not look: by a thread, by a kernel of C's."""


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes an FX graph of what is dispatched while it is on."""

    supports_higher_order_operators = True  # they arrive here, to be refused in plain words

    def __init__(
        self,
        fake_mode: FakeTensorMode,
        names: Mapping[int, tuple[InputKind, str]],
        whole: frozenset[Any] = frozenset(),
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.fake_mode = fake_mode
        # There is nothing at the address, and compiled code that was given it would end the process.
        fake_mode._allow_unsafe_data_ptr_access = False
        self.graph = fx.Graph()
        self.inputs: list[GraphInput] = []
        self.modules: list[str] = [""]
        self._names = dict(names)  # id of a tensor of the model's -> what it is
        self._nodes: dict[int, fx.Node] = {}  # id of a fake tensor -> where it was made
        self._fakes: dict[int, torch.Tensor] = {}  # id of a real tensor -> its stand-in
        self._lifted: dict[
            int | None, torch.Tensor
        ] = {}  # storage of a stand-in -> what it stands in for
        self._kept: list[torch.Tensor] = []  # keeps ids from being given out twice
        self._constants: dict[int, torch.Tensor] = {}  # id of a fake -> its known value
        self._uniform = Uniform()
        self._by_storage: dict[int, list[fx.Node]] = {}
        self._last_placeholder: fx.Node | None = None
        self._journal: list[tuple[torch.Tensor, fx.Node, fx.Node | None]] = []
        self.examples: dict[fx.Node, Any] = {}  # placeholder -> the value it stands for
        self.custom = Custom(self, whole)
        self.quantised = Quantisation(self)
        self.autocast = Autocast(self)
        self._outcomes = Outcomes()
        self.reads: list[Location | None] = []  # where Python took a value that only the data know
        # Operators that take functions, and what they do as Python; empty: such a model is not ours.
        self.operators: dict[Any, Callable[..., Any]] = {}
        self.texts: list[Location | None] = []  # ... and where it made a text of one
        self.worded: dict[str, Any] = {}  # which one that is
        self.known: Callable[[Any], Any] = lambda _: None  # the number itself, if it is any
        self.watch: Callable[[], None] | None = None  # called every so many nodes

    # ---- inputs ----------------------------------------------------------------------------

    def placeholder(self, entry: GraphInput, value: Any, example: Any = None) -> fx.Node:
        # A weight is met in the middle of the run; placeholders stand together at the top.
        if self._last_placeholder is None:
            node = self.graph.placeholder(entry.name.replace(".", "_"))
        else:
            with self.graph.inserting_after(self._last_placeholder):
                node = self.graph.placeholder(entry.name.replace(".", "_"))
        self._last_placeholder = node
        node.meta["val"] = value
        self.examples[node] = entry.tensor if example is None else example
        self.inputs.append(entry)
        if isinstance(value, torch.Tensor):
            self._remember(value, node)
        return node

    def _lift(self, real: torch.Tensor) -> torch.Tensor:
        """The stand-in of a tensor of the model's own: a parameter, a buffer or a constant."""
        found = self._fakes.get(id(real))
        if found is not None:
            return found
        if real.is_meta or isinstance(real, FakeTensor):  # no values: only its shape is needed
            with self.fake_mode:
                fake: torch.Tensor = torch.empty_strided(
                    real.shape, real.stride(), dtype=real.dtype
                )
        else:
            with unset_fake_temporarily():
                fake = self.fake_mode.from_tensor(real, static_shapes=True)
        kind, name = self._names.get(id(real), (InputKind.CONSTANT, ""))
        name = name or f"constant_{len(self.inputs)}"
        self._kept.append(real)
        self._fakes[id(real)] = fake
        self._lifted[storage(fake)] = real
        self.placeholder(GraphInput(kind, name, real), fake)
        has_values = not (real.is_meta or isinstance(real, FakeTensor))
        # Of a parameter's numbers Python reads one or two (a temperature), never a matrix.
        most = _FEW_ELEMENTS if kind is InputKind.PARAMETER else _CONSTANT_ELEMENTS
        if has_values and real.numel() <= most:
            self._constants[id(fake)] = real
        return fake

    # ---- the calls -------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        deadline.check()
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return self._higher(func, args, kwargs)
        if func in (aten.lift_fresh.default, aten.detach_.default):  # a constant of forward's own
            return self._stand_in(args[0])
        args = _map(args, self._stand_in)
        kwargs = {key: _map(value, self._stand_in) for key, value in kwargs.items()}
        if func is aten.item.default:  # torch never comes by it until its decompositions are loaded
            func = aten._local_scalar_dense.default
        if func is aten._efficientzerotensor.default:  # its kernels go by way of a device `meta`
            func = aten.zeros.default
        if func in _KNOWN_OF and (known := self._number(args[0])) is not None:
            return _KNOWN_OF[func](known)
        if func in _READS_VALUE:
            self.reads.append(self.place())
        for given in written(func, args, kwargs):
            self._keep_content(given)
        if torch.Tag.inplace_view in func.tags:
            self._keep_look(args[0])
        if self.quantised.takes(func, args, kwargs):
            return self.quantised.call(func, args, kwargs)
        if is_custom(func):
            return self.custom.operator(func, args, kwargs)
        call = self.autocast.call if self.autocast.takes(func) else self._recorded
        return call(func, args, kwargs)

    def _higher(self, func: HigherOrderOperator, args: Any, kwargs: Mapping[str, Any]) -> Any:
        body = self.operators.get(func) or bodies().get(func)
        if body is None:
            raise NotImplementedError(f"the recorder does not look inside `{func._name}`")
        with self:
            return body(*args, **kwargs)

    def _recorded(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """A call that is an operator and nothing else."""
        out = self._outcome(func, args, kwargs)
        if self._is_new(out):
            out = with_own_sizes(out, self.fake_mode.shape_env)
        if func is aten.slice.Tensor and _is_whole(*args):
            # Of a size that is a number torch does not even make the call.
            self._remember(out, self.reference(args[0]))
            self._propagate(func, args, kwargs, out)
        elif self.worth_recording(func, out):
            self.write(func, args, kwargs, out)
            self._propagate(func, args, kwargs, out)
        return out

    def _outcome(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        out = faked(func, args, kwargs)
        if out is not NotImplemented:
            return out
        key = self._outcomes.key(func, args, kwargs)
        out = NotImplemented if key is None else self._outcomes.again(key)
        if out is NotImplemented:
            out = NotImplemented if key is None else of_elements(func, args)
            out = unwatched(func, args, kwargs) if out is NotImplemented else out
            if key is not None:
                self._outcomes.keep(key, out)
        return out

    def _is_new(self, out: Any) -> bool:
        """Whether what a call gave lies in no memory that was there before."""
        return not any(storage(t) in self._by_storage for t in _tensors(out))

    def _number(self, tensor: Any) -> Any | None:
        """What a tensor holds, where that is known without running anything."""
        if id(tensor) not in self._constants:
            settled = settled_comparison(self._nodes.get(id(tensor)))
            settled = self._uniform.number(tensor) if settled is None else settled
            return known_number(tensor) if settled is None else settled
        with unset_fake_temporarily():
            return self._constants[id(tensor)].item()

    def write(self, target: Any, args: Any, kwargs: Mapping[str, Any], out: Any) -> fx.Node:
        """One call, and what it gave."""
        node = self.graph.create_node(
            "call_function",
            target,
            _map(tuple(args), self.reference),
            {key: _map(value, self.reference) for key, value in kwargs.items()},
            name=getattr(target, "overloadpacket", target).__name__,
        )
        self._describe(node, out)
        if len(self.graph.nodes) == _REPEATING:
            self.fake_mode.cache_enabled = True
        if self.watch is not None and len(self.graph.nodes) % _WATCHED == 0:
            self.watch()
        return node

    def mark(self) -> Mark:
        """What has been recorded so far; `take_back` forgets what came after."""
        return len(self._journal), len(self.graph.nodes) - len(self.inputs), len(self.modules)

    def since(self, mark: Mark) -> list[fx.Node]:
        calls = [node for node in self.graph.nodes if node.op != "placeholder"]
        return calls[mark[1] :]

    def take_back(self, mark: Mark) -> None:
        while len(self._journal) > mark[0]:
            value, node, before = self._journal.pop()
            if node.op == "placeholder":
                continue  # a weight stays known
            self._by_storage[storage(value)].remove(node)
            if before is None:
                self._nodes.pop(id(value), None)
            else:
                self._nodes[id(value)] = before
        for node in reversed(self.since(mark)):
            self.graph.erase_node(node)
        del self.modules[mark[2] :]

    def place(self) -> Location | None:
        """The line of the model that is running."""
        return location(user_frames(), self.modules[-1])

    def give(self, outputs: Iterable[Any]) -> None:
        """Ends the graph; an output may be a weight that nothing has read before."""
        self.graph.output(tuple(self.reference(self._stand_in(output)) for output in outputs))

    def worth_recording(self, func: Any, out: Any) -> bool:
        if isinstance(out, torch.Tensor) or func in _READS_VALUE:
            return True
        if isinstance(out, (list, tuple)):
            return any(isinstance(item, torch.Tensor) for item in out)
        return bool(func._schema.is_mutable)

    def _describe(self, node: fx.Node, out: Any) -> None:
        node.meta["val"] = out
        node.meta["frames"] = user_frames()
        node.meta["module"] = self.modules[-1]
        if self.custom.running:
            node.meta["function"] = self.custom.running[0]
        if isinstance(out, torch.Tensor):
            self._remember(out, node)
        elif isinstance(out, (list, tuple)):
            for index, item in enumerate(out):
                if isinstance(item, torch.Tensor):
                    part = self.graph.call_function(operator.getitem, (node, index))
                    part.meta = {**node.meta, "val": item}
                    self._remember(item, part)

    def _remember(self, value: torch.Tensor, node: fx.Node) -> None:
        self._journal.append((value, node, self._nodes.get(id(value))))
        self._nodes[id(value)] = node
        self._kept.append(value)
        self._by_storage.setdefault(storage(value), []).append(node)

    def _keep_content(self, value: Any) -> None:
        """What the model's own run will write to is put back when all is done."""
        real = self._lifted.get(storage(value)) if isinstance(value, torch.Tensor) else None
        if real is not None and not real.is_meta and not isinstance(real, FakeTensor):
            with unset_fake_temporarily():
                keep(real)

    def _keep_look(self, value: torch.Tensor) -> None:
        """`unsqueeze_` gives the same tensor another shape: what was recorded keeps the one it had."""
        before = value.detach()
        for node in self._by_storage.get(storage(value), []):
            if node.meta["val"] is value:
                node.meta["val"] = before
            if node.target is operator.getitem:
                source = node.args[0].meta  # type: ignore[union-attr]
                source["val"] = [before if part is value else part for part in source["val"]]

    def _stand_in(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not self._is_ours(value):
            return self.quantised.lifted(value) if value.is_quantized else self._lift(value)
        return value

    def owns(self, value: Any) -> bool:
        """Whether it is a parameter or a buffer of the model's own, and not what stands in for it."""
        return id(value) in self._names

    def _is_ours(self, value: torch.Tensor) -> bool:
        return isinstance(value, FakeTensor) and value.fake_mode is self.fake_mode

    def reference(self, value: Any) -> Any:
        """The node of a tensor; anything else is itself."""
        if not isinstance(value, torch.Tensor):
            return value
        node = self._nodes.get(id(value))
        return node if node is not None else self._relative(value)

    def _relative(self, value: torch.Tensor) -> fx.Node:
        """The node of a tensor that came about without a call (`x.data`): same storage, same view."""
        for node in reversed(self._by_storage.get(storage(value), [])):
            known = node.meta["val"]
            if known.shape == value.shape and known.stride() == value.stride():
                self._remember(value, node)
                return node
        raise UnseenTensorError("a tensor appeared that no recorded operator made")

    def _propagate(self, func: Any, args: Any, kwargs: Mapping[str, Any], out: Any) -> None:
        """Values that are known already stay known: `.item()` of a constant is a number."""
        if func._schema.is_mutable:
            for value in _tensors((args, tuple(kwargs.values()))):
                self._forget(value)
            return
        note_lone(func, args, kwargs, out, self._constants)
        if not isinstance(out, torch.Tensor) or torch.Tag.nondeterministic_seeded in func.tags:
            return
        self._uniform.note(func, args, kwargs, out, self._constants)
        tensors = list(_tensors((args, tuple(kwargs.values()))))
        if not tensors or not all(id(value) in self._constants for value in tensors):
            return
        if (
            any(isinstance(size, torch.SymInt) for size in out.shape)
            or out.numel() > _CONSTANT_ELEMENTS
        ):
            return
        if _has_symbol((args, tuple(kwargs.values()))):
            return
        with unset_fake_temporarily():
            real = func(
                *_map(args, self._known), **{k: _map(v, self._known) for k, v in kwargs.items()}
            )
        self._constants[id(out)] = real

    def _known(self, value: Any) -> Any:
        return self._constants[id(value)] if isinstance(value, torch.Tensor) else value

    def _forget(self, value: torch.Tensor) -> None:
        for node in self._looks(value):
            self._constants.pop(id(node.meta["val"]), None)
            forget_lone(node.meta["val"])
            self._uniform.forget(node.meta["val"])

    def _looks(self, value: torch.Tensor) -> Iterable[fx.Node]:
        """All that lies in the memory of a tensor."""
        return self._by_storage.get(storage(value), [])


def _is_whole(
    _: torch.Tensor, __: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> bool:
    """`x[:]`, which is x."""
    ends = end is None or (type(end) is int and end == sys.maxsize)
    return ends and step == 1 and (start is None or (type(start) is int and start == 0))


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_map(item, change) for item in value)
    if isinstance(value, list):
        return [_map(item, change) for item in value]
    return change(value)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _has_symbol(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_symbol(item) for item in value)
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
