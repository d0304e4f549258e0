"""NumPy that torch would translate, in a model that something else keeps from being translated whole.

Strict `torch.export` has torch's own NumPy for the arrays in a forward, and gives up at the first line that
it cannot read. `torch._dynamo.explain` goes on behind such lines, and tells each; tried on torch 2.13 and
2.15."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from typing import Any

import torch

from onnxpert.capture.flat import owner
from onnxpert.capture.state import untouched
from onnxpert.capture.stepping.over import stepped_over
from onnxpert.core.types import Asked, Blocker, Loaded, Location

logger = logging.getLogger(__name__)
# What our own recorder gets through where arrays are not in the way; the translation does not.
_FOLLOWED = frozenset({Asked.BRANCH, Asked.LOOP, Asked.ASSERTION})
_Line = tuple[str, int]


def translated(loaded: Loaded, blockers: Sequence[Blocker]) -> tuple[Blocker, ...]:
    """Those among them that would be none if the rest were mended."""
    arrays = [one for one in blockers if one.asked is Asked.NUMPY and not _is_list(one)]
    others = [one for one in blockers if one not in arrays]
    passed = stepped_over()
    if not arrays or not (others or passed) or any(one.asked in _FOLLOWED for one in others):
        return ()
    try:
        ends = _ends(loaded)
    except Exception:  # then nothing is known of it, and it counts as in the way
        logger.debug("what torch translates is not known", exc_info=True)
        return ()
    known = {_line(place) for one in blockers for place in (one.location, one.needed)} | passed
    if any(known.isdisjoint(end) for end in ends):
        return ()  # it may be what the array is used for
    lines = set().union(*ends)
    return tuple(
        one for one in arrays if lines.isdisjoint((_line(one.location), _line(one.needed)))
    )


def _is_list(one: Blocker) -> bool:
    return "tolist" in one.text or "tolist" in getattr(one.location, "code", "")


def _ends(loaded: Loaded) -> list[set[_Line]]:
    """The lines of the calls that torch could not read, each with those that led to it."""
    module: Any = loaded.module
    args, kwargs = loaded.rebuild([copy.deepcopy(leaf.value) for leaf in loaded.leaves])
    with (
        untouched(owner(module), buffers=True),
        torch.no_grad(),
        torch.random.fork_rng([]),
        torch._dynamo.config.patch(
            capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
        ),
    ):
        found = torch._dynamo.explain(module)(*args, **kwargs)
    return [
        {(frame.filename, frame.lineno or 0) for frame in reason.user_stack}
        for reason in found.break_reasons
    ]


def _line(place: Location | None) -> _Line | None:
    return None if place is None else (place.file, place.line)
