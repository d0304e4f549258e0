"""A model that loops for as long as its data say is not waited for without end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True, slots=True)
class Limit:
    """How many calls of torch's a run may make, which every machine counts alike; and how many seconds
    of its thread's it may take, many times what those calls do where each is short."""

    calls: int
    seconds: float


class Patience(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Raises TimeoutError at the first call of torch's beyond a limit."""

    supports_higher_order_operators = True  # torch's own loops are waited for

    def __init__(self, limit: Limit) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._left = limit.calls
        self._end = time.thread_time() + limit.seconds

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self._left -= 1
        if self._left < 0 or time.thread_time() > self._end:
            raise TimeoutError("the model does not come to an end")
        return func(*args, **(kwargs or {}))
