"""Children that do not come back, for the test of the parent."""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection

from conformance.results import Outcome
from conformance.worker import Begun


def unruly(pipe: Connection) -> None:
    """Answers for three samples, crashes at the second and hangs at the third."""
    while (task := pipe.recv()) is not None:
        for sample in sorted({0, 1, 2} - task.done):
            pipe.send(Begun(sample, f"call {sample}"))
            if sample == 1:
                os._exit(3)
            if sample == 2:
                time.sleep(60)
            pipe.send(task.row(sample, Outcome.RIGHT))
        pipe.send(None)
