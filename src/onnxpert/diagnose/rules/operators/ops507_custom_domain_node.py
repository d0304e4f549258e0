"""Nodes that no runtime can run without kernels of their own."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Foreign, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("OPS507", "custom-domain-node", reads=Foreign, severity=Severity.ERROR, since="0.1")
def custom_domain_node(foreign: Foreign) -> Iterator[Hit]:
    """
    ## What it does
    Lists the nodes of custom domains, and what a runtime needs to run them. Without a kernel
    library to prove the file with it is an error; with one it is information; with
    `verify=False` a warning.

    ## Why it matters
    A runtime refuses a file with a node that it has no kernel for. Whoever loads this file must
    register the library first: `SessionOptions.register_custom_ops_library` in ONNX Runtime.

    ## Example
    ```python
    import torch


    @torch.library.custom_op("ops507::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    options = {"custom_domains": {"ops507": "com.example"}}
    ```

    ## Use instead
    ```python
    import torch


    @torch.library.custom_op("ops507::followed_twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2


    class Doubles(torch.nn.Module):
        def forward(self, x):
            return twice(x)


    model = Doubles().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired: the node was your wish.
    """
    for node in foreign.nodes:
        name = f"{node.domain}::{node.op_type}"
        if foreign.libraries:
            yield Hit(
                f"the runtime needs the kernel of {name}, from {', '.join(foreign.libraries)}",
                at=node.location,
                severity=Severity.INFO,
            )
        elif foreign.verify:
            yield Hit(
                f"the file cannot be proven: nothing is known that runs {name}",
                at=node.location,
                help='name its kernels, kernel_library="libmy_ops.so"; '
                "or ask for the unproven file with verify=False",
            )
        else:
            yield Hit(
                f"the runtime needs a kernel for {name}, and nothing proves the file without",
                at=node.location,
                help="register its library before loading: register_custom_ops_library",
                severity=Severity.WARNING,
            )
