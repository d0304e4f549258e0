"""An operator of the user's own whose Python body is in the file."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.bodies import qualified
from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.rule import rule


@rule("OPS512", "followed-operator", reads=Captured, severity=Severity.INFO, since="0.3")
def followed_operator(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every operator of your own (`torch.library`), or of another library's, that is not in the
    file by its name: what its body in Python computes is there instead.

    ## Why it matters
    Nothing is wrong. But other exporters stop at an operator that they do not know, and a runtime that
    has a kernel for it would have to be given it by name.

    ## Example
    ```python
    import torch


    @torch.library.custom_op("followed::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2


    @twice.register_fake
    def _(x):
        return torch.empty_like(x)


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return x * 2


    model = Doubles().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes. `custom_domains={"followed": ...}`
    keeps the operator as a node of its own.
    """
    whole = {
        qualified(node.target) for node in captured.root.graph.nodes if node.op == "call_function"
    }
    for one in captured.seen:
        if one.sight is Sight.OPERATOR and one.name not in whole:
            namespace = one.name.partition("::")[0]
            yield Hit(
                f"the file has no {one.name}: what its body computes is there instead",
                at=one.location,
                help="nothing to do; to keep it as a node, export with "
                f'custom_domains={{"{namespace}": "com.example"}}',
            )
