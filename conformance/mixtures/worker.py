"""The child process of a run: takes seeds, sends rows, and may crash or hang without harm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from conformance.results import Outcome, Row
from conformance.worker import Begun, Task


@dataclass(frozen=True, slots=True)
class Seeds(Task):
    """Some seeds in a row: `limit` of them, from `first` on; a row's sample is its seed."""

    first: int = 0

    def __iter__(self) -> Iterator[int]:
        return (s for s in range(self.first, self.first + self.limit) if s not in self.done)


def seeds(first: int, count: int) -> Seeds:
    return Seeds("mixture", "mixed", dynamic=False, limit=count, first=first)


def serve(pipe: Connection) -> None:
    """Work until there is no more; None says that a task is finished."""
    import torch

    from conformance.mixtures.trial import attempt

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    while (task := pipe.recv()) is not None:
        for seed in task:
            pipe.send(Begun(seed, ""))
            pipe.send(row(task, seed, *attempt(seed)))
        pipe.send(None)


def row(task: Seeds, seed: int, outcome: Outcome, detail: str, source: str) -> Row:
    return task.row(seed, outcome, detail, source)
