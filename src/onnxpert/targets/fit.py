"""Whether a model fits a target, by the target's own tables: every place where it goes beyond them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import onnx_ir as ir

from onnxpert.core.types import Beyond, Fitting, Limit, Location, replace
from onnxpert.targets.capabilities import Capabilities, Restriction
from onnxpert.targets.functions import expanded
from onnxpert.targets.kernels import Kernels
from onnxpert.targets.signature import Signature, signature
from onnxpert.targets.target import Target

Locate = Callable[[ir.Node], Location | None]

# They have bodies whose nodes are asked one by one, or are gone before a kernel is looked for.
_WITHOUT_KERNELS = frozenset({"Constant", "If", "Loop", "Scan"})
# Of standard operators, these take a bound beyond all sizes for the end.
_OPEN_ENDED = frozenset({"Slice"})
_INNER, _SINGLE = "inner float64", "single numbers of float64"
_SAID = {"float": "float32", "double": "float64"}
_KNOWN_DOMAINS = frozenset({"ai.onnx.ml", "com.microsoft"})
_MOST_LOOKED_AT = 4096  # elements of a constant
_INT32 = 2**31
_KEPT_FROM = 13  # the oldest opset in the tables that `tools/read_kernels.py` writes


def fit(model: ir.Model, target: Target, locate: Locate, older: str = "") -> Fitting:
    """What a model needs beyond what the target has, in a release that is `older`, or as it is."""
    limits = target.capabilities
    name = f"{target.name} {older}" if older else target.name
    source = f"the kernel tables of ONNX Runtime until {older}" if older else limits.source
    return Fitting(name, source, tuple(_Fit(model, limits, locate, older).beyond()))


def accepts(node: ir.Node, target: Target, opset: int, dtype: ir.DataType, older: str = "") -> bool:
    """Whether the target would take a node that works in another type, with casts around it."""
    limits = target.capabilities
    found = signature(node, opset)
    value = _main(node, found)
    if found is None or value is None or value.dtype is None:
        return False
    types = {**found.types(node), found.main: f"tensor({dtype.name.lower()})"}
    if not found.allows(types):
        return False
    if limits.operators:
        casts = limits.operators.get("Cast", frozenset())
        taken = limits.operators.get(node.op_type, frozenset())
        return dtype.name.lower() in taken & casts and value.dtype.name.lower() in casts
    kernels = limits.kernels(older)
    return (
        kernels is not None
        and kernels.has("", node.op_type, found.since, types)
        and not fails_in(node, target, dtype)
    )


def fails_in(node: ir.Node, target: Target, dtype: ir.DataType) -> bool:
    """Whether the target has a kernel for it in that type which raises for this form of it."""
    return any(
        dtype.name.lower() in each.dtypes and _is_broken(each, node)
        for each in target.capabilities.restrictions
    )


def _is_broken(restriction: Restriction, node: ir.Node) -> bool:
    return restriction.op_type == node.op_type and not node.domain and restriction.breaks(node)


def dtype_name(dtype: ir.DataType) -> str:
    """As torch says it: float32, not float."""
    name = dtype.name.lower()
    return _SAID.get(name, name)


class _Fit:
    def __init__(self, model: ir.Model, limits: Capabilities, locate: Locate, older: str) -> None:
        self._model = model
        self._limits = limits
        self._locate = locate
        self._kernels = limits.kernels(older)
        self._fallback = limits.fallback(older)
        self._opset = model.opset_imports.get("", 0)
        self._brought = {function.domain for function in model.functions.values()}
        self._narrowed: set[str] = set()
        self._single: Beyond | None = None  # where float64 begins with a number of Python's

    def beyond(self) -> Iterator[Beyond]:
        yield from self._inputs()
        yield from self._weights()
        for node in self._nodes():
            found = list(self._of_operator(node))
            if all(each.limit is Limit.ELSEWHERE for each in found):  # it does run
                found += self._of_form(node)
            yield from found
            if not found:
                yield from self._of_values(node)
        if self._single is not None and not self._narrowed:
            yield self._single

    def _nodes(self) -> Iterator[ir.Node]:
        yield from self._model.graph.all_nodes()
        for function in self._model.functions.values():
            yield from function

    def _at(self, node: ir.Node, limit: Limit, detail: str = "", help: str = "") -> Beyond:
        return Beyond(limit, node.op_type, detail, help, node.name or "", self._locate(node))

    def _inputs(self) -> Iterator[Beyond]:
        values = self._model.graph.inputs
        outputs = [("output", value) for value in self._model.graph.outputs]
        for kind, value in (*(("input", value) for value in values), *outputs):
            if value.dtype is not None and not self._may_end(value.dtype):
                maker = value.producer()
                detail = dtype_name(value.dtype)
                place = self._locate(maker) if maker is not None else None
                yield Beyond(Limit.DTYPE, f"the {kind} {value.name}", detail, location=place)
        varies = [
            f"{value.name}[{axis}]"
            for value in values
            for axis, size in enumerate(value.shape or ())
            if not isinstance(size, int)
        ]
        if varies and self._limits.dynamic:
            said = ", ".join(varies[:4]) + (", ..." if len(varies) > 4 else "")
            yield Beyond(Limit.DYNAMIC, said, self._limits.dynamic, self._limits.dynamic_help)

    def _weights(self) -> Iterator[Beyond]:
        most = self._limits.most_bytes
        weights = self._model.graph.initializers.values() if most else ()
        total = sum(map(_bytes, weights))
        if most is not None and total > most:
            largest = max(weights, key=_bytes)
            told = f"the largest is {largest.name}, with {_gibibytes(_bytes(largest))}"
            reader = next((use.node for use in largest.uses()), None)
            place = self._locate(reader) if reader is not None else None
            yield Beyond(Limit.BYTES, "the weights", _gibibytes(total), told, location=place)

    def _of_operator(self, node: ir.Node) -> Iterator[Beyond]:
        limits = self._limits
        if node.domain in self._brought or node.domain == "onnxpert.unsupported":
            return
        if node.domain not in limits.domains:
            if node.domain in _KNOWN_DOMAINS:  # others bring kernels of their own
                yield self._at(node, Limit.OPERATOR)
            return
        if node.op_type in limits.missing:
            yield self._at(node, Limit.OPERATOR)
            return
        found = signature(node, self._opset)
        if limits.operators and not node.domain:
            yield from self._of_listed(node, found)
        elif self._kernels is not None and node.op_type not in _WITHOUT_KERNELS:
            yield from self._of_kernels(node, found, self._kernels)
        if limits.reduced and node.op_type not in limits.reduced:
            yield self._at(node, Limit.ELSEWHERE, limits.reduced_says)

    def _of_listed(self, node: ir.Node, found: Signature | None) -> Iterator[Beyond]:
        taken = self._limits.operators.get(node.op_type)
        if taken is None:
            yield self._at(node, Limit.OPERATOR)
            return
        value = _main(node, found)
        if value is None or value.dtype is None:
            return
        name = value.dtype.name.lower()
        if name not in taken and self._limits.narrower.get(name) not in taken:
            yield self._at(node, Limit.DTYPE, dtype_name(value.dtype))

    def _of_kernels(
        self, node: ir.Node, found: Signature | None, kernels: Kernels
    ) -> Iterator[Beyond]:
        if found is None:  # a domain of the runtime's own
            name = (node.domain, node.op_type)
            if name in kernels.table:
                return
            if self._fallback is not None and name in self._fallback.table:
                yield self._at(node, Limit.ELSEWHERE, self._limits.fallback_says)
            else:
                yield self._at(node, Limit.OPERATOR)
            return
        if self._runs(node, found, kernels) or self._is_taken_apart(node, found, kernels):
            return
        if self._fallback is not None and self._opset < _KEPT_FROM:
            return  # a table that is kept says nothing of it
        if self._fallback is not None and self._runs(node, found, self._fallback):
            types = _types(node)
            said = (
                f"in {types} {self._limits.fallback_says}" if types else self._limits.fallback_says
            )
            yield self._at(node, Limit.ELSEWHERE, said)
        elif any(
            table.knows("", node.op_type, found.since)
            for table in (kernels, self._fallback)
            if table is not None
        ):
            yield self._at(node, Limit.DTYPE, _types(node))
        else:
            yield self._at(node, Limit.OPERATOR)

    def _is_taken_apart(self, node: ir.Node, found: Signature, kernels: Kernels) -> bool:
        """Whether the runtime says it in other operators by itself, and has those."""
        if not found.is_function or not self._limits.inlines:
            return False
        if found.by_context or any(v is not None and v.dtype is None for v in node.inputs):
            return True  # what it becomes there is not known here: the proof will tell
        body = expanded(node, self._opset)
        nodes = (
            [each for each in body.graph if each.op_type not in _WITHOUT_KERNELS] if body else []
        )
        return bool(nodes) and not any(
            list(self._of_kernels(each, signature(each, self._opset), kernels)) for each in nodes
        )

    def _runs(self, node: ir.Node, found: Signature, kernels: Kernels) -> bool:
        if kernels.has("", node.op_type, found.since, found.types(node)):
            return True
        wide = {
            dtype: ir.DataType.FLOAT
            for dtype in ir.DataType
            if dtype.name.lower() in self._limits.widens
        }
        return bool(wide) and kernels.has("", node.op_type, found.since, found.types(node, wide))

    def _of_form(self, node: ir.Node) -> Iterator[Beyond]:
        for each in self._limits.restrictions:
            if not _is_broken(each, node):
                continue
            if not each.dtypes:
                yield self._at(node, Limit.FORM, each.says, each.help)
                continue
            value = _main(node, signature(node, self._opset))
            if value is not None and value.dtype and value.dtype.name.lower() in each.dtypes:
                yield self._at(node, Limit.DTYPE, f"{dtype_name(value.dtype)}, {each.says}")
        most, rank = self._limits.most_rank, max(map(_rank, node.outputs), default=0)
        made = [value for value in node.inputs if value is not None and value.producer()]
        # What has as many already is told where they began.
        if most is not None and rank > most >= max(map(_rank, made), default=0):
            yield self._at(node, Limit.FORM, f"at most {most} dimensions, and this has {rank}")

    def _of_values(self, node: ir.Node) -> Iterator[Beyond]:
        for value in node.outputs:
            if value.dtype is None:
                continue
            name = value.dtype.name.lower()
            if not self._has(value.dtype):
                yield self._at(node, Limit.DTYPE, dtype_name(value.dtype))
            elif name == "double" and name in self._limits.narrower and name not in self._narrowed:
                doubles = self._doubles()
                narrowed = self._at(node, Limit.NARROWER, f"{doubles} as float32")
                if doubles == _INNER and _is_single(value):
                    single = replace(narrowed, detail=f"{_SINGLE} as float32")
                    self._single = self._single or single
                    continue
                self._narrowed.add(name)
                yield narrowed
        narrows = "int64" in self._limits.narrower and node.op_type not in _OPEN_ENDED
        if narrows and any(map(_is_beyond_int32, node.inputs)):
            yield self._at(node, Limit.NARROWER, "int64 as int32")

    def _doubles(self) -> str:
        """Whether float64 is what the model is in, or only something on the way."""
        graph = self._model.graph
        named = (*graph.inputs, *graph.outputs, *graph.initializers.values())
        outer = any(value.dtype == ir.DataType.DOUBLE for value in named if _bytes(value) != 8)
        return "float64" if outer else _INNER

    def _may_end(self, dtype: ir.DataType) -> bool:
        return not self._limits.ends or dtype.name.lower() in self._limits.ends

    def _has(self, dtype: ir.DataType) -> bool:
        return not self._limits.dtypes or dtype.name.lower() in self._limits.dtypes


def _main(node: ir.Node, found: Signature | None) -> ir.Value | None:
    """The value that says which type an operator works in."""
    if found is None or not node.inputs:
        return node.outputs[0] if node.outputs else None
    named = zip(found.inputs, node.inputs, strict=False)
    return next((value for name, value in named if name == found.main and value is not None), None)


def _rank(value: ir.Value) -> int:
    return len(value.shape) if value.shape is not None else 0


def _is_single(value: ir.Value) -> bool:
    """Whether it is one number, which Python computes with in double precision whatever a tensor is in."""
    return value.shape is not None and len(value.shape) == 0


def _bytes(value: ir.Value) -> int:
    """By its type, since a fake weight has no bytes."""
    known = [size for size in value.shape or () if isinstance(size, int)]
    if value.dtype is None or value.shape is None or len(known) < len(value.shape):
        return 0
    return math.ceil(math.prod(known) * value.dtype.itemsize)


def _gibibytes(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"


def _types(node: ir.Node) -> str:
    """`float8e4m3fn`, or `int64 and float32`: what it reads, where that is known."""
    values = [value for value in node.inputs if value is not None] or list(node.outputs)
    names = dict.fromkeys(dtype_name(value.dtype) for value in values if value.dtype is not None)
    return " and ".join(names)


def _is_beyond_int32(value: ir.Value | None) -> bool:
    tensor = None if value is None else ir.convenience.get_const_tensor(value)
    if tensor is None or tensor.dtype != ir.DataType.INT64 or tensor.size > _MOST_LOOKED_AT:
        return False
    numbers = tensor.numpy()
    return bool(numbers.size) and bool((numbers >= _INT32).any() or (numbers < -_INT32).any())
