"""A rolled program run once more, on symbolic lengths: its calls recorded, its loops as loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from onnxpert.capture.places import interpreted
from onnxpert.capture.rolling import trace as tr
from onnxpert.capture.rolling.fit import Formula, Power
from onnxpert.capture.rolling.fold import Key, LoopTemplate, read_after
from onnxpert.capture.rolling.opened import OPENED, varies
from onnxpert.capture.rolling.scope import NestingRecorder, Scope
from onnxpert.capture.rolling.trace import CallTemplate, Element, Ref
from onnxpert.capture.rolling.turns import Loop
from onnxpert.capture.rolling.values import Handle, Pieces, Row, joined

aten: Any = torch.ops.aten


class Replay:
    """Runs elements in scopes; the model's own graph is the outermost."""

    def __init__(self, recorder: NestingRecorder, lengths: Sequence[Any]) -> None:
        self.recorder = recorder
        self.scope = Scope(recorder)
        self._lengths = lengths
        self._small: list[torch.Tensor] = []

    def run(self, elements: Sequence[Element], inputs: Mapping[str, Any]) -> list[Any]:
        """The outputs of the whole program."""
        values: dict[Any, Any] = dict(inputs)
        needs = read_after(elements)
        for element in elements:
            leaves = [self._leaf(leaf, values) for leaf in element.leaves]
            with self.at(element.node):
                values[element.id] = self.element(
                    self.scope, element.template, leaves, needs.get(element.id, frozenset())
                )
        outputs: list[Any] = list(values[elements[-1].id])
        if any(isinstance(output, (Row, Handle, Pieces)) for output in outputs):
            raise tr.UnalikeError("the number of outputs varies with a size")
        return outputs

    def _leaf(self, leaf: Any, values: Mapping[Any, Any]) -> Any:
        if not isinstance(leaf, Ref):
            return self._number(leaf)
        index = tuple(self._number(number) for number in leaf.index)
        ref = Ref(leaf.producer, leaf.port, index, leaf.pick, leaf.axis)
        return Handle(values[leaf.producer], ref)

    def _number(self, number: Any) -> Any:
        return number.at(self._lengths) if isinstance(number, (Formula, Power)) else number

    @contextmanager
    def at(self, node: fx.Node | None) -> Iterator[None]:
        """What is recorded now comes from this node's line and module."""
        if node is None:
            yield
            return
        token = interpreted.set(node.meta.get("frames") or ())
        self.recorder.modules.append(node.meta.get("module") or "")
        try:
            yield
        finally:
            self.recorder.modules.pop()
            interpreted.reset(token)

    # ---- elements --------------------------------------------------------------------------

    def element(
        self, scope: Scope, template: Any, leaves: Sequence[Any], needs: frozenset[Key]
    ) -> Any:
        if isinstance(template, LoopTemplate):
            return Loop(self, scope, template, leaves, needs).run()
        return self._call(scope, template, iter(leaves))

    def _call(self, scope: Scope, template: CallTemplate, leaves: Iterator[Any]) -> Any:
        args = self._built(scope, template.args, leaves)
        kwargs = {key: self._built(scope, spec, leaves) for key, spec in template.kwargs}
        target = template.target
        if target == "output":
            return args[0]
        if target in tr.PIECES:
            return _pieces(target, *args, **kwargs)
        if args and isinstance(args[0], list) and any(isinstance(a, Row) for a in args[0]):
            dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
            return joined(scope, target, args[0], dim)
        if target is aten.item.default:  # torch takes that one apart where an offset is a symbol
            target = aten._local_scalar_dense.default
        if target in OPENED and varies(args):
            return OPENED[target](*args, **kwargs)
        if target is aten.slice.Tensor and not kwargs:
            sliced = self.recorder.sliced(*args)
            if sliced is not None:
                return sliced
        return target(*args, **kwargs)

    def _built(self, scope: Scope, spec: tr.Spec, leaves: Iterator[Any]) -> Any:
        match spec:
            case tr.Number():
                return next(leaves)
            case tr.Value():
                return next(leaves).get(scope)
            case tr.Size():
                return self._size(scope, spec, leaves)
            case tr.Small() | tr.Range():
                return self._constant(scope, spec, leaves)
            case tr.Many():
                return self._many(scope, spec, leaves)
            case tr.Constant(value):
                return scope.bring(value.tensor) if isinstance(value, tr.Held) else value
        raise AssertionError(spec)

    def _size(self, scope: Scope, spec: tr.Size, leaves: Iterator[Any]) -> Any:
        total: Any = 0
        for term, symbols in spec.terms:
            factor = next(leaves)
            known = {symbol: next(leaves).get(scope) for symbol in symbols}
            total = total + factor * sympy_interp(PythonReferenceAnalysis, known, term)
        return total

    def _constant(self, scope: Scope, spec: tr.Small | tr.Range, leaves: Iterator[Any]) -> Any:
        if isinstance(spec, tr.Range):
            return self._range(scope, spec, leaves)
        count = torch.Size(spec.shape).numel()
        numbers = [next(leaves) for _ in range(count)]
        if all(isinstance(number, (int, float)) for number in numbers):
            return self._known(scope, numbers, spec.shape, spec.dtype)
        parts = [aten.full.default([1], number, dtype=spec.dtype) for number in numbers]
        return aten.reshape.default(aten.cat.default(parts), list(spec.shape))

    def _range(self, scope: Scope, spec: tr.Range, leaves: Iterator[Any]) -> Any:
        start, step, count = next(leaves), next(leaves), next(leaves)
        if isinstance(count, int) and all(isinstance(n, (int, float)) for n in (start, step)):
            numbers = [start + place * step for place in range(count)]
            return self._known(scope, numbers, (count,), spec.dtype)
        turns = aten.arange.default(count, dtype=spec.dtype)
        return aten.add.Tensor(aten.mul.Tensor(turns, step), start)

    def _known(self, scope: Scope, numbers: Sequence[Any], shape: Any, dtype: torch.dtype) -> Any:
        with _disable_current_modes():
            tensor = torch.tensor(numbers, dtype=dtype).reshape(shape)
        self._small.append(tensor)  # its id stays its own
        return scope.bring(tensor)

    def _many(self, scope: Scope, spec: tr.Many, leaves: Iterator[Any]) -> Any:
        found: list[Any] = []
        for item in spec.items:
            if isinstance(item, tr.Run):
                start = next(leaves)
                dims = tuple(
                    (tuple(next(leaves) for _ in range(item.width)), next(leaves))
                    for _ in range(item.rank)
                )
                row = Row(start, dims)
                items = row.items()
                found += [row] if items is None else [handle.get(scope) for handle in items]
            else:
                found.append(self._built(scope, item, leaves))
        return spec.kind(found)


def _pieces(target: Any, tensor: torch.Tensor, *rest: Any, dim: int = 0) -> Pieces:
    if target is aten.unbind.int:
        size, dim = 1, rest[0] if rest else dim
    else:
        size, dim = rest[0], rest[1] if len(rest) > 1 else dim
    return Pieces(target, tensor, size, dim % tensor.dim())
