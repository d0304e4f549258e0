"""A loop over a dynamic size that the file has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.calls import calls
from onnxpert.core.source import is_library, location
from onnxpert.core.surrounding import loops_around
from onnxpert.core.types import Captured, Hit, Location, Severity
from onnxpert.diagnose.rule import rule


@rule("CTL412", "loop-in-file", reads=Captured, severity=Severity.INFO, since="0.3")
def loop_in_file(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Tells of every Python loop that goes round as often as a dynamic size says, and that the file has
    as a loop.

    ## Why it matters
    Nothing is wrong: the file goes round as often as the model does. But other exporters write down the
    rounds of the example, and a loop costs the runtime more than an operator on the whole tensor.

    ## Example
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, x):
            state = torch.zeros(3)
            for row in x:
                state = torch.tanh(state + row)
            return state


    model = Sums().eval()
    args = (torch.randn(4, 3),)
    options = {"dynamic_shapes": ({0: "rows"},)}
    ```

    ## Use instead
    ```python
    import torch


    class Sums(torch.nn.Module):
        def forward(self, x):
            return torch.tanh(x).sum(0)


    model = Sums().eval()
    args = (torch.randn(4, 3),)
    options = {"dynamic_shapes": ({0: "rows"},)}
    ```

    ## Repair safety
    Done by itself, and proven at other sizes.
    """
    told = {(r.location.file, r.location.line) for r in captured.reads if r.location is not None}
    for body in _bodies(captured.root):
        at = _header(body)
        if at is not None and (at.file, at.line) not in told and not is_library(at.file):
            yield Hit(
                "Python goes round as often as a size or a value says, and the file has the loop",
                at=at,
                help="nothing to do for the file; an operator on the whole tensor would be quicker",
            )


def _bodies(root: Any) -> Iterator[Any]:
    """The bodies of the loops, those in branches and in other loops too."""
    for node in root.graph.nodes:
        looks = [each for each in node.all_input_nodes if each.op == "get_attr"]
        inner = [getattr(root, str(each.target), None) for each in looks]
        held = [body for body in inner if hasattr(body, "graph")]
        if held and getattr(node.target, "__name__", "") != "cond":
            yield held[-1]
        for body in held:
            yield from _bodies(body)


def _header(body: Any) -> Location | None:
    """The innermost loop of the source that all calls of a body are in."""
    common: list[tuple[str, int]] | None = None
    frames: tuple[Any, ...] = ()
    for node in calls(body):
        if not node.meta.get("frames"):
            continue
        frames = node.meta["frames"]
        around = [(f[0], line) for f in frames for line in loops_around(f[0], f[1])]
        common = around if common is None else [each for each in common if each in around]
    if not common:
        return None
    file, line = common[-1]
    name = next((frame[2] for frame in frames if frame[0] == file), "")
    return location(((file, line, name),))
