"""A model that the ONNX checker rejects."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Checked, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT802", "invalid-model", reads=Checked, severity=Severity.ERROR, since="0.1")
def invalid_model(checked: Checked) -> Iterator[Hit]:
    """
    ## What it does
    Runs the checker of the onnx package, with full shape inference, on every finished model.

    ## Why it matters
    A file that the standard calls invalid may load in one runtime and not in the next.

    ## Example
    Every lowering is tested against the checker, so there is no model that shows this on purpose.

    ## Use instead
    Nothing in your model is wrong when this appears.

    ## Repair safety
    Not repaired: this is a bug of onnxpert's, please report it with the message.
    """
    for problem in checked.problems:
        yield Hit(
            f"the ONNX checker rejects the result: {problem}",
            at=checked.location,
            help="this is a bug of onnxpert's: please report it, with the model if you can",
        )
