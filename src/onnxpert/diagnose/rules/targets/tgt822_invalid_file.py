"""A file from elsewhere that the ONNX checker rejects."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Tried
from onnxpert.diagnose.rule import rule


@rule("TGT822", "invalid-file", reads=Tried, severity=Severity.ERROR, since="0.2")
def invalid_file(tried: Tried) -> Iterator[Hit]:
    """
    ## What it does
    Runs the checker of the onnx package, and shape inference, on a file that is checked.

    ## Why it matters
    A file that the standard calls invalid may load in one runtime and not in the next. It is a
    warning where the target runs the file all the same.

    ## Example
    It is about files: `onnxpert check model.onnx`, with a file that another program wrote.

    ## Use instead
    The file as its exporter should have written it.

    ## Repair safety
    Not repaired: the file is not changed.
    """
    for problem in tried.invalid:
        yield Hit(
            problem
            if problem.startswith("this is no ONNX file")
            else f"the ONNX checker rejects the file: {problem}",
            help="export the model again, or report this to whoever wrote the exporter",
            severity=Severity.WARNING if tried.ran else None,
        )
