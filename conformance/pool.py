"""The parent: hands tasks to child processes, and makes a row of whatever does not come back."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection

from conformance.results import Entry, Outcome, Row
from conformance.worker import SURVEY, Begun, Task, serve

START = 120.0  # seconds a fresh process may take to import torch and its database
Serve = Callable[[Connection], None]
RECYCLE = 150  # tasks; torch's caches grow with every graph


class Child:
    """A process that can be lost and replaced."""

    def __init__(self, serve: Serve) -> None:
        context = multiprocessing.get_context("spawn")
        os.environ["OMP_NUM_THREADS"] = "1"  # the child reads it as it starts
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.tasks = 0

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Lane:
    """One child after another, working through tasks."""

    def __init__(self, timeout: float, serve: Serve = serve) -> None:
        self.timeout = timeout
        self.serve = serve
        self.child = Child(serve)

    def perform(self, task: Task) -> Iterator[Entry]:
        """Every row of a task; one that kills or stalls the child is a row, and the rest goes on."""
        if self.child.tasks >= RECYCLE:
            self._renew()
        done = set(task.done)
        while True:
            lost = yield from self._attempt(replace(task, done=frozenset(done)), done)
            if lost is None:
                return
            self._renew()
            if lost.sample == SURVEY:
                return
            yield lost
            done.add(lost.sample)
            if lost.sample < 0:
                return

    def _attempt(self, task: Task, done: set[int]) -> Generator[Entry, None, Row | None]:
        patience = self.timeout + (0 if self.child.tasks else START)
        self.child.tasks += 1
        self.child.pipe.send(task)
        begun = Begun(-1, "")
        while True:
            try:
                if not self.child.pipe.poll(patience):
                    return self._lost(task, begun, Outcome.TIMED_OUT, f"over {self.timeout:g} s")
                message = self.child.pipe.recv()
            except (EOFError, ConnectionError):
                self.child.process.join()
                code = self.child.process.exitcode
                return self._lost(task, begun, Outcome.CRASHED, f"exit code {code}")
            patience = self.timeout
            if message is None:
                return None
            if isinstance(message, Begun):
                begun = message
                continue
            if isinstance(message, Row):
                done.add(message.sample)
            yield message

    def _lost(self, task: Task, begun: Begun, outcome: Outcome, why: str) -> Row:
        return task.row(begun.sample, outcome, why, begun.call)

    def _renew(self) -> None:
        self.child.end()
        self.child = Child(self.serve)

    def close(self) -> None:
        self.child.end()


def run(
    tasks: Iterable[Task],
    jobs: int,
    timeout: float,
    take: Callable[[Task, list[Entry]], None],
    serve: Serve = serve,
) -> None:
    """Everything, `jobs` tasks at a time; `take` is called with each finished task's entries."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    guard = threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        lane = Lane(timeout, serve)
        try:
            while not errors:
                task = waiting.get_nowait()
                entries = list(lane.perform(task))
                with guard:
                    take(task, entries)
        except queue.Empty:
            pass
        except BaseException as error:  # a thread's exception is nobody's unless it is carried
            errors.append(error)
        finally:
            lane.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
