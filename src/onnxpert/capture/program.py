"""An exported program as a captured graph: what its signature says, said in our own values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputSpec, OutputKind
from torch.export.graph_signature import InputKind as Kind

from onnxpert.capture.guards import guards_of
from onnxpert.core.source import module_of
from onnxpert.core.types import Captured, GraphInput, InputKind, Loaded

aten = torch.ops.aten
Outputs = Callable[[Sequence[Any]], tuple[Sequence[Any], tuple[str, ...]]]

# They compute nothing: what they check is in the guards, and the proof runs the model itself.
_CHECKS = frozenset(
    {
        aten._assert_scalar.default,
        aten._assert_async.default,
        aten._assert_async.msg,
        aten._assert_tensor_metadata.default,
        aten.sym_constrain_range.default,
        aten.sym_constrain_range_for_size.default,
        aten._functional_assert_async.msg,
    }
)
_WRITES = frozenset(
    {OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION}
)


def captured(
    program: ExportedProgram,
    loaded: Loaded,
    strategy: str,
    *,
    users: Sequence[str],
    outputs: Outputs,
    prefix: str = "",
) -> Captured:
    """The program's graph with its inputs explained.

    `users` names the user inputs that are not constants, in order; `outputs` tells which of the
    program's outputs become ours, and their names; `prefix` is what a wrapper put before every
    name. Raises TypeError for an input that no file could hold."""
    _refuse_batched(program)
    copy = _Copy(program, users, prefix)
    values, names = outputs(copy.outputs)
    copy.graph.output(tuple(values))
    return Captured(
        root=fx.GraphModule(program.graph_module, copy.graph),
        inputs=tuple(copy.inputs),
        strategy=strategy,
        guards=guards_of(_environment(program)),
        output_names=names,
        loaded=loaded,
        written=tuple(copy.written),
    )


def _refuse_batched(program: ExportedProgram) -> None:
    """A tensor of `vmap` that was left behind in a graph stands for no tensor that a file has."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, fx.GraphModule) else ():
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and torch._C._functorch.is_batchedtensor(value):
                raise NotImplementedError("torch.export left a tensor of vmap in the graph")


class _Copy:
    """The program's graph copied node by node; the program itself may be the user's."""

    def __init__(self, program: ExportedProgram, users: Sequence[str], prefix: str) -> None:
        self.graph = fx.Graph()
        self.inputs: list[GraphInput] = []
        self.written: list[str] = []
        self.outputs: list[Any] = []  # the user's own, as nodes or constants
        self._program = program
        self._users: Iterator[str] = iter(users)
        self._prefix = prefix
        self._known: dict[fx.Node, Any] = {}
        self._places: dict[str, fx.Node] = {}  # what a write names: a weight, or a user's input
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        for node in program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, specs[node.name])
            elif node.op == "output":
                self._output(node)
            elif node.target not in _CHECKS:
                self._known[node] = self._copied(node)

    def _placeholder(self, node: fx.Node, spec: InputSpec) -> None:
        if isinstance(spec.arg, ConstantArgument):
            self._known[node] = spec.arg.value
            return
        self.inputs.append(self._entry(spec))
        self._known[node] = self._copied(node)
        self._places[str(spec.target or node.name)] = self._known[node]

    def _entry(self, spec: InputSpec) -> GraphInput:
        if spec.kind is Kind.USER_INPUT:
            return GraphInput(InputKind.USER, next(self._users))
        target = str(spec.target)
        name = target.removeprefix(self._prefix)
        if spec.kind is Kind.PARAMETER:
            return GraphInput(InputKind.PARAMETER, name, self._program.state_dict[target])
        if spec.kind is Kind.BUFFER:
            home = self._program.state_dict if spec.persistent else self._program.constants
            return GraphInput(InputKind.BUFFER, name, home[target])
        if spec.kind is Kind.CONSTANT_TENSOR:
            return GraphInput(InputKind.CONSTANT, name, self._program.constants[target])
        raise TypeError(f"the exported program takes `{spec.arg.name}`, a {spec.kind.name.lower()}")

    def _copied(self, node: fx.Node) -> fx.Node:
        copy = self.graph.node_copy(node, self._known.__getitem__)
        copy.meta["module"] = _module(node, self._prefix)
        return copy

    def _output(self, node: fx.Node) -> None:
        values: Any = fx.node.map_arg(node.args[0], self._known.__getitem__)
        specs = self._program.graph_signature.output_specs
        for value, spec in zip(values, specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                self.outputs.append(value)
            elif spec.kind in _WRITES:
                self._write(str(spec.target), value, spec.kind)
            else:
                raise TypeError(f"the exported program gives a {spec.kind.name.lower()}")

    def _write(self, target: str, value: fx.Node, kind: OutputKind) -> None:
        """A write that torch moved to the outputs goes back to where it happens: in the graph."""
        place = self._places[target]
        if kind is not OutputKind.USER_INPUT_MUTATION:
            self.written.append(target.removeprefix(self._prefix))
        write = self.graph.call_function(aten.copy_.default, (place, value))
        write.meta = {**value.meta, "val": place.meta["val"]}


def _module(node: fx.Node, prefix: str) -> str:
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    if prefix:
        return module_of({"nn_module_stack": stack})
    return str(list(stack.values())[-1][0])


def _environment(program: ExportedProgram) -> Any:
    for node in program.graph.nodes:
        mode = getattr(node.meta.get("val"), "fake_mode", None)
        if mode is not None:
            return mode.shape_env
    return None
