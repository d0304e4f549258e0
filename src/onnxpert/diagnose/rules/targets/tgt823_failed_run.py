"""A file that loads, and fails with inputs that were made up for it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Tried
from onnxpert.diagnose.rule import rule


@rule("TGT823", "failed-run", reads=Tried, severity=Severity.WARNING, since="0.2")
def failed_run(tried: Tried) -> Iterator[Hit]:
    """
    ## What it does
    Runs a file that is checked with random inputs of its types, at a few sizes where they may vary.

    ## Why it matters
    A file can load and still fail at every input. It may also be that it wants inputs of a kind that
    nobody can guess: it is a warning for that reason.

    ## Example
    It is about files: `onnxpert check model.onnx`, with one that reshapes to a size that does not fit.

    ## Use instead
    `onnxpert verify model.onnx --against SOURCE`, which has the model and its real inputs.

    ## Repair safety
    Not repaired: the file is not changed.
    """
    if tried.failed:
        yield Hit(
            f"{tried.target} loads the file and fails with made-up inputs: {tried.failed}",
            at=tried.location,
            help="try it with real inputs: onnxpert verify MODEL.onnx --against SOURCE",
        )
