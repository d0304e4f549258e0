"""A file that the runtime does not load or run."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Verified
from onnxpert.diagnose.rule import rule


@rule("TGT801", "refused-file", reads=Verified, severity=Severity.ERROR, since="0.1")
def refused_file(verified: Verified) -> Iterator[Hit]:
    """
    ## What it does
    Loads the finished file in the target runtime and finds that it is refused, usually because the
    runtime has no kernel for an operator in that data type.

    ## Why it matters
    A valid file that does not run is no export.

    ## Example
    What is known of a target is said before anything is written, by `TGT803` to `TGT808`, so there
    is no model that shows this on purpose.

    ## Use instead
    Whatever the message names, in another type or in another form.

    ## Repair safety
    Not repaired.
    """
    if verified.runtime_error:
        who = verified.refused_by
        yield Hit(
            f"{f'{who}, which stands in,' if who else 'the runtime'} refuses the file: "
            f"{verified.runtime_error}",
            at=verified.location,
            help="use a data type that the runtime has a kernel for (float32 always works), "
            "or another target",
        )
