"""The walk over a captured graph: each call is lowered where it stands, or noted as missing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch import fx

from onnxpert.core.bodies import is_custom, python_body
from onnxpert.core.loops import counted_loop, stopped_loop
from onnxpert.core.source import module_of, of_meta
from onnxpert.core.types import Location, OlderForm, OpaqueBody, Source, Unsupported
from onnxpert.lower import symbolic
from onnxpert.lower.by_parts import call_by_parts
from onnxpert.lower.complex_pairs import (
    COMPLEX,
    REAL,
    converted,
    involved,
    is_complex,
    mark,
)
from onnxpert.lower.custom import Custom, Final, Wishes
from onnxpert.lower.decompose import decompose
from onnxpert.lower.dtypes import TO_ONNX, TO_TORCH
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.frame import Frame, mapped
from onnxpert.lower.lowering import Lowering
from onnxpert.lower.shapes import equal
from onnxpert.lower.symbols import expression

logger = logging.getLogger(__name__)
Library = Mapping[Any, Sequence[Lowering]]
_IGNORED_KEYWORDS = frozenset(
    {
        "device",
        "layout",
        "pin_memory",
        "memory_format",
        "non_blocking",
        "requires_grad",
        "generator",
    }
)
# These give their operands to a graph as they are, complex or not.
_PASSING = frozenset({counted_loop, stopped_loop}) | frozenset(
    getattr(torch.ops.higher_order, name)
    for name in (
        "cond",
        "while_loop",
        "scan",
        "map_impl",
        "wrap",
        "wrap_with_set_grad_enabled",
        "wrap_with_autocast",
        "tag_activation_checkpoint",
        "wrap_activation_checkpoint",
        "invoke_subgraph",
        "hints_wrapper",
        "strict_mode",
    )
)

# The opset that torch.onnx.export writes.
_PLAIN = 18
# Operators of later opsets that one lowering says in either way.
_SINCE = {"col2im": 18, "mish": 18, "layer_norm": 17, "native_layer_norm": 17, "stft": 17,
          "_fft_r2c": 17, "_fft_c2c": 17, "_fft_c2r": 17}  # fmt: skip


class Walk:
    """Lowers the nodes of one FX graph, in order, into an emitter."""

    def __init__(
        self,
        op: Emitter,
        library: Library,
        fallback: Callable[..., Any],
        fake_mode: Any,
        wishes: Wishes | None = None,
    ) -> None:
        self.op = op
        self._fake_mode = fake_mode
        self.unsupported: list[Unsupported] = []
        self.older: list[OlderForm] = []
        self.locations: dict[str, Location] = {}
        self.origins: dict[str, str] = {}
        self.sources: dict[tuple[str, Source], None] = {}  # in the order they were asked
        self._library = library
        self.custom = Custom(wishes or Wishes())
        self._fallback = fallback  # (op, overload, args, kwargs) -> result or NotImplemented
        self._location: Location | None = None
        self._named: set[int] = set()
        self._depth = 0  # how deep we are in operators that torch took apart

    # ---- graphs ----------------------------------------------------------------------------

    def run(self, op: Emitter, root: Any, given: Sequence[Any]) -> list[Any]:
        """The outputs of a graph whose placeholders are `given`."""
        return self._run(op, root, given)[0]

    def inline(self, op: Emitter, root: Any, given: Sequence[Any]) -> list[Any]:
        """The same for the body of a control-flow operator, whose writes must stay inside."""
        results, frame = self._run(op, root, given)
        if frame.writes_inputs():
            raise Refusal("it writes a tensor that was made outside of it")
        return results

    def _run(self, op: Emitter, root: Any, given: Sequence[Any]) -> tuple[list[Any], Frame]:
        outer, self.op = self.op, op
        frame = Frame(self, root, self._fake_mode)
        try:
            return frame.run(given), frame
        finally:
            self.op = outer

    # ---- one call --------------------------------------------------------------------------

    def call(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Our lowering, torchlib's, torch's own decomposition: the first that can say it."""
        refusals: list[Refusal] = []
        for source, attempt in (
            (Source.USER, self._users),
            (Source.OWN, self._own),
            (Source.TORCHLIB, self._torchlib),
            (Source.DECOMPOSITION, self._decomposed),
            (Source.SYMBOLIC, self._symbolic),
        ):
            try:
                result = attempt(target, args, kwargs, out)
                if result is not NotImplemented:
                    if not self._depth:
                        self.sources[_op_name(target), source] = None
                    return result
            except Final:
                raise
            except Refusal as error:
                refusals.append(error)
        raise refusals[0] if refusals else Refusal("")

    def has(self, target: Any) -> bool:
        """Whether there is a lowering of our own, or of the user's."""
        return target in self._library or self.custom.wishes.knows(target)

    def _users(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        return self.custom.call(self.op, target, args, kwargs, out)

    def _symbolic(
        self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
    ) -> Any:
        return symbolic.call(self.op, target, args, kwargs, out)

    def _own(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        known = self._library.get(target) or self._library.get(_qualified(target), ())
        if target not in _PASSING and involved((tuple(args), dict(kwargs), out)):
            every, known = known, [one for one in known if one.complex]
            if not known:
                result = call_by_parts(
                    self.op, self.call, target, args, kwargs, out=out, mode=self._fake_mode
                )
                if result is NotImplemented and every:
                    raise Refusal("it has no lowering for complex numbers")
                return result
        else:
            known = [one for one in known if not one.complex] or known
        refusals: list[Refusal] = []
        for lowering in known:
            # Below 13 the emitter refuses, node by node, what those opsets do not have.
            if lowering.since > max(self.op.opset, 13):
                refusals.append(Refusal(f"it needs opset {lowering.since}", lowering.since))
                continue
            try:
                self.op.out = out
                result = lowering(self.op, *args, **_keywords(lowering, kwargs))
            except Refusal as error:
                refusals.insert(0, error)
            except Exception as error:  # a bug of ours must not hide the other reasons
                logger.debug("the lowering %s failed", lowering.name, exc_info=True)
                refusals.insert(
                    0, Refusal(f"a bug in its lowering ({type(error).__name__}: {error})")
                )
            else:
                self._note_older(target, refusals)
                return result
        if refusals:
            self._note_older(target, refusals)
            raise refusals[0]
        return NotImplemented

    def _note_older(self, target: Any, refusals: Sequence[Refusal]) -> None:
        """That the asked opset is older than the operator for it; of opsets below torch's own."""
        packet = getattr(target, "overloadpacket", target)
        known = _SINCE.get(getattr(packet, "__name__", ""))
        every = (known, *(one.lowest_opset for one in refusals))
        since = [one for one in every if one is not None]
        if since and self.op.opset < min(since) <= _PLAIN and not self._depth:
            self.older.append(OlderForm(_op_name(target), min(since), self._location))

    def _torchlib(
        self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
    ) -> Any:
        self.op.out = out
        return self._fallback(self.op, target, args, _without(kwargs))

    def _decomposed(
        self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
    ) -> Any:
        stand_ins = mapped((tuple(args), dict(kwargs)), lambda v: _stand_in(v, self._fake_mode))
        try:
            found = decompose(target, stand_ins[0], stand_ins[1], self._fake_mode)
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
        single = len(results) == 1 and not isinstance(out, (list, tuple))
        return results[0] if single else tuple(results)

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
            why = f": {refusal.reason}" if refusal.reason else ""
            raise Refusal(f"inside it {_op_name(node.target)} has none{why}")
        self.unsupported.append(
            Unsupported(
                _op_name(node.target),
                refusal.reason,
                self._location,
                refusal.lowest_opset,
                opaque=node.meta.get("opaque") or _unseen(node.target),
                broken=getattr(refusal, "failure", None),
                symbolic=getattr(refusal, "symbolic", None),
                function=node.meta.get("function"),
                follows=any(map(_is_made_sparse, node.all_input_nodes)),
            )
        )
        return self._stub(node)

    def _stub(self, node: fx.Node) -> Any:
        """Typed values out of nowhere, so that the walk can go on and find the other reasons."""
        value: Any = node.meta.get("val")
        many = isinstance(value, (list, tuple))
        outputs = self.op.emit(
            _op_name(node.target).replace(".", "_"),
            _domain="onnxpert.unsupported",
            _outputs=len(value) if many else 1,
            origin=node.name,  # two of a kind are still two
        )
        return (outputs,) if many and len(value) == 1 else outputs

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
        if expected.dtype.is_complex:
            value = self._settle_complex(value, expected)
        wanted = TO_ONNX.get(REAL.get(expected.dtype, expected.dtype))
        differs = value.dtype is not None and wanted is not None and value.dtype != wanted
        if differs:
            value = self.op.cast(value, expected.dtype)
        if value.dtype is None and wanted is not None:
            value.dtype = wanted
        if self._is_seen_anew(value, expected):
            value = self.op.Identity(value)
        value.meta["shape"] = tuple(expected.shape)
        if (
            id(value) not in self._named
            and value.const_value is None
            and value.producer() is not None
        ):
            self._named.add(id(value))
            value.name = self.op.shared.values.unique(name)
            if not self._depth:
                self.origins[value.name] = name
            if self._location is not None:
                self.locations[value.name] = self._location
        self._bind(value, expected)
        return value

    def _is_seen_anew(self, value: ir.Value, expected: torch.Tensor) -> bool:
        """Whether a side of a branch knows more of a value from outside than the rest may know."""
        before = value.meta.get("shape")
        if before is None or value.const_value is not None or is_complex(value):
            return False
        outside = id(value) in self._named or value.producer() is None
        return outside and not equal(tuple(before), tuple(expected.shape))

    def _settle_complex(self, value: ir.Value, expected: torch.Tensor) -> ir.Value:
        if value.dtype is None:
            value.dtype = TO_ONNX[REAL[expected.dtype]]
        if not is_complex(value):  # what a subgraph gives comes without what was known inside
            return mark(self.op, value, expected.shape)
        return converted(self.op, value, expected.dtype)

    def _bind(self, value: ir.Value, expected: torch.Tensor) -> None:
        """Sizes that only the data know (`nonzero`) are read off the value itself."""
        for axis, size in enumerate(expected.shape):
            if isinstance(size, torch.SymInt):
                symbol = expression(size)
                if symbol.is_Symbol and not self.op.knows(symbol):
                    self.op.bind(symbol, value, axis)


def _stand_in(value: Any, mode: Any) -> Any:
    """A fake tensor of a value's shape and dtype, for torch to decompose with."""
    if not isinstance(value, ir.Value):
        return value
    sizes = value.meta.get("shape")
    if sizes is None or value.dtype is None:
        raise Refusal(f"the shape of {value.name} is not known here")
    with mode:
        own = TO_TORCH[value.dtype]
        return torch.empty(tuple(sizes), dtype=COMPLEX[own] if is_complex(value) else own)


def _keywords(lowering: Lowering, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in kwargs.items()
        if key in lowering.parameters or key not in _IGNORED_KEYWORDS
    }


def _without(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in kwargs.items() if key not in _IGNORED_KEYWORDS}


def _unseen(target: Any) -> OpaqueBody | None:
    if is_custom(target) and python_body(target) is None:
        return OpaqueBody("it has no body in Python", None)
    return None


def _qualified(target: Any) -> str:
    """`package::operator`, by which the operators of a package that may not be there are keyed."""
    return target._schema.name if isinstance(target, torch._ops.OpOverload) else ""


def _is_made_sparse(node: fx.Node) -> bool:
    """Whether an operator gives a tensor of a layout that ONNX has not: whatever takes it has no form."""
    layout = getattr(node.meta.get("val"), "layout", torch.strided)
    return node.op == "call_function" and layout is not torch.strided


def _op_name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        name = str(target)
        return name.removesuffix(".default")
    return getattr(target, "__name__", str(target))
