"""A model whose result is random."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.surrounding import stands_in_for
from onnxpert.core.types import Chance, Hit, Severity, Verified
from onnxpert.diagnose.rule import rule


@rule("NUM702", "random-result", reads=Verified, severity=Severity.ERROR, since="0.1")
def random_result(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Calls the model on the same input with different seeds, and finds results that differ; and finds
    numbers that are the same at every call since `forward` sets a seed.

    ## Why it matters
    There is no value to prove the file against: its random numbers are others than torch's. A model
    that only draws is plainly meant to be random: it is exported with this as a warning, and its
    distribution is what is proven, by many draws of both. Where a model computes something and
    chance comes in, it is more often an oversight, and an error unless it is allowed.

    ## Example
    ```python
    import torch


    class Noisy(torch.nn.Module):
        def forward(self, x):
            return x + torch.randn_like(x)


    model = Noisy().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Noisy(torch.nn.Module):
        def forward(self, x, noise):
            return x + noise


    model = Noisy().eval()
    args = (torch.randn(3), torch.randn(3))
    ```

    ## Repair safety
    Not repaired: give the noise as an input, sample outside of the model, call `.eval()`, or say
    that it is meant with `randomness="allow"` (`--randomness allow`).
    """
    chance = verified.randomness
    if chance is not None and chance.unwritten:
        yield Hit(
            "the model gives memory that nobody has written, so no value can be proven",
            at=chance.location,
            help="fill it (torch.zeros), if anybody is to read it",
            severity=Severity.WARNING,
        )
    place = chance.location if chance is not None else None
    if verified.drawn_apart and verified.unseeded:
        yield Hit(
            "the model draws random numbers, and the file draws others",
            at=place,
            help="give them as an input, or sample outside of the model: what the model keeps between "
            "its calls hides whether a seed of its own draws them",
        )
        return
    if verified.drawn_apart:
        yield Hit(
            "the model draws the same numbers at every call, and the file draws others",
            at=place,
            help="draw them when the model is built and keep them as a buffer, or give them as an input: "
            "no seed makes a file draw what torch does",
        )
        return
    if not verified.nondeterministic:
        yield from _without_effect(verified)
        return
    if chance is not None and chance.allowed:
        yield Hit(
            "the results are random: their distribution is proven, not their values",
            at=place or verified.location,
            help="the file draws its own numbers at every run, and no seed makes them torch's",
            severity=Severity.WARNING,
        )
        return
    missing = stands_in_for(place)
    cure = (
        f"give `{missing}`, which is drawn only where nobody does"
        if missing
        else "give the random tensor as an input"
    )
    yield Hit(
        "the model gives random results, so no value can be proven",
        at=place or verified.location,
        help=f"{cure}, sample outside of the model, call .eval(), "
        'or say that it is meant with randomness="allow"',
    )


def _without_effect(verified: Verified) -> Iterator[Hit]:
    chance = verified.randomness
    if chance is not None and chance.kind is Chance.MIXED and chance.location and verified.rows:
        yield Hit(
            "random numbers are drawn, which made no difference to any result of the proof",
            at=chance.location,
            help="give them as an input, or sample outside of the model, if they are to matter",
            severity=Severity.INFO,
        )
