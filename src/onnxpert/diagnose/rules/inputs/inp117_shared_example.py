"""One tensor given for several inputs."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Request, Severity
from onnxpert.diagnose.rule import rule


@rule("INP117", "shared-example", reads=Request, severity=Severity.INFO, since="0.2")
def shared_example(request: Request) -> Iterator[Hit]:
    """
    ## What it does
    Finds the same tensor in several places of the example, such as query, key and value.

    ## Why it matters
    Other exporters take them for one input and ignore the rest. Here they are inputs of their own.

    ## Example
    ```python
    import torch


    class Adds(torch.nn.Module):
        def forward(self, q, k):
            return q + 2 * k


    model = Adds().eval()
    args = (torch.randn(3),) * 2
    ```

    ## Use instead
    ```python
    import torch


    class Adds(torch.nn.Module):
        def forward(self, q, k):
            return q + 2 * k


    model = Adds().eval()
    args = (torch.randn(3), torch.randn(3))
    ```

    ## Repair safety
    Nothing to repair: the file takes each of them.
    """
    seen: dict[int, list[str]] = {}
    given = [*enumerate(request.args), *request.kwargs.items()]
    for key, value in given:
        if hasattr(value, "untyped_storage"):
            name = f"args[{key}]" if isinstance(key, int) else str(key)
            seen.setdefault(id(value), []).append(name)
    for names in seen.values():
        if len(names) > 1:
            yield Hit(
                f"{' and '.join(names)} are one tensor in the example, and separate inputs of the file",
                help="leave one of them out of forward, if they are always the same",
            )
