"""Python's own functions, where what they are given is not there until a run of the file."""

from __future__ import annotations

import builtins
import functools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from onnxpert.capture.open_sizes.nothing import correction
from onnxpert.capture.written import sequences, wordings
from onnxpert.capture.written.held import SYMBOLS, Grown
from onnxpert.capture.written.iterating import Iterating
from onnxpert.capture.written.orders import Orders
from onnxpert.capture.written.sequences import Steps, steps
from onnxpert.capture.written.units import Variables

if TYPE_CHECKING:
    from onnxpert.capture.written.flow import Flow

Function = Callable[..., Any]
_sym: Any = torch  # whose functions of symbols have no types


class Functions:
    """What rewritten code calls by the names of Python's."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._orders = Orders(flow, self._list)

    def table(self) -> Mapping[Any, Function]:
        return {
            builtins.range: sequences.counted,
            builtins.zip: sequences.zipped,
            builtins.enumerate: sequences.numbered,
            builtins.reversed: sequences.backwards,
            builtins.len: _length,
            builtins.int: _whole,
            builtins.float: _fraction,
            builtins.bool: self._truth,
            builtins.list: self._list,
            builtins.tuple: self._tuple,
            deque: self._deque,
            builtins.sum: self._sum,
            builtins.min: self._min,
            builtins.max: self._max,
            builtins.sorted: self._orders.sorted,
            builtins.getattr: self._attribute,
            builtins.any: self._any,
            builtins.all: self._all,
            builtins.map: _map,
            builtins.filter: self._filter,
            **Iterating(self._flow).table(),
        }

    def _truth(self, value: Any = False) -> Any:
        truth = self._flow.truth(value)
        return truth if isinstance(truth, bool) else flag(truth)

    def _list(self, over: Any = ()) -> Any:
        found = steps(over)
        if isinstance(over, Grown):
            copied = over.copy()
            copied.limit = None  # of a deque: `list(queue)` may grow
            return copied
        if found is None:
            return list(over)
        items: list[list[Any]] = [[]]

        def body(item: Any) -> None:
            items[0].append(item)

        def put(values: Sequence[Any]) -> None:
            items[0] = values[0]

        self._flow.through(found, body, None, Variables(lambda: (items[0],), put))
        return items[0]

    def _deque(self, over: Any = (), maxlen: int | None = None) -> Any:
        if steps(over) is None:
            return deque(over, maxlen)
        made = self._list(over)
        if not isinstance(made, Grown):
            return deque(made, maxlen)
        made.limit = maxlen
        made.cut(last=True)
        return made

    def _tuple(self, over: Any = ()) -> Any:
        return tuple(over) if steps(over) is None else self._list(over)

    def _sum(self, over: Any, start: Any = 0) -> Any:
        found = steps(over)
        if found is None:
            return sum(over, start)
        total = [start]

        def body(item: Any) -> None:
            total[0] = total[0] + item

        def put(values: Sequence[Any]) -> None:
            total[0] = values[0]

        self._flow.through(found, body, None, Variables(lambda: (total[0],), put))
        return total[0]

    def _filter(self, function: Function | None, over: Any) -> Any:
        kept: list[list[Any]] = [[]]

        def body(item: Any) -> None:
            test = item if function is None else function(item)
            self._flow.branch(test, lambda: kept[0].append(item), lambda: None, (get, put))

        def get() -> tuple[Any, ...]:
            return (kept[0],)

        def put(values: Sequence[Any]) -> None:
            kept[0] = values[0]

        self._flow.gone_through(over, body, None, (get, put))
        return kept[0]

    def _attribute(self, module: Any, name: str, *default: Any) -> Any:
        worded = self._flow.recorder.worded
        if default or hasattr(module, name) or not any(text in name for text in worded):
            return getattr(module, name, *default)
        self._flow.assume("AttributeError")
        return wordings.attribute(module, name, worded, self._flow.chosen)

    def _any(self, over: Any) -> Any:
        return self._quantified(over, False)

    def _all(self, over: Any) -> Any:
        return self._quantified(over, True)

    def _quantified(self, over: Any, goes_on: bool) -> Any:
        if isinstance(over, Grown):
            return over.rows.all() if goes_on else over.rows.any()
        if steps(over) is not None:
            return self._quantified(self._list(over), goes_on)
        parts = [lambda item=item: item for item in over]
        quantified = self._flow.both if goes_on else self._flow.either
        return self._truth(quantified(*parts)) if parts else goes_on

    def _min(self, *values: Any, **options: Any) -> Any:
        return self._extreme(builtins.min, torch.sym_min, values, options)

    def _max(self, *values: Any, **options: Any) -> Any:
        return self._extreme(builtins.max, torch.sym_max, values, options)

    def _extreme(self, plain: Function, symbolic: Function, values: Any, options: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], Steps):
            values = (self._list(values[0]),)
        if len(values) == 1 and isinstance(values[0], Grown) and "default" in options:
            best_of = functools.partial(self._extreme, plain, symbolic, values)
            rest = {key: value for key, value in options.items() if key != "default"}
            default = options["default"]
            is_any = values[0].count > 0
            return self._flow.chosen(is_any, lambda: best_of(rest), lambda: default)
        if len(values) == 1 and isinstance(values[0], Grown) and not options:
            rows = values[0].rows
            best = rows.amin(0) if plain is builtins.min else rows.amax(0)
            return best.item() if values[0].number else best
        if list(options) == ["key"] and len(values) == 1 and options["key"] is not None:
            return self._orders.best(plain, values[0], options["key"])
        many = list(values[0]) if len(values) == 1 else list(values)
        if options or not any(isinstance(one, (torch.Tensor, *SYMBOLS)) for one in many):
            return plain(*values, **options)
        # What a tensor holds may be a size: `max(padding, extra)`, both computed by torch.
        sizes = [self._flow.recorder.known(one) for one in many if isinstance(one, torch.Tensor)]
        if sizes and all(isinstance(size, (int, torch.SymInt)) for size in sizes):
            found = iter(sizes)
            many = [next(found) if isinstance(one, torch.Tensor) else one for one in many]
        best = many[0]
        for other in many[1:]:
            if isinstance(best, torch.Tensor) or isinstance(other, torch.Tensor):
                better = other < best if plain is builtins.min else other > best
                best = self._flow.chosen(better, lambda o=other: o, lambda b=best: b)
            else:
                found = symbolic(best, other)
                best = found + correction(found, best, other, plain)
        return best


def _map(function: Function, *many: Any) -> Any:
    if all(steps(one) is None for one in many):
        return builtins.map(function, *many)
    found = sequences.zipped(*many)
    return Steps(found.count, lambda place: function(*found.item(place)))


def flag(truth: Any) -> Any:
    """A truth value that is handed on like any tensor."""
    return (
        _sym.scalar_tensor(truth, dtype=torch.bool) if isinstance(truth, torch.SymBool) else truth
    )


def _length(over: Any) -> Any:
    if isinstance(over, (Grown, Steps)):
        return over.count
    if isinstance(over, torch.Tensor) and over.dim():
        return over.shape[0]
    return len(over)


def _whole(*values: Any) -> Any:
    if len(values) != 1:
        return int(*values)
    value = values[0].item() if isinstance(values[0], torch.Tensor) else values[0]
    if isinstance(value, torch.SymBool):
        return _sym.sym_ite(value, 1, 0)
    return _sym.sym_int(value) if isinstance(value, (torch.SymInt, torch.SymFloat)) else int(value)


def _fraction(*values: Any) -> Any:
    value = values[0].item() if values and isinstance(values[0], torch.Tensor) else values
    if not isinstance(value, tuple):
        return _sym.sym_float(value) if isinstance(value, SYMBOLS) else float(value)
    if value and isinstance(value[0], (torch.SymInt, torch.SymFloat)):
        return _sym.sym_float(value[0])
    return float(*value)
