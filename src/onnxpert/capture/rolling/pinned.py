"""Numbers that only the data know, and that Python must have: `for i in range(n.item())`.

The number is pinned to several values in turn, and what the model does with each of them is rolled up
like a loop over a size. `create_unbacked_symint` and `GuardOnDataDependentSymNode` are torch's own;
tried on torch 2.13 and 2.15."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from onnxpert.capture.reasoning import Frugal
from onnxpert.capture.rolling.fit import Formula, Lengths
from onnxpert.capture.rolling.fold import LoopTemplate
from onnxpert.capture.rolling.replay import Replay
from onnxpert.capture.rolling.trace import PIECES, Element, Trace, UnalikeError
from onnxpert.core.types import Captured

_READS = (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.item.default)
logger = logging.getLogger(__name__)
Pins = Mapping[int, int]  # the how manieth number that the data decide -> its value


class Pinning(Frugal):
    """A shape environment that keeps the numbers which the data decide, and is told some of them."""

    def __init__(self, pins: Pins, **settings: Any) -> None:
        super().__init__(**settings)
        self._pins = pins
        self._open: dict[Any, tuple[torch.SymInt, int]] = {}  # those that nobody has asked for yet
        self._known: dict[Any, Any] = {}  # and those that somebody has
        self.created: list[torch.SymInt] = []

    def create_unbacked_symint(self, *args: Any, **options: Any) -> torch.SymInt:
        made: torch.SymInt = super().create_unbacked_symint(*args, **options)
        value = self._pins.get(len(self.created))
        self.created.append(made)
        if value is not None:
            self._open[made.node._expr] = (made, value)
        return made

    def evaluate_expr(self, orig_expr: Any, *rest: Any, **options: Any) -> Any:
        # Not before: whoever made a number has something to say about it first.
        for symbol in self._open.keys() & orig_expr.free_symbols:
            made, value = self._open.pop(symbol)
            # `nonzero` of three elements finds no six: how often a loop could turn is no matter here.
            self.var_to_range[symbol] = ValueRanges(0, int_oo)
            torch._check(made == value)  # type: ignore[no-untyped-call]
            self._known[symbol] = sympy.Integer(value)
        orig_expr = orig_expr.xreplace(self._known)
        return super().evaluate_expr(orig_expr, *rest, **options)


def pinning_mode(pins: Pins) -> FakeTensorMode:
    environment = Pinning(
        pins, allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True, duck_shape=False
    )
    return FakeTensorMode(shape_env=environment, allow_non_fake_inputs=True, export=True)


def wanted(run: Callable[[FakeTensorMode], Any], pins: Pins) -> int | None:
    """Which further number a run needs to know, if that is what it stops at."""
    mode = pinning_mode(pins)
    try:
        run(mode)
    except GuardOnDataDependentSymNode as error:
        asked = getattr(error, "cond", None)
        if _is_condition(asked) and not _iterates(error):  # a branch, which has two sides
            return None
        symbols = getattr(asked, "free_symbols", ())
        environment: Any = mode.shape_env
        for number, made in enumerate(environment.created):
            if number not in pins and made.node._expr in symbols:
                return number
    except Exception:  # of the model's own, at made-up numbers: then there is nothing to pin
        logger.debug("not pinned", exc_info=True)
    return None


def _is_condition(asked: Any) -> bool:
    return isinstance(
        asked, (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction)
    )


def check_short(
    elements: Sequence[Element],
    lengths: Lengths,
    run: Callable[[Lengths], Captured],
    few: Sequence[int],
) -> None:
    """Few turns must be fewer of the same calls, where the model runs at all: Python may well have
    asked for the number, and there is no telling. Raises UnalikeError."""
    for length in few:
        at = tuple(length if place == len(lengths) - 1 else n for place, n in enumerate(lengths))
        try:
            found = Trace(run(at)).calls
        except Exception:  # of the model's own: it may need more turns than these
            logger.debug("does not run with %d turns", length, exc_info=True)
            continue
        if _counted(node.target for node in found) != _counted(_expanded(elements, at)):
            raise UnalikeError(f"with {length} turns the model does something else")


def _counted(targets: Iterable[Any]) -> Counter[Any]:
    """How many of which; no pieces of nothing are no call."""
    return Counter(target for target in targets if target not in PIECES)


def _expanded(elements: Sequence[Element], lengths: Lengths) -> Iterator[Any]:
    for element in elements:
        template = element.template
        if not isinstance(template, LoopTemplate):
            yield template.target
            continue
        count = element.leaves[0]
        turns = count.at(lengths) if isinstance(count, Formula) else count
        for step in template.body:
            if isinstance(step.template, LoopTemplate):
                raise UnalikeError("a loop within a loop of unknown length")
            yield from [step.template.target] * max(turns, 0)


def _iterates(error: BaseException) -> bool:
    """Whether it was raised by `for row in tensor`, which has to know how many rows there are."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is torch.Tensor.__iter__.__code__:
            return True
        trace = trace.tb_next
    return False


def is_given(run: Captured) -> bool:
    """Whether all such numbers are inputs of the model's, so that a proof tries several of each."""
    values = [node.meta.get("val") for node in run.root.graph.nodes]
    made = [v.node.shape_env.created for v in values if isinstance(v, torch.SymInt)]
    read = [node for node in run.root.graph.nodes if node.target in _READS]
    given = all(node.args[0].op == "placeholder" for node in read)
    return given and all(len(created) == len(read) for created in made)


class Later(Sequence[Any]):
    """The lengths of a program: those of sizes, and then numbers that come up while it runs."""

    def __init__(self, sizes: Sequence[Any], pins: Sequence[int], environment: Any) -> None:
        self._sizes = sizes
        self._pins = pins
        self._environment = environment

    def __len__(self) -> int:
        return len(self._sizes) + len(self._pins)

    def __getitem__(self, place: Any) -> Any:
        if place < len(self._sizes):
            return self._sizes[place]
        return self._environment.created[self._pins[place - len(self._sizes)]]

    @property
    def known(self) -> bool:
        return len(self._environment.created) > max(self._pins, default=-1)


class PinnedReplay(Replay):
    """Runs a program whose lengths come up on the way; before the first loop they must all be there,
    since a loop makes numbers of its own."""

    def element(self, scope: Any, template: Any, leaves: Sequence[Any], needs: Any) -> Any:
        if isinstance(template, LoopTemplate) and not self._lengths.known:  # type: ignore[attr-defined]
            raise UnalikeError("a number that the data decide comes up behind a loop")
        return super().element(scope, template, leaves, needs)
