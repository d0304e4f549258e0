"""What the user wants to vary, in any of torch's spellings, brought to the leaves of the inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import Any

from torch.export import AdditionalInputs, Dim, ShapesCollection

from onnxpert.core.types import DimSpec, Request, SpecProblem, Window, replace
from onnxpert.load import skeleton, torch_shapes
from onnxpert.load.cache_shapes import cache_wishes
from onnxpert.load.dims import HINT, Misfit, read_dim, root_size
from onnxpert.load.input_names import aliases, check_names, unknown_input
from onnxpert.load.inputs import Branch, Inputs, Leaf, leaves_of
from onnxpert.load.misnamed import meant

SEQUENCES = (list, tuple)


class Wishes:
    """What was asked of each leaf so far, and what could not be meant."""

    def __init__(self, spelling: str) -> None:
        self.spelling = spelling  # dynamic_shapes or dynamic_axes: what the messages call it
        self.dims: dict[str, dict[int, DimSpec]] = {}
        self.scalars: dict[str, DimSpec] = {}
        self.floats: set[str] = set()  # Python floats that were asked for by name
        self.problems: list[SpecProblem] = []
        self.windows: set[tuple[str, int]] = (
            set()
        )  # leaf and axis of what a cache keeps of the past
        # name -> the first dimension that carries it: its spec, the name's size, where it is
        self._named: dict[str, tuple[DimSpec, int, str]] = {}

    def problem(self, kind: str, message: str, help: str) -> None:
        self.problems.append(SpecProblem(kind, message, help))

    def dim(self, leaf: Leaf, axis: int, spec: DimSpec) -> None:
        where = f"axis {axis} of `{leaf.path}`"
        if spec.name and (leaf.name, axis) in self.windows:
            # One name for all the layers of a cache cannot be what was seen and what was kept of it.
            spec = replace(spec, name=f"{spec.name}_window")
        agreed = self._agreed(spec, int(leaf.value.shape[axis]), where)
        self.dims.setdefault(leaf.name, {})[axis] = agreed

    def could_be(self, spec: DimSpec, size: int) -> bool:
        """Whether a dimension of this size contradicts nothing that has that name."""
        known = self._named.get(spec.name)
        return known is None or known[1] == root_size(spec, size)

    def scalar(self, leaf: Leaf, spec: DimSpec) -> None:
        self.scalars[leaf.name] = self._agreed(spec, leaf.value, f"`{leaf.path}`")

    def _agreed(self, spec: DimSpec, size: int, where: str) -> DimSpec:
        """The spec, or what is left of it where it contradicts an earlier one of that name."""
        if not spec.name:
            return spec
        value = root_size(spec, size)
        first, known, place = self._named.setdefault(spec.name, (spec, value, where))
        if value != known:
            # Those that agree among themselves stay tied: else each seems to fix the others.
            apart = replace(spec, name=f"{spec.name}_{value}")
            if apart.name not in self._named:
                message = f"`{spec.name}` is {known} at {place} and {value} at {where}"
                help = (
                    "one name means one size: give them two names, or an example where they agree"
                )
                self.problem("conflicting-spec", message, help)
            return self._agreed(apart, size, where)
        if (spec.lower, spec.upper) != (first.lower, first.upper):
            if (spec.lower, spec.upper) != (None, None) != (first.lower, first.upper):
                message = f"`{spec.name}` has one range at {place} and another at {where}"
                self.problem("conflicting-spec", message, "use one torch.export.Dim for both")
            spec = replace(spec, lower=first.lower, upper=first.upper)
        return spec


def read_wishes(
    request: Request, inputs: Inputs, signature: Signature, windows: Sequence[Window] = ()
) -> Wishes:
    shapes, axes = request.dynamic_shapes, request.dynamic_axes
    plain = isinstance(shapes, Mapping | list | tuple) or shapes is None
    asked = shapes is not None and not (plain and not shapes)
    wishes = Wishes("dynamic_shapes" if asked or not axes else "dynamic_axes")
    wishes.windows = {(each.leaf, each.axis) for each in windows if each.new is None}
    if asked and axes:
        wishes.problem(
            "conflicting-spec",
            "both dynamic_axes and dynamic_shapes are given, and they may contradict each other",
            "keep one of them; dynamic_shapes was taken",
        )
    if asked:
        _shapes(request, inputs, wishes, signature)
    elif axes:
        _axes(request, inputs, wishes)
    wishes.problems += check_names(request, inputs, wishes.scalars)
    return wishes


def _shapes(request: Request, inputs: Inputs, wishes: Wishes, signature: Signature) -> None:
    shapes, problem = request.dynamic_shapes, None
    if isinstance(shapes, ShapesCollection):
        _collection(shapes, inputs, wishes)
        return
    if isinstance(shapes, AdditionalInputs):
        args, kwargs = inputs.rebuild([leaf.value for leaf in inputs.leaves])
        shapes, problem = torch_shapes.from_additional(shapes, signature, args, kwargs)
    elif isinstance(shapes, torch_shapes.SPECS):
        shapes, problem = torch_shapes.from_spec(shapes)
    if problem is not None:
        wishes.problems.append(problem)
    if isinstance(shapes, str) and shapes == "auto":
        _auto(inputs, wishes)
    elif isinstance(shapes, Mapping):
        _by_name(shapes, request, inputs, wishes)
    elif isinstance(shapes, SEQUENCES):
        _by_position(shapes, inputs, wishes)
    elif shapes is not None:
        seen = repr(shapes) if isinstance(shapes, str) else f"of type {type(shapes).__name__}"
        wishes.problem(
            "bad-structure",
            f'dynamic_shapes is {seen}, not "auto", a dict by parameter or a tuple by position',
            _advice(inputs),
        )


def _auto(inputs: Inputs, wishes: Wishes) -> None:
    for leaf in inputs.leaves:
        if leaf.is_tensor:
            for axis in range(leaf.value.dim()):
                wishes.dim(leaf, axis, DimSpec(asked=False))


def _collection(shapes: Any, inputs: Inputs, wishes: Wishes) -> None:
    found, strangers = torch_shapes.by_leaf(shapes, inputs)
    for leaf in inputs.leaves:
        if leaf.name in found:
            _leaf(found[leaf.name], leaf, inputs, wishes)
    if strangers:
        wishes.problem(
            "unknown-input",
            f"the ShapesCollection names {strangers} tensors that are not among the inputs",
            "use the very tensors that are passed as inputs, not copies of them",
        )


def _by_position(shapes: Any, inputs: Inputs, wishes: Wishes) -> None:
    entries = inputs.entries
    # Torch counts *args as one parameter; a wish for each of them is as clear.
    nodes = [entry.node for entry in entries]
    if len(shapes) != len(nodes) and any(entry.bound.variadic for entry in entries):
        flat = [n for e in entries for n in (_members(e.node) if e.bound.variadic else [e.node])]
        nodes = flat if len(flat) == len(shapes) else nodes
    if len(shapes) != len(nodes):
        message = f"dynamic_shapes has {len(shapes)} entries for {len(nodes)} inputs"
        wishes.problem("bad-structure", message, _advice(inputs))
    for wish, node in zip(shapes, nodes, strict=False):
        _node(wish, node, inputs, wishes)


def _members(node: Leaf | Branch) -> list[Leaf | Branch]:
    return list(node.children) if isinstance(node, Branch) else [node]


def _by_name(shapes: Mapping[Any, Any], request: Request, inputs: Inputs, wishes: Wishes) -> None:
    """By parameter as torch has it; also by leaf, by position and by the user's input_names."""
    known = _known(inputs)
    later = {}
    for key, wish in shapes.items():
        if key in known:
            _node(wish, known[key], inputs, wishes)
        else:
            later[key] = wish
    renamed = aliases(request, inputs, wishes.scalars)
    for key, wish in later.items():
        if key in renamed:
            _leaf(wish, renamed[key], inputs, wishes)
        elif wish is not None:
            wishes.problems.append(unknown_input("dynamic_shapes", key, request, inputs))
            meant(wish, inputs.leaves, wishes)


def _known(inputs: Inputs) -> dict[Any, Leaf | Branch]:
    known: dict[Any, Leaf | Branch] = {leaf.name: leaf for leaf in inputs.leaves}
    for entry in inputs.entries:
        if entry.bound.variadic and isinstance(entry.node, Branch):
            known["*args" if entry.bound.positional else "**kwargs"] = entry.node
            if not entry.bound.positional:
                known |= dict(zip(entry.node.keys, entry.node.children, strict=True))
    known |= {index: entry.node for index, entry in enumerate(inputs.entries)}
    return known | {entry.bound.name: entry.node for entry in inputs.entries}


def _node(wish: Any, node: Leaf | Branch, inputs: Inputs, wishes: Wishes) -> None:
    if wish is None:
        return
    if isinstance(node, Leaf):
        _leaf(wish, node, inputs, wishes)
    elif (by_tensor := cache_wishes(wish, node)) is not None:
        for leaf, inner in by_tensor:
            _leaf(inner, leaf, inputs, wishes)
    elif isinstance(wish, Mapping):
        _mapping(wish, node, inputs, wishes)
    elif isinstance(wish, SEQUENCES):
        _sequence(wish, node, inputs, wishes)
    elif isinstance(wish, HINT):
        for leaf in leaves_of(node):
            if leaf.is_tensor or leaf.is_int:
                _leaf(wish, leaf, inputs, wishes)
    elif dataclasses.is_dataclass(wish) and not isinstance(wish, type):
        # As the input itself is made: `Batch({0: "batch"}, None)`.
        fields = {field.name: getattr(wish, field.name) for field in dataclasses.fields(wish)}
        _mapping(fields, node, inputs, wishes)
    else:
        _bad(node.path, f"is a {node.kind} of {len(node.keys)}", wish, (inputs, wishes))


def _mapping(wish: Mapping[Any, Any], node: Branch, inputs: Inputs, wishes: Wishes) -> None:
    children = dict(zip(node.keys, node.children, strict=True))
    for key, inner in sorted(wish.items(), key=lambda item: item[0] not in children):
        if key in children:
            _node(inner, children[key], inputs, wishes)
        elif inner is not None:
            message = f"`{node.path}` has no {key!r}, which {wishes.spelling} names"
            known = ", ".join(repr(known) for known in children) or "nothing"
            wishes.problem("unknown-input", message, f"it has {known}; {_advice(inputs)}")
            meant(inner, list(leaves_of(node)), wishes)


def _sequence(wish: Any, node: Branch, inputs: Inputs, wishes: Wishes) -> None:
    if len(wish) != len(node.children) or node.kind == "dict":  # whose order means nothing
        seen = f"is a {node.kind} of {len(node.children)}"
        _bad(node.path, seen, wish, (inputs, wishes))
    for inner, child in zip(wish, node.children, strict=False):
        _node(inner, child, inputs, wishes)


def _leaf(wish: Any, leaf: Leaf, inputs: Inputs, wishes: Wishes) -> None:
    if wish is None:
        return
    if leaf.is_tensor:
        _tensor(wish, leaf, inputs, wishes)
    elif leaf.is_int:
        _number(wish, leaf, inputs, wishes)
    elif isinstance(leaf.value, float) and isinstance(wish, HINT):
        # A float is an input wherever the model lets it be one; where it is not, that was asked for.
        if wish is Dim.DYNAMIC:
            wishes.floats.add(leaf.name)
    elif wish:  # an empty dict or tuple asks for nothing
        seen = "None" if leaf.value is None else f"of type {type(leaf.value).__name__}"
        _bad(leaf.path, f"is {seen}, which cannot vary", wish, (inputs, wishes))


def _number(wish: Any, leaf: Leaf, inputs: Inputs, wishes: Wishes) -> None:
    spec = read_dim(wish, leaf.value)
    if isinstance(spec, Misfit):
        _bad(leaf.path, f"is an int: {spec.text}", wish, (inputs, wishes))
    elif spec is not None and spec.asked:  # Dim.AUTO leaves a number the constant it is
        wishes.scalar(leaf, spec)


def _tensor(wish: Any, leaf: Leaf, inputs: Inputs, wishes: Wishes) -> None:
    rank = leaf.value.dim()
    if isinstance(wish, Mapping):
        pairs = list(wish.items())
    elif isinstance(wish, SEQUENCES):
        if len(wish) != rank:
            seen = f"`{leaf.path}` has {rank} axes, its shape is {_shape(leaf)}"
            message = f"{seen}, but {wishes.spelling} gives it {len(wish)}"
            wishes.problem("bad-axis", message, _advice(inputs))
        pairs = list(enumerate(wish))[:rank]
    elif isinstance(wish, HINT):
        pairs = [(axis, wish) for axis in range(rank)]
    else:
        _bad(leaf.path, f"is a tensor of shape {_shape(leaf)}", wish, (inputs, wishes))
        return
    for axis, dim in pairs:
        axis_dim(axis, dim, leaf, wishes)


def axis_dim(axis: Any, dim: Any, leaf: Leaf, wishes: Wishes) -> None:
    """One axis of one tensor; a negative one counts from the end."""
    rank = leaf.value.dim()
    if type(axis) is not int or not -rank <= axis < rank:
        message = f"`{leaf.path}` has no axis {axis!r}: its shape is {_shape(leaf)}"
        allowed = f"axes are 0 to {rank - 1}, or -{rank} to -1" if rank else "it has no axes"
        wishes.problem("bad-axis", message, allowed)
        return
    spec = read_dim(dim, int(leaf.value.shape[axis]))
    if isinstance(spec, Misfit):
        message = f"axis {axis} of `{leaf.path}` cannot be {_said(dim)}: {spec.text}"
        wishes.problem("bad-axis", message, f"its shape is {_shape(leaf)}")
    elif spec is not None:
        wishes.dim(leaf, axis % rank, spec)


def _axes(request: Request, inputs: Inputs, wishes: Wishes) -> None:
    """torch's old spelling: by the names that the inputs, and the outputs, have in the file."""
    if not isinstance(request.dynamic_axes, Mapping):
        kind = type(request.dynamic_axes).__name__
        wishes.problem(
            "bad-structure",
            f"dynamic_axes is of type {kind}, not a dict by the names of the inputs",
            _advice(inputs),
        )
        return
    renamed = aliases(request, inputs, {})
    known = _known(inputs)
    known |= renamed
    for name, wish in sorted(request.dynamic_axes.items(), key=lambda item: item[0] not in known):
        if name in request.output_names and name not in renamed:
            continue  # sizes of outputs follow from those of the inputs
        node = known.get(name)
        if node is None:
            wishes.problems.append(unknown_input("dynamic_axes", name, request, inputs))
            meant(wish, inputs.leaves, wishes)
        elif isinstance(node, Leaf) and node.is_tensor and isinstance(wish, SEQUENCES):
            for axis in wish:
                axis_dim(axis, "", node, wishes)
        else:
            _node(wish, node, inputs, wishes)


def _bad(path: str, seen: str, wish: Any, context: tuple[Inputs, Wishes]) -> None:
    inputs, wishes = context
    misfit = f"{wishes.spelling} does not fit the inputs"
    message = f"{misfit}: `{path}` {seen}, but {_said(wish)} is given"
    wishes.problem("bad-structure", message, _advice(inputs))


def _advice(inputs: Inputs) -> str:
    return f"the inputs are {skeleton.structure(inputs)}; write {skeleton.skeleton(inputs)}"


def _said(wish: Any) -> str:
    if isinstance(wish, list | tuple | Mapping):
        return f"a {type(wish).__name__} of {len(wish)}"
    return repr(wish)


def _shape(leaf: Leaf) -> str:
    return str(list(leaf.value.shape))
