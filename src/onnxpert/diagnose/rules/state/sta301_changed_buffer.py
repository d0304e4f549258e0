"""A buffer that forward changes, and that the result depends on."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.belongings import loose_tensors, plain_tensors
from onnxpert.core.types import Captured, Hit, InputKind, Location, Severity
from onnxpert.diagnose.fixpoint import settles
from onnxpert.diagnose.flow import Change, changes, reaches_output
from onnxpert.diagnose.rule import rule


@rule("STA301", "changed-buffer", reads=Captured, severity=Severity.ERROR, since="0.1")
def changed_buffer(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds buffers, parameters and other tensors of modules, of their objects and of global variables that
    `forward` writes to in place. If the
    result depends on what is in them it is an error; if nothing reads them, or only what this very call has
    written there, a warning that the update is not in the file. A write that gives the same every time (`self.weight.data *= self.mask`, the `max_norm`
    of an embedding) is only told of: the file holds its result.

    ## Why it matters
    An ONNX file has no memory: it would give the answer of the first call for ever.

    ## Example
    ```python
    import torch


    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x):
            self.calls += 1
            return x * self.calls


    model = Counter().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Counter(torch.nn.Module):
        def forward(self, x, calls):
            calls = calls + 1
            return x * calls, calls


    model = Counter().eval()
    args = (torch.randn(3), torch.zeros(1))
    ```

    ## Repair safety
    Not repaired by itself, for it changes the signature: `state="io"` makes the buffer an input and
    an output of the file, and `onnxpert.Stateful` feeds it back.
    """
    module = captured.loaded.module if captured.loaded else None
    module = getattr(module, "__self__", module)
    has_parts = hasattr(module, "named_modules")
    # Tensors that are neither parameters nor buffers, and that somebody holds all the same.
    own = {name for name, _ in plain_tensors(module)} if has_parts else set()
    held = own | ({name for name, _ in loose_tensors(module)} if has_parts else set())
    for change in changes(captured):
        if change.kind is InputKind.USER:
            continue
        is_plain = change.kind is InputKind.CONSTANT
        if is_plain and change.name not in held:
            continue  # made in forward itself, or nobody's
        if change.name.endswith("num_batches_tracked"):  # a count for training, said there
            continue
        yield from _hits(captured, change, within_reach=not is_plain or change.name in own)


def _hits(captured: Captured, change: Change, *, within_reach: bool) -> Iterator[Hit]:
    kind = "tensor" if change.kind is InputKind.CONSTANT else change.kind.value
    index = change.position
    matters = index is not None and reaches_output(captured, index)
    if index is not None and matters and settles(captured, index):
        name = _within(change.places[0], change.name)
        yield Hit(
            f"forward writes the {kind} {name}, the same every time; the file holds what it becomes",
            at=change.places[0],
            help="nothing to do; written once, in __init__, it would cost nothing in each call",
            severity=Severity.INFO,
        )
        return
    exposed = captured.loaded is not None and captured.loaded.exposed
    for place in change.places:
        name = _within(place, change.name)
        offer = f'export with state="io", which makes {name} an input and an output, or '
        cure = f"make {name} an argument of forward and return its new value"
        yield Hit(
            f"forward changes the {kind} {name}"
            + (", and the result depends on it" if matters else "; the file leaves the change out"),
            at=place,
            help=offer + cure if within_reach and not exposed else cure,
            severity=None if matters else Severity.WARNING,
        )


def _within(place: Location | None, name: str) -> str:
    """Its name for the module that writes it: each layer of a loop says the same of its own."""
    return name.removeprefix(f"{place.module}.") if place is not None and place.module else name
