"""An input that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.surrounding import is_unread
from onnxpert.core.types import Asked, Captured, Hit, InputKind, Severity
from onnxpert.diagnose.flow import is_unread_by_any, reaches_output
from onnxpert.diagnose.rule import rule


@rule("INP114", "unused-input", reads=Captured, severity=Severity.INFO, since="0.2")
def unused_input(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds inputs on which no output depends. They stay inputs of the file, so that it is called as the
    model is.

    ## Why it matters
    A mask that nothing reads is often a mistake in the model; and some tools drop such inputs.

    ## Example
    ```python
    import torch


    class Ignores(torch.nn.Module):
        def forward(self, x, mask):
            return x * 2


    model = Ignores().eval()
    args = (torch.randn(3), torch.ones(3))
    ```

    ## Use instead
    ```python
    import torch


    class Masks(torch.nn.Module):
        def forward(self, x, mask):
            return x * 2 * mask


    model = Masks().eval()
    args = (torch.randn(3), torch.ones(3))
    ```

    ## Repair safety
    Nothing to repair: the file computes what the model computes.
    """
    users = {entry.name for entry in captured.inputs if entry.kind is InputKind.USER}
    for index, entry in enumerate(captured.inputs):
        if entry.kind is InputKind.USER and len(users) > 1 and _is_unused(captured, index):
            # Of one that has a name in the source its size may be asked for, of which a file knows nothing.
            unread = _is_unread(captured, entry.name)
            yield Hit(
                f"no output depends on the {'input' if unread else 'values of the input'} {entry.name}",
                at=captured.loaded.source if captured.loaded else None,
                help=f"leave {entry.name} out, if the file need not take it"
                if unread
                else f"nothing to do if only the size of {entry.name} is wanted; else leave it out",
            )


def _is_unused(captured: Captured, index: int) -> bool:
    if captured.strategy != "scout" and not any(one.asked is Asked.TEXT for one in captured.reads):
        return not reaches_output(captured, index)
    # Behind a stand-in, or a text, nothing depends on anything: what nothing reads at all is told.
    unread = not captured.cut_short and is_unread_by_any(captured, index)
    return unread or _is_unread(captured, captured.inputs[index].name)


def _is_unread(captured: Captured, name: str) -> bool:
    loaded = captured.loaded
    leaves = loaded.leaves if loaded is not None else ()
    paths = [leaf.path for leaf in leaves if leaf.name == name]
    return loaded is not None and any(is_unread(loaded.source, path) for path in paths)
