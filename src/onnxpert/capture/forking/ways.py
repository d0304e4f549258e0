"""How many ways there are through a model by its sizes, read off one run.

Questions about one size follow on each other: with n of them it goes n + 1 ways. What is asked of another
size is asked on each of those again, for what a side knows of sizes it has used for all that follows."""

from __future__ import annotations

import math

from onnxpert.capture.forking.runs import Run
from onnxpert.capture.forking.traces import Expr


def ways_of_sizes(first: Run) -> int:
    """Of all sizes together where they have nothing to do with each other; 1 where all have."""
    groups: list[tuple[set[Expr], set[Expr]]] = []  # the sizes, and what is asked of them
    for asked in first.asked:
        if asked.question.about_data:
            continue
        condition = asked.question.condition
        sizes, conditions = set(condition.free_symbols), {condition}
        for group in [one for one in groups if one[0] & sizes]:
            groups.remove(group)
            sizes |= group[0]
            conditions |= group[1]
        groups.append((sizes, conditions))
    if len(groups) < 2:
        return 1
    return math.prod(len(conditions) + 1 for _, conditions in groups)
