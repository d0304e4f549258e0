"""A line that goes one way or another by a size."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Location, Severity, Sight
from onnxpert.diagnose.loops import headers
from onnxpert.diagnose.rule import rule


@rule("SHP214", "size-question", reads=Captured, severity=Severity.INFO, since="0.3")
def size_question(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of the branches and loops that Python decides by a size which was asked to vary, and of the
    lines where it reads one that the data decide, unless something else is told of the line.

    ## Why it matters
    Where the size is fixed by another line, the file has the way that the example takes, and that is all
    it can have. When that other line is mended, this one is next.

    ## Example
    ```python
    import torch


    class Fixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.ones(6, 2))

        def forward(self, x):
            x = x + self.table
            if x.shape[0] > 4:
                x = x * 2
            return x


    model = Fixed().eval()
    args = (torch.randn(6, 2),)
    options = {"dynamic_shapes": {"x": {0: torch.export.Dim.DYNAMIC}}}
    ```

    ## Use instead
    ```python
    import torch


    class Open(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.ones(6, 2))

        def forward(self, x):
            return x + self.table[: x.shape[0]]


    model = Open().eval()
    args = (torch.randn(6, 2),)
    options = {"dynamic_shapes": {"x": {0: torch.export.Dim("n", max=6)}}}
    ```

    ## Repair safety
    Nothing to repair here: see what else is told of that size.
    """
    told = set(map(_line, _told(captured)))
    for one in captured.seen:
        if one.sight is Sight.QUESTION and _line(one.location) not in told:
            yield Hit(
                "Python asks for a size that other inputs change",
                at=one.location,
                help="compute the same way for every size, if what fixes the size is to be mended",
            )


def _told(captured: Captured) -> Iterator[Location | None]:
    yield from (one.location for one in captured.guards)
    yield from (one.location for one in captured.branches)
    yield from (one.location for one in captured.preconditions)
    yield from (one.location for one in captured.reads)
    yield from headers(captured.root)


def _line(at: Location | None) -> tuple[str, int] | None:
    return None if at is None else (at.file, at.line)
