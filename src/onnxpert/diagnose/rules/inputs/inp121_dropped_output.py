"""Something that the model returns and a file cannot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.flow import end_of
from onnxpert.diagnose.rule import rule


@rule("INP121", "dropped-output", reads=Captured, severity=Severity.INFO, since="0.2")
def dropped_output(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds strings and other objects without tensors among what the model returns; where it returns
    nothing else, that is an error.

    ## Why it matters
    A file gives tensors. Anything else is left out, and the outputs after it move up.

    ## Example
    ```python
    import torch


    class Names(torch.nn.Module):
        def forward(self, x):
            return {"name": "double", "result": x * 2}


    model = Names().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Names(torch.nn.Module):
        def forward(self, x):
            return {"result": x * 2}


    model = Names().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: what is left out is no tensor.
    """
    outputs = next(node for node in captured.root.graph.nodes if node.op == "output").args[0]
    if not outputs and not captured.cut_short:
        yield Hit(
            "the model returns no tensor, so the file would have no output",
            at=end_of(captured),
            help="return the tensors that the file shall give",
            severity=Severity.ERROR,
        )
    for names, kind in _of_a_kind(captured.dropped) if outputs else ():
        one, *rest = names
        yield Hit(
            f"the outputs {one} to {rest[-1]} are each a {kind}, and the file leaves them out"
            if rest
            else f"the output {one or 'of the model'} is a {kind}, and the file leaves it out",
            at=end_of(captured),
            help="return tensors, and keep names and settings beside the model",
        )


def _of_a_kind(dropped: Sequence[tuple[str, str]]) -> Iterator[tuple[list[str], str]]:
    """The items of one list together."""

    def key(one: tuple[str, str]) -> tuple[str, str]:
        return one[0].rstrip("0123456789"), one[1]

    for (_, kind), items in itertools.groupby(dropped, key):
        yield [name for name, _ in items], kind
