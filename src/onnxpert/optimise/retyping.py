"""Nodes turned from one floating type to another, with casts only where the two meet."""

from __future__ import annotations

import onnx_ir as ir

from onnxpert.targets.signature import signature


class Retyping:
    """Turns nodes of one graph, in order; what was turned is read as it is by those that follow."""

    def __init__(self, old: ir.DataType, new: ir.DataType, opset: int) -> None:
        self.old, self.new = old, new
        self._opset = opset
        # A value of the old type -> what it was made of by a cast at its node.
        self.origins: dict[ir.Value, ir.Value] = {}
        self._casts: dict[ir.Value, ir.Value] = {}

    def turn(self, node: ir.Node, exact: bool = False) -> None:
        """`exact`: the node reads what was rounded to the old type, where its makers round."""
        found = signature(node, self._opset)
        fixed = () if found is None else found.inputs
        for index, value in enumerate(node.inputs):
            variable = fixed[min(index, len(fixed) - 1)] if fixed else ""
            if value is not None and value.dtype == self.old and not variable.startswith("tensor("):
                node.replace_input_with(index, self._turned(value, exact, node))
        for name in ("dtype", "to"):
            kind = node.attributes.get(name)
            if kind is not None and kind.as_int() == self.old:
                node.attributes[name] = ir.AttrInt64(name, self.new)
        outputs = () if found is None else found.outputs
        for index, value in enumerate(tuple(node.outputs)):
            variable = outputs[min(index, len(outputs) - 1)] if outputs else ""
            if value.dtype == self.old and not variable.startswith("tensor("):
                self._put_back(value, node)

    def _turned(self, value: ir.Value, exact: bool, reader: ir.Node) -> ir.Value:
        if not exact and value in self.origins:
            return self.origins[value]
        if value not in self._casts:
            self._casts[value] = self._cast(value, self.new, reader)
        return self._casts[value]

    def _put_back(self, value: ir.Value, node: ir.Node) -> None:
        """The node gives the new type from now on; a cast gives what it gave, under its name."""
        old = self._cast(value, self.old, node)
        cast = old.producer()
        for user, index in tuple(value.uses()):
            if user is not cast:
                user.replace_input_with(index, old)
        graph = node.graph
        assert graph is not None
        for index, output in enumerate(graph.outputs):
            if output is value:
                graph.outputs[index] = old
        value.dtype = self.new
        old.name, value.name = value.name, f"{value.name}_{self.new.name.lower()}"
        self.origins[old] = value

    def _cast(self, value: ir.Value, to: ir.DataType, near: ir.Node) -> ir.Value:
        """Right behind whatever makes the value, so that all who may read it may read this."""
        how = [ir.AttrInt64("to", to)]
        if to.name.startswith("FLOAT8"):  # beyond its range torch gives what the lowering gives
            how.append(ir.AttrInt64("saturate", int(to is ir.DataType.FLOAT8E4M3FN)))
        node = ir.Node("", "Cast", [value], how, num_outputs=1)
        node.name = f"{value.name}/to_{to.name.lower()}"
        node.metadata_props.update(near.metadata_props)
        result = node.outputs[0]
        result.name = f"{value.name}_as_{to.name.lower()}"
        result.type, result.shape = ir.TensorType(to), value.shape
        result.meta.update(value.meta)
        maker = value.producer()
        if maker is not None and maker.graph is not None:
            maker.graph.insert_after(maker, node)
            return result
        owner = value.graph or near.graph
        assert owner is not None
        if len(owner):
            owner.insert_before(owner[0], node)
        else:
            owner.append(node)
        return result
