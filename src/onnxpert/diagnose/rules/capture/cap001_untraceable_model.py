"""A model that no strategy could capture, for a reason without a rule of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnxpert.core.outside import called_outside
from onnxpert.core.types import Asked, Blocker, CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import blockers, said
from onnxpert.diagnose.rule import rule


@rule("CAP001", "untraceable-model", reads=CaptureFailed, severity=Severity.ERROR, since="0.1")
def untraceable_model(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Reports what every strategy ran into, where none of the other rules knows the cause.

    ## Why it matters
    The model runs in Python but cannot be followed as a graph.

    ## Example
    ```python
    import io

    import torch


    class Stores(torch.nn.Module):
        def forward(self, x):
            torch.save(x, io.BytesIO())
            return x * 2


    model = Stores().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Gives(torch.nn.Module):
        def forward(self, x):
            return x * 2, x


    model = Gives().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    for blocker in blockers(failed, Asked.CALL):
        message, help = _words(blocker)
        yield Hit(
            message,
            at=blocker.location,
            help=help,
            notes=tuple(
                f"{strategy} says: {failure.text.splitlines()[0][:200]}"
                for strategy, failure in failed.attempts
                if failure.text not in blocker.text and not failed.blockers
            ),
        )


# What the scout or torch says -> what that is to the user, and what to do.
_KNOWN = (
    (
        r"a thread is started",
        "forward starts a thread, and what it computes there cannot be followed",
        "compute it where forward runs: the runtime does what is independent at the same time",
    ),
    (
        r"a tensor is pickled",
        "forward saves or pickles a tensor",
        "return it as an output, and save it around the call",
    ),
    (
        r"data pointer|its data is not allocated|`data_ptr`|`untyped_storage`|`storage`|__dlpack__",
        "forward hands a tensor's memory to code that is not torch's",
        (
            "write it with operators of torch's, or register it with torch.library.custom_op and "
            "give a lowering for it as plugins=[...]"
        ),
    ),
    (
        r"a gradient of its weights",
        "forward trains the weights, and those of an exported model never learn",
        "leave the loss and its backward() out of forward",
    ),
    (
        r"[nN]ested",
        "forward makes a nested tensor, and ONNX has none",
        "pad to one tensor (torch.nn.utils.rnn.pad_sequence) and mask what was added",
    ),
    (
        r"mkldnn|Mkldnn|OpaqueTensorImpl",
        "forward makes a tensor in the layout of MKL-DNN, which only torch's CPU kernels read",
        "leave out .to_mkldnn(): the runtime lays tensors out as its own kernels like them",
    ),
    (
        r"sparse|Sparse",
        "forward makes a sparse tensor, and ONNX Runtime has dense ones only",
        "leave out .to_sparse() and use the dense operator (torch.mm for torch.sparse.mm)",
    ),
)


def _words(blocker: Blocker) -> tuple[str, str]:
    for pattern, message, help in _KNOWN:
        if re.search(pattern, blocker.text):
            return message, help
    code = blocker.location.code if blocker.location else ""
    if code.startswith("raise "):
        return (
            f"forward raises while it is traced: {said(blocker)}",
            "ask for it only where no model is captured: `if not torch.compiler.is_compiling() and ...`",
        )
    outside = called_outside(blocker.location)
    if outside is not None:
        return (
            f"`{outside}` computes with a tensor's values outside of the graph: {said(blocker)}",
            "write it with operators of torch's, or call it before the model and give it the result",
        )
    return (
        f"the model cannot be traced: {said(blocker)}",
        "replace what stands at this line by tensor operations",
    )
