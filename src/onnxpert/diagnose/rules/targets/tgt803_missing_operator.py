"""An operator that the target does not have."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT803", "missing-operator", reads=Fitting, severity=Severity.ERROR, since="0.2")
def missing_operator(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Looks up every node of the finished model in the target's table of operators, before anything is
    written.

    ## Why it matters
    The file would be valid, and the target would refuse it.

    ## Example
    ```python
    import torch


    class Low(torch.nn.Module):
        def forward(self, x):
            return x & 7


    model = Low().eval()
    args = (torch.arange(20),)
    options = {"target": "tensorrt"}
    ```

    ## Use instead
    ```python
    import torch


    class Low(torch.nn.Module):
        def forward(self, x):
            return torch.remainder(x, 8)


    model = Low().eval()
    args = (torch.arange(20),)
    options = {"target": "tensorrt"}
    ```

    ## Repair safety
    Where the operator is newer than the model needs (`affine_grid` in opset 20), the file is written
    in the older opset, with other operators, if no opset was asked for. Else not repaired.
    """
    for each in fitting.beyond:
        if each.limit is Limit.OPERATOR:
            yield Hit(
                f"{fitting.target} has no operator {each.what}",
                at=each.location,
                help=each.help or "say it with other operators, or choose a target that has it",
                notes=(f"by {fitting.source}", *([f"node {each.node}"] if each.node else [])),
            )
