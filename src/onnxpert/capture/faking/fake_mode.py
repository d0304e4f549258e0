"""The fake tensors of a run: torch's own, that remember what calls gave but for views.

To remember a view torch makes it a second time, and to give it again takes longer than to work it out.
`FakeTensorMode._cached_dispatch_impl` and `_dispatch_impl` are torch's own; tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode


class Fakes(FakeTensorMode):  # type: ignore[no-untyped-call]
    def _cached_dispatch_impl(
        self, func: Any, types: Sequence[type], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        if isinstance(func, OpOverload) and func.is_view:
            return self._dispatch_impl(func, types, args, kwargs)
        return super()._cached_dispatch_impl(func, types, args, kwargs)
