"""Runs of seeds: what is drawn from each is tried in a child process, which may crash or hang without harm."""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from conformance import pool
from conformance.results import Entry, Row
from conformance.worker import Begun, Task

TOGETHER = 20  # seeds of one task


@dataclass(frozen=True, slots=True)
class Seeds(Task):
    """Some seeds in a row: `limit` of them, from `first` on; a row's sample is its seed.

    The operator is the package that draws from them: its `trial.attempt` is what they go to."""

    first: int = 0

    def __iter__(self) -> Iterator[int]:
        return (s for s in range(self.first, self.first + self.limit) if s not in self.done)


def serve(pipe: Connection) -> None:
    """Work until there is no more; None says that a task is finished."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    while (task := pipe.recv()) is not None:
        attempt = importlib.import_module(f"{task.operator}.trial").attempt
        for seed in task:
            pipe.send(Begun(seed, ""))
            pipe.send(task.row(seed, *attempt(seed)))
        pipe.send(None)


def rows(package: str, first: int, count: int, jobs: int, timeout: float) -> list[Row]:
    """A row for each seed, in their order."""
    found: list[Row] = []

    def take(_task: Task, entries: Sequence[Entry]) -> None:
        found.extend(entry for entry in entries if isinstance(entry, Row))
        print(f"{len(found)}/{count}", file=sys.stderr)

    tasks = [
        Seeds(package, "mixed", dynamic=False, limit=limit, first=start)
        for start in range(first, first + count, TOGETHER)
        if (limit := min(TOGETHER, first + count - start))
    ]
    pool.run(tasks, jobs, timeout, take, serve)
    return sorted(found, key=lambda row: row.sample)


def parser(about: str | None, count: int, page: Path, timeout: float) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=about)
    add = made.add_argument
    add("--first", type=int, default=0, help="the first seed")
    add("--count", type=int, default=count, help="how many, from there")
    add("--jobs", type=int, default=2, help="child processes at a time")
    add("--timeout", type=float, default=timeout, help="seconds for one model")
    add("--out", type=Path, help=f"the page; docs/{page.name} for the seeds it is about")
    return made
