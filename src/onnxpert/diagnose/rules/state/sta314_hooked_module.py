"""A forward hook of the user's."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import Owner, ownership, written_at
from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.parts import parts
from onnxpert.diagnose.rule import rule


@rule("STA314", "hooked-module", reads=Loaded, severity=Severity.INFO, since="0.2")
def hooked_module(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds forward hooks and forward pre-hooks that were registered on parts of the model.

    ## Why it matters
    What they do to tensors is part of the file; what they keep (features in a dictionary) is not.

    ## Example
    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    features = {}


    def keep(module, inputs, output):
        features["linear"] = output


    model[0].register_forward_hook(keep)
    args = (torch.randn(3, 4),)
    ```

    ## Use instead
    ```python
    import torch


    class Returns(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):
            features = self.linear(x)
            return features.relu(), features


    model = Returns().eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Nothing to repair: what hooks compute is in the file.
    """
    for path, module in parts(loaded):
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()):  # noqa: SLF001
            code = getattr(hook, "__code__", None)
            if code is not None and ownership(code.co_filename) == Owner.USER:
                yield Hit(
                    f"the hook {hook.__name__} runs with {path or 'the model'}: "
                    "what it computes is in the file, what it keeps is not",
                    at=written_at(code, path),
                    help="return what shall be kept as an output",
                )
