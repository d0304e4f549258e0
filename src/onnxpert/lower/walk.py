"""The walk over a captured graph: each call is lowered where it stands, or noted as missing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch import fx

from onnxpert.core.source import module_of, of_meta
from onnxpert.core.types import Location, Unsupported
from onnxpert.lower import inplace
from onnxpert.lower.aliases import Aliases, has_writes, is_write, undo, written_argument
from onnxpert.lower.decompose import decompose
from onnxpert.lower.dtypes import TO_ONNX, TO_TORCH
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import Lowering
from onnxpert.lower.symbols import expression

Library = Mapping[Any, Sequence[Lowering]]
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_IGNORED_KEYWORDS = frozenset(
    {"device", "layout", "pin_memory", "memory_format", "non_blocking", "requires_grad", "generator"}
)


class Walk:
    """Lowers the nodes of one FX graph, in order, into an emitter."""

    def __init__(
        self, op: Emitter, library: Library, fallback: Callable[..., Any], fake_mode: Any
    ) -> None:
        self.op = op
        self._fake_mode = fake_mode
        self.unsupported: list[Unsupported] = []
        self.locations: dict[str, Location] = {}
        self.origins: dict[str, str] = {}
        self._library = library
        self._fallback = fallback  # (op, overload, args, kwargs) -> result or NotImplemented
        self._location: Location | None = None
        self._named: set[int] = set()
        self._depth = 0  # how deep we are in operators that torch took apart

    # ---- graphs ----------------------------------------------------------------------------

    def run(self, op: Emitter, root: Any, given: Sequence[Any]) -> list[Any]:
        """The outputs of a graph whose placeholders are `given`."""
        outer, self.op = self.op, op
        frame = _Frame(self, root)
        try:
            return frame.run(given)
        finally:
            self.op = outer

    # ---- one call --------------------------------------------------------------------------

    def call(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Our lowering, torchlib's, torch's own decomposition: the first that can say it."""
        refusals: list[Refusal] = []
        for attempt in (self._own, self._torchlib, self._decomposed):
            try:
                result = attempt(target, args, kwargs, out)
                if result is not NotImplemented:
                    return result
            except Refusal as error:
                refusals.append(error)
        raise refusals[0] if refusals else Refusal("there is no lowering for it")

    def _own(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        known = self._library.get(target) or self._library.get(_qualified(target), ())
        refusals: list[Refusal] = []
        for lowering in known:
            if lowering.since > self.op.opset:
                refusals.append(Refusal(f"it needs opset {lowering.since}", lowering.since))
                continue
            try:
                self.op.out = out
                return lowering(self.op, *args, **_keywords(lowering, kwargs))
            except Refusal as error:
                refusals.insert(0, error)
        if refusals:
            raise refusals[0]
        return NotImplemented

    def _torchlib(
        self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
    ) -> Any:
        return self._fallback(self.op, target, args, _without(kwargs))

    def _decomposed(
        self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
    ) -> Any:
        stand_ins = _map((tuple(args), dict(kwargs)), lambda v: _stand_in(v, self._fake_mode))
        try:
            found = decompose(target, *stand_ins, self._fake_mode)
        except Exception as error:  # torch's own decomposition failed: said as the reason
            raise Refusal(f"torch cannot take it apart ({error})") from error
        if found is None:
            return NotImplemented
        graph, places = found
        leaves = torch.utils._pytree.tree_flatten((tuple(args), dict(kwargs)))[0]
        self._depth += 1
        try:
            results = self.run(self.op, graph, [leaves[place] for place in places])
        finally:
            self._depth -= 1
        return results[0] if len(results) == 1 else tuple(results)

    # ---- what is known of the place --------------------------------------------------------

    def enter(self, node: fx.Node) -> None:
        """From here on, what is emitted comes from this node's line and module."""
        if self._depth:  # a part of a call that has its place already
            return
        module = module_of(node.meta)
        self._location = of_meta(node.meta) or self._location
        metadata = {"onnxpert.op": _op_name(node.target)}
        if self._location is not None:
            metadata["onnxpert.source"] = f"{self._location.file}:{self._location.line}"
            if self._location.code:
                metadata["onnxpert.code"] = self._location.code
        if module:
            metadata["onnxpert.module"] = module
        self.op.at(metadata, module, node.name)

    def missing(self, node: fx.Node, refusal: Refusal) -> Any:
        """Notes a call that cannot be said; a part of one is no news, the whole call is."""
        if self._depth:
            raise Refusal(f"{_op_name(node.target)} inside it: {refusal.reason}")
        self.unsupported.append(
            Unsupported(_op_name(node.target), refusal.reason, self._location, refusal.lowest_opset)
        )
        return self._stub(node)

    def _stub(self, node: fx.Node) -> Any:
        """Typed values out of nowhere, so that the walk can go on and find the other reasons."""
        value = node.meta.get("val")
        many = isinstance(value, (list, tuple))
        outputs = self.op.emit(
            _op_name(node.target).replace(".", "_"),
            _domain="onnxpert.unsupported",
            _outputs=len(value) if many else 1,
        )
        return outputs

    def finish(self, node: fx.Node, result: Any) -> Any:
        """The result under the captured node's name, in the dtype and shape torch says."""
        expected = node.meta.get("val")
        if isinstance(expected, torch.Tensor) and isinstance(result, ir.Value):
            return self._settle(node.name, result, expected)
        if isinstance(expected, (list, tuple)) and isinstance(result, (list, tuple)):
            return tuple(
                self._settle(f"{node.name}_{index}", value, want)
                if isinstance(want, torch.Tensor) and isinstance(value, ir.Value)
                else value
                for index, (value, want) in enumerate(zip(result, expected, strict=False))
            )
        return result

    def _settle(self, name: str, value: ir.Value, expected: torch.Tensor) -> ir.Value:
        if expected.dtype in TO_ONNX and value.dtype is not None:
            if value.dtype != TO_ONNX[expected.dtype] and not expected.dtype.is_complex:
                value = self.op.cast(value, expected.dtype)
        if value.dtype is None and expected.dtype in TO_ONNX:
            value.dtype = TO_ONNX[expected.dtype]
        if not expected.dtype.is_complex:
            value.meta["shape"] = tuple(expected.shape)
        if id(value) not in self._named and value.const_value is None and value.producer() is not None:
            self._named.add(id(value))
            value.name = self.op.shared.values.unique(name)
            if not self._depth:
                self.origins[value.name] = name
            if self._location is not None:
                self.locations[value.name] = self._location
        self._bind(value, expected)
        return value

    def _bind(self, value: ir.Value, expected: torch.Tensor) -> None:
        """Sizes that only the data know (`nonzero`) are read off the value itself."""
        for axis, size in enumerate(expected.shape):
            if isinstance(size, torch.SymInt):
                symbol = expression(size)
                if symbol.is_Symbol and not self.op.knows(symbol):
                    self.op.bind(symbol, value, axis)


class _Frame:
    """One graph being walked: what its nodes stand for."""

    def __init__(self, walk: Walk, root: Any) -> None:
        self.walk = walk
        self.root = root
        self.plain: dict[fx.Node, Any] = {}
        self.aliases = Aliases(self._replay, self._scatter) if has_writes(root.graph) else None

    def run(self, given: Sequence[Any]) -> list[Any]:
        inputs = iter(given)
        for node in self.root.graph.nodes:
            if node.op == "placeholder":
                self._define(node, next(inputs))
            elif node.op == "get_attr":
                self._define(node, self._attribute(node))
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                outputs = node.args[0]
                many = outputs if isinstance(outputs, (list, tuple)) else [outputs]
                return [self._resolve(output) for output in many]
        return []

    def _call(self, node: fx.Node) -> None:
        if isinstance(node.meta.get("val"), _SYMBOLIC) and not _reads_data(node):
            return  # sizes are computed from their expression, where they are needed
        if node.target is operator.getitem:
            source = self._resolve(node.args[0])
            self._define(node, source[node.args[1]])
            return
        self.walk.enter(node)
        try:
            if is_write(node.target):
                self._write(node)
                return
            args, kwargs = self._arguments(node)
            result = self.walk.call(node.target, args, kwargs, node.meta.get("val"))
        except Refusal as refusal:
            result = self.walk.missing(node, refusal)
        self._define(node, self.walk.finish(node, result))
        if _reads_data(node):
            self._bind_scalar(node, result)

    def _bind_scalar(self, node: fx.Node, result: Any) -> None:
        value = node.meta["val"]
        if isinstance(value, _SYMBOLIC) and isinstance(result, ir.Value):
            symbol = expression(value)
            if symbol.is_Symbol:
                self.walk.op.bind(symbol, result, None)

    # ---- in-place calls --------------------------------------------------------------------

    def _write(self, node: fx.Node) -> None:
        assert self.aliases is not None
        written = written_argument(node)
        args, kwargs = self._arguments(node)
        target = inplace.functional(node.target)
        if target is None:
            raise Refusal("it writes its argument in place and has no functional form")
        before = self.aliases.read(written)
        result = self.walk.call(target, args, kwargs, node.meta.get("val"))
        if isinstance(result, (list, tuple)):
            raise Refusal("it writes in place and gives several results")
        result = self.walk.op.cast(result, TO_TORCH[before.dtype])  # type: ignore[index]
        result = self.walk.op.expand(result, self.walk.op.shape(before))
        result = self.walk.finish(node, result)
        self.aliases.write(written, result)
        self.aliases.alias(node, written)

    def _replay(self, view: fx.Node, base: ir.Value) -> ir.Value:
        """A view made again, on what its base has become."""
        if is_write(view.target):
            return base
        if view.target is operator.getitem:
            source = view.args[0]
            assert isinstance(source, fx.Node)
            args, kwargs = self._arguments(source, base)
            pieces = self.walk.call(source.target, args, kwargs, source.meta.get("val"))
            return pieces[view.args[1]]  # type: ignore[no-any-return]
        args, kwargs = self._arguments(view, base)
        result = self.walk.call(view.target, args, kwargs, view.meta.get("val"))
        return self.walk.finish(view, result)  # type: ignore[no-any-return]

    def _scatter(self, view: fx.Node, base: ir.Value, value: ir.Value) -> ir.Value:
        def call(target: Any, *args: Any, **kwargs: Any) -> ir.Value:
            given = _map((args, kwargs), self._symbol)
            return self.walk.call(target, given[0], given[1], None)  # type: ignore[no-any-return]

        return undo(view, base, value, call, self.walk.op.shape)

    def _symbol(self, value: Any) -> Any:
        return self._resolve(value) if isinstance(value, fx.Node) else value

    # ---- values ----------------------------------------------------------------------------

    def _define(self, node: fx.Node, value: Any) -> None:
        if self.aliases is not None and isinstance(value, ir.Value):
            self.aliases.define(node, value)
        else:
            self.plain[node] = value

    def _resolve(self, value: Any) -> Any:
        if not isinstance(value, fx.Node):
            return _map(value, self._symbol) if isinstance(value, (list, tuple)) else value
        if self.aliases is not None and value in self.aliases:
            return self.aliases.read(value)
        if value in self.plain:
            return self.plain[value]
        symbol = value.meta["val"]
        expr = expression(symbol)
        if isinstance(symbol, torch.SymInt) and expr.is_number:
            return int(expr)
        return symbol

    def _arguments(self, node: fx.Node, base: ir.Value | None = None) -> tuple[Any, Any]:
        args = _map(tuple(node.args), self._symbol)
        if base is not None:
            args = (base, *args[1:])
        return args, {key: _map(value, self._symbol) for key, value in node.kwargs.items()}

    def _attribute(self, node: fx.Node) -> Any:
        value: Any = self.root
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if isinstance(value, torch.Tensor):
            return self.walk.op.const(value)
        return value


def _reads_data(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target.overloadpacket in (
        torch.ops.aten.item,
        torch.ops.aten._local_scalar_dense,
    )


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_map(item, change) for item in value)
    if isinstance(value, list):
        return [_map(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _map(item, change) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(_map(item, change) for item in (value.start, value.stop, value.step)))
    return change(value)


def _stand_in(value: Any, mode: Any) -> Any:
    """A fake tensor of a value's shape and dtype, for torch to decompose with."""
    if not isinstance(value, ir.Value):
        return value
    sizes = value.meta.get("shape")
    if sizes is None or value.dtype is None:
        raise Refusal(f"the shape of {value.name} is not known here")
    with mode:
        return torch.empty(tuple(sizes), dtype=TO_TORCH[value.dtype])


def _keywords(lowering: Lowering, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in kwargs.items()
        if key in lowering.parameters or key not in _IGNORED_KEYWORDS
    }


def _without(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in kwargs.items() if key not in _IGNORED_KEYWORDS}


def _qualified(target: Any) -> str:
    """`package::operator`, by which the operators of a package that may not be there are keyed."""
    return target._schema.name if isinstance(target, torch._ops.OpOverload) else ""


def _op_name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        name = str(target)
        return name.removesuffix(".default")
    return getattr(target, "__name__", str(target))
