"""A file that computes something else than the model."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Row, Severity, Verdict, Verified
from onnxpert.diagnose.rule import rule


@rule("NUM701", "different-result", reads=Verified, severity=Severity.ERROR, since="0.1")
def different_result(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Compares the file with your own model at the example, at other sizes and at other values, and
    names the first node that differs.

    ## Why it matters
    A file that is wrong in silence is worse than none; it is not written.

    ## Example
    ```python
    import torch


    class Jumps(torch.nn.Module):
        def forward(self, x):
            return x + (1 if torch.compiler.is_exporting() else 0)


    model = Jumps().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Stays(torch.nn.Module):
        def forward(self, x):
            return x + 1


    model = Stays().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired. If the model's own code does not ask whether it is being exported, this is a bug
    of onnxpert's: please report it.
    """
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    chance = verified.randomness
    refused = verified.nondeterministic and not (chance is not None and chance.allowed)
    if refused or verified.stateful or not failed or all(row.choices for row in failed):
        return
    first = failed[0]
    found = verified.divergence
    if (
        verified.drawn_apart
        or verified.sway is not None
        or (found is not None and found.by_rounding)
    ):
        return  # said of chance, and of the roundings
    if verified.caught is not None:
        yield Hit(
            f"the model goes on after an error at {first.case}, and a file has no error to go on after: "
            f"{verified.caught.error}",
            at=verified.caught.location,
            help="ask for such values in front of it, and choose with torch.where",
            notes=(_how(first),),
        )
        return
    if found is None and verified.text is not None:
        yield Hit(
            "Python makes a text of a tensor's value, and computes on with the text",
            at=verified.text,
            help="compute with the number itself: a file has no texts of numbers",
            notes=(f"the file differs at {first.case}: {_how(first)}",),
        )
        return
    if first.other_dtype and _passes(verified, first.output):
        yield Hit(
            f"the model gives another dtype at {first.case}, and a file has one: {_how(first)}",
            at=verified.location,
            help="name the dtype where the tensor is made: torch.tensor([]) is of torch's default "
            "dtype, whatever the list holds at other times",
        )
        return
    yield Hit(
        f"the file differs from the model at {first.case}: {_how(first)}",
        at=found.location if found else verified.location,
        help="was the file made from this model, with these weights? If so, an operator is "
        "translated wrongly: please report it",
        notes=(f"first different value: {found.value} ({found.op_type}), {found.detail}",)
        if found
        else (),
    )


def _passes(verified: Verified, output: str) -> bool:
    """Whether it is right at other inputs."""
    return any(row.output == output and row.verdict is Verdict.PASS for row in verified.rows)


def _how(row: Row) -> str:
    which = f"output {row.output}, " if row.output else ""  # a file that fails has none
    if row.detail:
        return which + row.detail
    allowed = f"allowed {row.rtol:g} rel + {row.atol:g} abs"
    return f"{which}largest difference {row.max_abs:.3g} ({allowed})"
