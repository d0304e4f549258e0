"""An operator that fails for some values, in a `try` that goes on without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxpert.core.calls import calls
from onnxpert.core.handlers import caught_around
from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule

if TYPE_CHECKING:
    from torch import fx

# What raises for some values, by the names of torch's operators, as of 2.13 and 2.15; and what it raises.
_ANY = frozenset({"", "Exception", "BaseException"})
_SINGULAR = _ANY | {"RuntimeError", "LinAlgError", "_LinAlgError"}
_BEYOND = _ANY | {"IndexError", "LookupError"}
_FAILING = {
    **dict.fromkeys(
        ("linalg_inv", "linalg_inv_ex", "inverse", "linalg_cholesky", "linalg_cholesky_ex", "cholesky",
         "linalg_solve", "linalg_solve_ex", "_linalg_solve_ex", "linalg_eigh", "_linalg_eigh", "linalg_svd",
         "_linalg_svd", "linalg_lu_factor", "linalg_ldl_factor", "linalg_tensorinv", "linalg_tensorsolve"),
        _SINGULAR,
    ),
    **dict.fromkeys(("embedding", "index"), _BEYOND),
    **dict.fromkeys(("gather", "index_select", "multinomial"), _ANY | {"RuntimeError"}),
}  # fmt: skip
# What raises where nothing is left: of rows that the data choose, there may be none.
_OF_SOMETHING = dict.fromkeys(
    ("max", "min", "amax", "amin", "aminmax", "argmax", "argmin", "median", "nanmedian", "mode", "quantile",
     "nanquantile", "kthvalue", "select"),
    _BEYOND | {"RuntimeError"},
)  # fmt: skip


@rule("CTL414", "caught-failure", reads=Captured, severity=Severity.WARNING, since="0.5")
def caught_failure(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds operators that raise for some values (the inverse of a singular matrix, an index beyond a
    table, the largest of the rows that a mask chooses) inside of a `try` whose `except` goes on with
    something else.

    ## Why it matters
    An operator of the file raises no exception that something in the file could catch: for such values
    it gives infinities or NaN, or ends the run. What stands in the `except` is not in the file.

    ## Example
    ```python
    import torch


    class Whitens(torch.nn.Module):
        def forward(self, x):
            try:
                inverse = torch.linalg.inv(x)
            except RuntimeError:
                inverse = torch.eye(3)
            return inverse * 2


    model = Whitens().eval()
    args = (torch.eye(3) * 2,)
    ```

    ## Use instead
    ```python
    import torch


    class Whitens(torch.nn.Module):
        def forward(self, x):
            singular = torch.linalg.det(x) == 0
            inverse = torch.linalg.inv(torch.where(singular, torch.eye(3), x))
            return inverse * 2


    model = Whitens().eval()
    args = (torch.eye(3) * 2,)
    ```

    ## Repair safety
    Not repaired: only you know for which values the other way is meant.
    """
    for node in calls(captured.root):
        name, at = _name(node), of_meta(node.meta)
        raised = _FAILING.get(name) or (_OF_SOMETHING.get(name) if _of_chosen(node) else None)
        if raised is None or at is None or "_ex(" in at.code:
            continue
        for place in (at, *at.calls):
            if caught_around(place.file, place.line) & raised:
                yield Hit(
                    f"the model goes another way where {name.strip('_').removesuffix('_ex')} raises, and the file does not",
                    at=at,
                    help="ask for such values in front of it, and choose with torch.where",
                )
                break


def _name(node: fx.Node) -> str:
    return str(getattr(getattr(node.target, "overloadpacket", None), "__name__", ""))


def _of_chosen(node: fx.Node) -> bool:
    """Whether what it looks at has a size that the data decide."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    first = node.args[0] if node.args else None
    held = getattr(first, "meta", {}).get("val")
    return any(free_unbacked_symbols(size) for size in getattr(held, "shape", ()))
