"""Eigenvectors and singular vectors, whose signs nothing decides."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Choice, Hit, Severity, Verdict, Verified
from onnxpert.diagnose.rule import rule


@rule("NUM706", "undetermined-sign", reads=Verified, severity=Severity.ERROR, since="0.2")
def undetermined_sign(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Finds results that are the model's own but for the signs of whole vectors.

    ## Why it matters
    With v, -v is an eigenvector too. Which of the two comes out is decided by rounding deep inside a
    library: torch itself gives other signs in another dtype, on another machine or in its next release.
    What is made of them later must not depend on it, and a file cannot repeat it.

    ## Example
    ```python
    import torch


    class Axes(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigh(x)[1]


    model = Axes().eval()
    args = (torch.arange(8.0).diag() + 0.3,)
    ```

    ## Use instead
    ```python
    import torch


    class Axes(torch.nn.Module):
        def forward(self, x):
            vectors = torch.linalg.eigh(x)[1]
            largest = vectors.abs().argmax(-2, keepdim=True)
            return vectors * vectors.gather(-2, largest).sign()


    model = Axes().eval()
    args = (torch.arange(8.0).diag() + 0.3,)
    ```

    ## Repair safety
    Not repaired: which sign is wanted, only you know. With `undetermined="allow"` (`--undetermined
    allow`) the file may choose: the first element that is among the largest of its vector is positive.
    The model is then made to choose so too, and everything that follows from it must be equal.
    """
    failed = [row for row in verified.rows if row.verdict is Verdict.FAIL]
    rows = [row for row in failed or verified.rows if Choice.SIGN in row.choices]
    if not rows or not all(row.choices for row in failed):
        return
    place = verified.divergence.location if verified.divergence else verified.location
    names = ", ".join(dict.fromkeys(row.output for row in rows))
    if not failed:
        yield Hit(
            f"the vectors of {names} have signs of the file's own choice, as nothing decides them",
            at=place,
            help="nothing is to be done: all that follows from them is proven",
            severity=Severity.INFO,
        )
        return
    yield Hit(
        f"the vectors of {names} differ from the model's in sign, which nothing decides",
        at=place,
        help="give each vector a sign of its own choice, that of its largest element "
        "(v * v.gather(-2, v.abs().argmax(-2, keepdim=True)).sign()), or let the file choose "
        'with undetermined="allow"',
    )
