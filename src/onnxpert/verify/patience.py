"""A model that loops for as long as its data say is not waited for without end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class Patience(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Raises TimeoutError at the first call of torch's after so many seconds of this thread's own."""

    supports_higher_order_operators = True  # torch's own loops are waited for

    def __init__(self, seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._end = time.thread_time() + seconds

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if time.thread_time() > self._end:
            raise TimeoutError("the model does not come to an end")
        return func(*args, **(kwargs or {}))
