"""A model that is prepared for quantisation, and still measures what it is given."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.observers import observing
from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.parts import called_at
from onnxpert.diagnose.rule import rule


@rule("QNT101", "observing-model", reads=Loaded, severity=Severity.ERROR, since="0.2")
def observing_model(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds modules of `torch.ao.quantization` that are on and observe: between `prepare` and `convert`,
    or in quantisation-aware training that has not been frozen.

    ## Why it matters
    With every call they widen the range that they have seen, and round by the new one. A file has no
    such memory, so it cannot give what the model gives.

    ## Example
    ```python
    import torch
    from torch.ao.quantization import FakeQuantize

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), FakeQuantize()).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch
    from torch.ao.quantization import FakeQuantize, disable_observer

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), FakeQuantize()).eval()
    model(torch.randn(8, 4))
    model.apply(disable_observer)
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Not repaired: whether the ranges seen so far are those to keep is for you to say.
    """
    names = list(observing(loaded.module))
    if not names:
        return
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    yield Hit(
        f"{names[0] or 'the model'}{more} still observes, and changes its scale with every call",
        at=called_at(loaded, names[0]),
        help="convert the model (torch.ao.quantization.convert, convert_fx, convert_pt2e), or freeze it "
        "with model.apply(torch.ao.quantization.disable_observer)",
    )
