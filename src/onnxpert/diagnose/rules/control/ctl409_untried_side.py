"""A side of a branch that no input of the proof took."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import Owner, ownership
from onnxpert.core.statement import begins_loop
from onnxpert.core.types import Branch, Hit, Severity, Verified
from onnxpert.diagnose.conditions import whole
from onnxpert.diagnose.rule import rule


@rule("CTL409", "untried-side", reads=Verified, severity=Severity.WARNING, since="0.2")
def untried_side(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Finds branches of which the proof has seen one side only: none of the inputs that it tried (the
    example, other sizes, values negated, scaled, shifted, all zero, with a NaN, drawn anew, the numbers
    that the model compares with, one input alone, led there step by step) takes the other.

    ## Why it matters
    The file has both sides, but what is on the other has been compared with nothing. In a library's
    own code that is information: many a check there is for what never comes.

    ## Example
    ```python
    import torch


    class Even(torch.nn.Module):
        def forward(self, x):
            if (x.diff() == 0.25).all():
                return x * 2
            return x - 1


    model = Even().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Steep(torch.nn.Module):
        def forward(self, x):
            if (x.diff() > 0.25).all():
                return x * 2
            return x - 1


    model = Steep().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: verify the file once more with an example that takes that side.
    """
    # Where chance leaves nothing to be proven, nothing was tried.
    for taken in verified.branches if not verified.left_to_chance else ():
        if (taken.yes and taken.no) or begins_loop(taken.branch.location):
            continue
        missing = "both sides" if not taken.yes and not taken.no else _side(taken.no)
        yield Hit(
            f"no input that was tried takes {missing} of this branch",
            at=whole(taken.branch.location),
            help="give an example that does, or verify the file against one",
            severity=None if _is_users(taken.branch) else Severity.INFO,
        )


def _is_users(branch: Branch) -> bool:
    at = branch.location
    return at is None or (ownership(at.file) is Owner.USER and not branch.called)


def _side(no: bool) -> str:
    return f"the side where the condition is {'true' if no else 'false'}"
