"""From a captured graph to a whole ONNX model: inputs, weights, nodes, outputs and their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode

from onnxpert.core import states
from onnxpert.core.layouts import densely
from onnxpert.core.source import of_meta
from onnxpert.core.types import (
    Captured,
    GraphInput,
    InputKind,
    Lowered,
    StateLeaf,
    Symbol,
    Unsupported,
    replace,
)
from onnxpert.lower.boundaries import boundaries, witnesses
from onnxpert.lower.complex_pairs import LAYOUT, REAL, as_complex, as_pairs, is_complex, stored
from onnxpert.lower.custom import Wishes
from onnxpert.lower.dims import DimPrinter, name_symbols, symbol_table, write_ranges
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Shared
from onnxpert.lower.refusal import Refusal
from onnxpert.lower.symbols import expression
from onnxpert.lower.walk import Library, Walk
from onnxpert.lower.weights import Weights
from onnxpert.lower.wide_integers import in_sight


class Build:
    """One model being written."""

    def __init__(
        self,
        captured: Captured,
        opset: int,
        library: Library,
        fallback: Callable[..., Any],
        wishes: Wishes | None = None,
    ) -> None:
        self.captured = captured
        self.opset = opset
        self.shared = Shared(opset)
        self.op = Emitter(self.shared)
        self.shared.keeps_nan = captured.loaded is not None and captured.loaded.keeps_nan
        self.shared.wide_integers = in_sight(captured)
        self._mode = _fake_mode(captured)
        self.walk = Walk(self.op, library, fallback, self._mode, wishes)
        self.shared.inline = self.walk.inline
        self.names = name_symbols(captured)
        self.shared.dim_names = self.names
        self.print = DimPrinter(self.names)
        self._asked: tuple[Symbol, ...] = ()  # the sizes as the capture left them
        self._layouts: list[str] = []  # inputs and outputs that are complex
        self._weights = Weights(captured.loaded.module if captured.loaded else None)
        leaves = captured.loaded.leaves if captured.loaded else ()
        self._leaves = {leaf.name: leaf.value for leaf in leaves}

    def run(
        self, input_names: tuple[str, ...], output_names: tuple[str, ...], ir_version: int
    ) -> Lowered:
        inputs, given = self._inputs(input_names)
        names = self._output_names(output_names)
        self._asked = symbol_table(self.captured, self.names)
        results = self.walk.run(self.op, self.captured.root, given)
        self._note_sparse(names)
        outputs = [self._output(name, result) for name, result in zip(names, results, strict=True)]
        self._shapes()
        self._drop_renames()
        model = self._model(inputs, outputs, ir_version)
        return Lowered(
            model=model,
            opset=self.opset,
            unsupported=tuple(self.walk.unsupported),
            symbols=self._symbols(),
            inputs=tuple(str(value.name) for value in inputs),
            outputs=tuple(names),
            locations=self.walk.locations,
            origins=self.walk.origins,
            boundaries=boundaries(self.captured, self.names, self._mode.shape_env),
            witnesses=witnesses(self.captured, self.names, self._mode.shape_env),
            sources=tuple(self.walk.sources),
            overridden=tuple(self.walk.custom.overridden),
            older=tuple(self.walk.older),
            better_opset=self.walk.op.shared.better_opset,
        )

    def _symbols(self) -> tuple[Symbol, ...]:
        # What the side of a branch took for granted while it was written holds there only.
        return self._asked if self.captured.branches else symbol_table(self.captured, self.names)

    # ---- the way in ------------------------------------------------------------------------

    def _inputs(self, wished: tuple[str, ...]) -> tuple[list[ir.Value], list[Any]]:
        user = [entry for entry in self.captured.inputs if entry.kind is InputKind.USER]
        for entry, wish in zip(
            user, (*wished, *(e.name for e in user[len(wished) :])), strict=False
        ):
            self.shared.values.reserve(wish or entry.name)
        values: list[ir.Value] = []
        given: list[Any] = []
        placeholders = [n for n in self.captured.root.graph.nodes if n.op == "placeholder"]
        for entry, node in zip(self.captured.inputs, placeholders, strict=True):
            if entry.kind is not InputKind.USER:
                given.append(self._weight(entry))
                continue
            name = wished[len(values)] if len(values) < len(wished) else entry.name
            value = self._input(name, node.meta["val"])
            self._note_empty(entry.name, node.meta["val"])
            values.append(value)
            given.append(self._given(value, node.meta["val"]))
        return values, given

    def _note_empty(self, name: str, traced: Any) -> None:
        leaf = self._leaves.get(name)
        if isinstance(leaf, torch.Tensor) and isinstance(traced, torch.Tensor):
            for size, real in zip(traced.shape, leaf.shape, strict=True):
                if real == 0 and expression(size).is_Symbol:
                    self.shared.empty[expression(size)] = 0

    def _given(self, value: ir.Value, example: Any) -> Any:
        if not isinstance(example, torch.Tensor):
            return example
        if not example.is_complex():
            return value
        self._layouts.append(str(value.name))
        return as_complex(self.op, value)

    def _input(self, name: str, example: Any) -> ir.Value:
        if isinstance(example, (torch.SymInt, int)):
            value = ir.Value(name=name, shape=ir.Shape([]), type=ir.TensorType(ir.DataType.INT64))
            value.meta["shape"] = ()
            if isinstance(example, torch.SymInt):
                self.op.bind(expression(example), value, None)
            return value
        dtype = TO_ONNX[REAL.get(example.dtype, example.dtype)]
        sizes: list[Any] = [*example.shape, *([2] if example.is_complex() else [])]
        value = ir.Value(
            name=name, shape=ir.Shape(self.print.shape(sizes)), type=ir.TensorType(dtype)
        )
        value.meta["shape"] = tuple(sizes)
        for axis, size in enumerate(sizes):
            symbol = expression(size)
            if symbol.is_Symbol:
                self.op.bind(symbol, value, axis)
        return value

    def _weight(self, entry: GraphInput) -> ir.Value | None:
        tensor = entry.tensor
        if tensor is None or tensor.dtype not in TO_ONNX:
            return None
        held = as_pairs(tensor) if tensor.is_complex() else densely(tensor.detach())
        if entry.kind is InputKind.CONSTANT and tensor.is_meta:  # such a graph is only looked at
            held = torch.zeros((), dtype=held.dtype).expand(held.shape)
        tied = self._weights.made(tensor) if entry.kind is not InputKind.CONSTANT else None
        if entry.kind is InputKind.CONSTANT and tensor.numel() <= 64:
            value = self.op.const(held)
        elif tied is not None:
            value = tied
        else:
            name = self.shared.values.unique(entry.name)
            value = self.op.initialiser(name, self._weights.stored(entry, held))
            value.meta["weight"] = entry.kind is not InputKind.CONSTANT
            if value.meta["weight"]:
                self._weights.keep(tensor, value)
        return as_complex(self.op, value) if tensor.is_complex() else value

    # ---- the way out -----------------------------------------------------------------------

    def _note_sparse(self, names: Sequence[str]) -> None:
        """What is sparse inside has its zeros in the file; who is given it asks for another layout."""
        (returned,) = self.captured.root.graph.output_node().args
        for name, node in zip(names, returned, strict=True):
            value = node.meta.get("val") if isinstance(node, fx.Node) else None
            if isinstance(value, torch.Tensor) and value.layout is not torch.strided:
                reason = "it is sparse, and ONNX Runtime has dense tensors only"
                self.walk.unsupported.append(
                    Unsupported(f"output {name}", reason, of_meta(node.meta))
                )

    def _output_names(self, wished: tuple[str, ...]) -> list[str]:
        found = []
        for index, path in enumerate(self.captured.output_names):
            if index < len(wished):
                name = wished[index]
                self.shared.values.reserve(name)
            else:
                plain = "output" if path == "" else path
                wish = f"output_{plain}" if plain.isdigit() else plain
                name = self.shared.values.unique(wish)
            found.append(name)
        return found

    def _output(self, name: str, result: Any) -> ir.Value:
        """The result under its output name; an input or a weight given back needs a node of its own."""
        if not isinstance(result, ir.Value):
            result = self._number(name, result)
        if is_complex(result):
            self._layouts.append(name)
            result = self._without_rename(result)
        if result.producer() is None or result.meta.get("is_output"):
            shape, dtype = result.meta.get("shape"), result.dtype
            node = ir.Node("", "Identity", [result], num_outputs=1)
            node.name = self.shared.nodes.unique(f"{name}/Identity")
            self.op.nodes.append(node)
            result = node.outputs[0]
            result.dtype = dtype
            if shape is not None:
                result.meta["shape"] = shape
        elif result.name in self.walk.origins:
            self.walk.origins[name] = self.walk.origins.pop(result.name)
            if result.name in self.walk.locations:
                self.walk.locations[name] = self.walk.locations.pop(result.name)
        result.name = name
        result.meta["is_output"] = True
        return result

    def _number(self, name: str, result: Any) -> ir.Value:
        try:
            return self.op.scalar(result)
        except Refusal as refusal:  # it stands at no call, where the walk would have met it
            self.walk.unsupported.append(Unsupported(f"output {name}", str(refusal), None))
            return self.op.const(0)

    def _without_rename(self, result: ir.Value) -> ir.Value:
        """The pairs that a complex result is made of, under its name."""
        pairs = stored(self.op, result)
        if pairs.producer() is None or pairs.meta.get("is_output"):
            return result
        self._inherit(pairs, result)
        return pairs

    def _inherit(self, pairs: ir.Value, value: ir.Value) -> None:
        """Where a complex value comes from is told of the pairs that stay in its place."""
        origin = self.walk.origins.pop(str(value.name), None)
        location = self.walk.locations.pop(str(value.name), None)
        if pairs.producer() is not None and origin is not None:
            self.walk.origins.setdefault(str(pairs.name), origin)
        if pairs.producer() is not None and location is not None:
            self.walk.locations.setdefault(str(pairs.name), location)

    def _shapes(self) -> None:
        """What is known of shapes goes into the file: runtimes plan with it, people read it."""
        for node in self.op.nodes:
            for value in node.outputs:
                sizes = value.meta.get("shape")
                if sizes is not None and is_complex(value):
                    sizes = (*sizes, 2)
                if sizes is not None and value.shape is None:
                    value.shape = ir.Shape(self.print.shape(sizes))

    def _drop_renames(self) -> None:
        """Complex values were the same tensor under another name, which the file has no use for."""
        kept = []
        for node in self.op.nodes:
            pairs = node.outputs[0].meta.get("stored")
            if pairs is None or node.outputs[0].meta.get("is_output"):
                kept.append(node)
                continue
            self._inherit(pairs, node.outputs[0])
            ir.convenience.replace_all_uses_with(node.outputs[0], pairs)
            node.replace_input_with(0, None)
        self.op.nodes = kept

    def _states(self, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]) -> list[StateLeaf]:
        """What the model remembers, and its caches, under the names that they have in the file."""
        found = self.captured.loaded.states if self.captured.loaded else ()
        users = [entry.name for entry in self.captured.inputs if entry.kind is InputKind.USER]
        names = dict(zip(users, (str(value.name) for value in inputs), strict=True))
        last = outputs[len(outputs) - len(found) :]  # they come after what the model returns
        remembered = [
            replace(state, input=names[state.input], output=str(value.name))
            for state, value in zip(found, last, strict=True)
        ]
        given = {value.name for value in outputs}
        return remembered + [
            StateLeaf(name, present, is_argument=True)
            for leaf, name in names.items()
            if (present := f"present.{leaf.partition('.')[2]}") in given
        ]

    def _model(
        self, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value], ir_version: int
    ) -> ir.Model:
        module = self.captured.loaded.module if self.captured.loaded else None
        used = [value for value in self.shared.initialisers.values() if value.uses()]
        graph = ir.Graph(
            inputs,
            outputs,
            nodes=self.op.nodes,
            initializers=used,
            opset_imports={"": self.opset, **self.shared.domains},
            name=getattr(module, "__name__", type(module).__name__),
        )
        model = ir.Model(graph, ir_version=ir_version, producer_name="onnxpert")
        write_ranges(model, self._symbols())
        named = self._states(inputs, outputs)
        if named:
            model.metadata_props[states.KEY] = states.written(named)
        for name in self._layouts:
            model.metadata_props[f"onnxpert.complex.{name}"] = LAYOUT
        return model


def _fake_mode(captured: Captured) -> Any:
    """The mode of the capture: symbols mean something only within it."""
    for node in captured.root.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and hasattr(value, "fake_mode"):
            return value.fake_mode
    return FakeTensorMode()
