"""Places of equal elements, among which nothing decides, and of those that a rounding tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpert.core.types import Choice, Hit, Row, Severity, Verdict, Verified
from onnxpert.diagnose.rule import rule


@rule("NUM707", "undetermined-order", reads=Verified, severity=Severity.ERROR, since="0.2")
def undetermined_order(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Finds results that are the model's own once equal elements are named in the order they stand in,
    or nearly equal ones by the file's last digits.

    ## Why it matters
    Of several equal elements, `topk`, `sort`, `kthvalue`, `median` and `mode` may name any: torch
    promises nothing, and gives other places on another device or in its next release. A file names
    the first. Scores that are cut off (`relu`, `clamp`, a sigmoid that is full) have many equals, and
    so do those of rows that are masked out before they are scored, and of a model that is not trained
    yet: there they may differ in their last digit, which is another one with every library that adds
    up in another order. What such digits decide is no error, but whoever compares the file with torch
    sees other elements named: the model is given the file's digits, and everything else must be equal.
    That is worth a warning at your own example; at values that the proof made up it is a remark.
    Where rounding alone makes them equal it is the same, and the finding says so: then the model in
    double precision takes other ones than itself in single precision, and torch on another processor
    may do so too.

    ## Example
    ```python
    import torch


    class Best(torch.nn.Module):
        def forward(self, x):
            return torch.topk(x.relu(), 3).indices


    model = Best().eval()
    args = (-torch.ones(20),)
    ```

    ## Use instead
    ```python
    import torch


    class Best(torch.nn.Module):
        def forward(self, x):
            return torch.sort(x.relu(), stable=True, descending=True).indices[:3]


    model = Best().eval()
    args = (-torch.ones(20),)
    ```

    ## Repair safety
    Not repaired. With `undetermined="allow"` (`--undetermined allow`) the file may name the first of
    them: the model is then made to do so too, and everything that follows from it must be equal.
    """
    rows = [row for row in verified.rows if {Choice.ORDER, Choice.ROUNDING} & set(row.choices)]
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    found = verified.divergence
    if found is not None and found.by_rounding and not all(row.choices for row in failed):
        yield Hit(
            "rounding decides in which order nearly equal elements are taken, and what follows from it",
            at=found.location,
            help="give them scores that differ, or compute behind them what no order changes",
            notes=(f"the file differs at {failed[0].case}: output {failed[0].output}",),
        )
        return
    names = ", ".join(dict.fromkeys(row.output for row in rows))
    equal = any(Choice.ORDER in row.choices for row in rows)
    near = any(Choice.ROUNDING in row.choices for row in rows)
    if rows and not failed:
        own = any(_is_given(row) for row in rows)
        yield Hit(
            f"in {names}, {_WHAT[equal, near]}",
            at=verified.location,
            help="is it the same to you which are taken? All that follows from it is proven; if not, "
            "sort with stable=True, or give them scores that differ",
            severity=Severity.WARNING if own else Severity.INFO,
            notes=tuple(_notes(verified, rows)),
        )
    elif equal and all(row.choices for row in failed):
        yield Hit(
            f"in {names}, torch names other ones of several equal elements than the file",
            at=verified.location,
            help="sort with stable=True and take the first, or let the file choose with "
            'undetermined="allow"',
        )


def _notes(verified: Verified, rows: Sequence[Row]) -> Iterator[str]:
    if not any(_is_given(row) for row in rows):
        yield _INVENTED.format(rows[0].case)
    if verified.made_equal:
        yield _MADE


def _is_given(row: Row) -> bool:
    """Whether the values are the user's: those of the example, or of a further one."""
    return row.case == "example" or row.case.startswith("example ")


_INVENTED = "so at {}, with values that the proof made up; at your own nothing of the kind decides"
_MADE = "rounding makes them equal: in double precision the model itself takes other ones"
_EQUAL = "the first of several equal elements is named, which torch need not do"
_NEAR = "the last digits of nearly equal values decide, which every library rounds its own way"
# By whether elements are equal, and whether some are nearly so.
_WHAT = {(True, False): _EQUAL, (False, True): _NEAR, (True, True): f"{_NEAR}, and {_EQUAL}"}
