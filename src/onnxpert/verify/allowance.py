"""How long a proof may go on once it has shown what every proof must.

A model that takes ten seconds is not run a hundred times, neither for more cases nor to find out why
one of them differs."""

from __future__ import annotations

import time

SECONDS = 45.0


class Allowance:
    """Counts the time of this thread: that of others on a busy machine is not the model's."""

    def __init__(self) -> None:
        self._start = time.thread_time()

    @property
    def is_spent(self) -> bool:
        return time.thread_time() - self._start > SECONDS
