"""A number of Python's that the model returns."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import end_of
from onnxpert.diagnose.rule import rule


@rule("INP122", "constant-output", reads=Captured, severity=Severity.INFO, since="0.2")
def constant_output(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds numbers among the outputs that do not depend on any input: the file gives them as constants.

    ## Why it matters
    A size or a score that was meant to vary is the example's for ever. The file has all that the model
    returns, in the same places, so these numbers are outputs too: whoever asks it for tensors alone
    leaves them out by their names.

    ## Example
    ```python
    import torch


    class Measures(torch.nn.Module):
        def forward(self, x):
            return x * 2, x.shape[0]


    model = Measures().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch


    class Measures(torch.nn.Module):
        def forward(self, x):
            return x * 2


    model = Measures().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Nothing to repair, if it is meant to be a constant.
    """
    if captured.strategy == "scout":  # there the example's values are numbers too
        return
    outputs = next(node for node in captured.root.graph.nodes if node.op == "output").args[0]
    found = [
        (name, value)
        for name, value in zip(captured.output_names, outputs, strict=False)
        if isinstance(value, (bool, int, float))
    ]
    if not found:
        return
    name, value = found[0]
    many = f"{len(found)} outputs are numbers, the same whatever the input"
    yield Hit(
        f"the output {name} is the number {value!r} whatever the input"
        if len(found) == 1
        else many,
        at=end_of(captured),
        help="make the dimension dynamic if it is a size, or leave it out",
        notes=(", ".join(f"{one} = {number!r}" for one, number in found),) if found[1:] else (),
    )
