"""bfloat16 and float8 where the target has no kernel for it: computed in float32, between casts.

float16 needs none of this: ONNX Runtime puts casts around the operators that it has no float16
kernel for, and the same file then runs without them on a provider that has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx_ir as ir

from onnxpert.optimise.retyping import Retyping
from onnxpert.targets.kernels import Kernels
from onnxpert.targets.signature import Signature, signature

HALF, WIDE = ir.DataType.BFLOAT16, ir.DataType.FLOAT
# So few digits that a rounding left out would show: each result is rounded.
_FLOAT8 = (
    ir.DataType.FLOAT8E4M3FN,
    ir.DataType.FLOAT8E4M3FNUZ,
    ir.DataType.FLOAT8E5M2,
    ir.DataType.FLOAT8E5M2FNUZ,
)
# What these give jumps with the last digit of what they read, which is therefore rounded first.
_JUMPING = frozenset({
    "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "ArgMax", "ArgMin", "TopK",
    "Floor", "Ceil", "Round", "Mod", "Sign", "NonZero", "Unique", "IsInf", "IsNaN", "OneHot",
})  # fmt: skip
_AS_THEY_ARE = frozenset({"Cast", "CastLike", "If", "Loop", "Scan", "Constant", "Shape", "Size"})


def widen(model: ir.Model, kernels: Kernels) -> None:
    """In the order of the graph, so that what was widened is read wide by those that follow."""
    opset = model.opset_imports.get("", 0)
    present = {value.dtype for value in _values(model)}
    for narrow in (HALF, *_FLOAT8):
        if narrow in present:
            _Widening(kernels, opset, narrow).graph(model.graph)


def _values(model: ir.Model) -> Iterable[ir.Value]:
    yield from model.graph.inputs
    yield from model.graph.initializers.values()
    for node in model.graph.all_nodes():
        yield from node.outputs


class _Widening:
    def __init__(self, kernels: Kernels, opset: int, narrow: ir.DataType) -> None:
        self._kernels = kernels
        self._opset = opset
        self._narrow = narrow
        self._retyping = Retyping(narrow, WIDE, opset)
        self._unrounded = self._retyping.origins

    def graph(self, graph: ir.Graph) -> None:
        for node in tuple(graph):
            for attribute in node.attributes.values():
                if attribute.type is ir.AttributeType.GRAPH:
                    self.graph(attribute.as_graph())
            if node.domain or not any(map(self._is_narrow, (*node.inputs, *node.outputs))):
                continue
            if node.op_type == "Cast":
                self._note(node)
            elif node.op_type not in _AS_THEY_ARE and self._is_wide(node):
                exact = node.op_type in _JUMPING or self._narrow in _FLOAT8
                self._retyping.turn(node, exact=exact)

    def _is_narrow(self, value: ir.Value | None) -> bool:
        return value is not None and value.dtype == self._narrow

    def _note(self, node: ir.Node) -> None:
        """The lowering has widened by itself where the standard does not take the type."""
        source, result = node.inputs[0], node.outputs[0]
        if source is None or not node.meta.get("for kernels"):
            return
        if result.dtype == self._narrow and source.dtype == WIDE:
            self._unrounded[result] = source
        elif source in self._unrounded:
            ir.convenience.replace_all_uses_with(result, self._unrounded[source])

    def _is_wide(self, node: ir.Node) -> bool:
        found = signature(node, self._opset)
        if found is None:
            return False
        if not self._runs(node, found, found.types(node)):
            return found.is_function or self._runs(
                node, found, found.types(node, {self._narrow: WIDE})
            )
        if node.op_type in _JUMPING or self._narrow in _FLOAT8:
            return False
        halves = [value for value in node.inputs if value is not None and self._is_narrow(value)]
        known = [value for value in halves if value in self._unrounded]
        return bool(known) and all(
            value in self._unrounded or value.const_value is not None for value in halves
        )

    def _runs(self, node: ir.Node, found: Signature, types: Mapping[str, str]) -> bool:
        return self._kernels.has("", node.op_type, found.since, types)
