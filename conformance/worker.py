"""The child process: takes tasks, sends what it finds, and may crash or hang without harm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from conformance.results import Entry, Outcome, Row


@dataclass(frozen=True, slots=True)
class Task:
    """One operator in one form; `done` are samples that a lost child has answered for."""

    operator: str
    dtype: str
    dynamic: bool
    limit: int
    survey: bool = False
    done: frozenset[int] = frozenset()

    def row(self, sample: int, outcome: Outcome, detail: str = "", call: str = "") -> Row:
        return Row(self.operator, self.dtype, self.dynamic, sample, outcome, detail, call)


@dataclass(frozen=True, slots=True)
class Begun:
    """Said before each step, so that whoever waits knows what never came back."""

    sample: int
    call: str


SAMPLES, SURVEY = -1, -2  # steps that are no sample


def serve(pipe: Connection) -> None:
    """Work until there is no more; None says that a task is finished."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    while (task := pipe.recv()) is not None:
        for message in perform(task):
            pipe.send(message)
        pipe.send(None)


def perform(task: Task) -> Iterator[Begun | Entry]:
    from conformance.database import chosen, operators
    from conformance.trial import attempt, survey

    operator = operators()[task.operator]
    yield Begun(SAMPLES, "")
    try:
        samples = operator.samples(task.dtype)
    except Exception as error:  # what torch cannot draw samples of, nobody can try
        yield task.row(SAMPLES, Outcome.IDLE, f"torch has no samples: {error}")
        return
    right = []
    for index in chosen(samples, task.limit):
        if index in task.done:
            continue
        call = operator.call(samples[index])
        yield Begun(index, str(call))
        outcome, detail = attempt(operator, call, dynamic=task.dynamic)
        if outcome is Outcome.RIGHT:
            right.append(index)
        yield task.row(index, outcome, detail, str(call))
    candidates = right or sorted(task.done)
    if task.survey and candidates:
        yield Begun(SURVEY, "")
        facts = survey(operator, operator.call(samples[candidates[len(candidates) // 2]]))
        if facts is not None:
            yield facts
