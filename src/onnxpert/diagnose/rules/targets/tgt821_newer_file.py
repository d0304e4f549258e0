"""A file that is newer than what the target takes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Fitting, Hit, Limit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT821", "newer-file", reads=Fitting, severity=Severity.ERROR, since="0.2")
def newer_file(fitting: Fitting) -> Iterator[Hit]:
    """
    ## What it does
    Compares the opset and the IR version of a file that is checked with those that the target takes.

    ## Why it matters
    A runtime refuses a file of a newer standard than it knows, whatever is in it.

    ## Example
    It is about files: `onnxpert check model.onnx --target tensorrt`, with a file of opset 25. Of a
    model that is exported, `VER601` says it.

    ## Use instead
    A file of an older opset; `opset_version=` asks for one.

    ## Repair safety
    Not repaired: the file is not changed.
    """
    for each in fitting.beyond:
        if each.limit is Limit.VERSION:
            yield Hit(
                f"the file is of {each.what}, and {fitting.target} takes up to {each.detail}",
                help=each.help,
                notes=(f"by {fitting.source}",),
            )
