"""Few turns of a loop, against what many were made into."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from onnxpert.capture.rolling.fit import Formula, Lengths
from onnxpert.capture.rolling.fold import LoopTemplate
from onnxpert.capture.rolling.trace import PIECES, Element, Trace, UnalikeError
from onnxpert.core.types import Captured

logger = logging.getLogger(__name__)


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
