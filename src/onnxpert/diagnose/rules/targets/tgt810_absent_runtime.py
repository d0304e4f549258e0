"""A target that cannot run here, so that another proves the file."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Absent, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("TGT810", "absent-runtime", reads=Absent, severity=Severity.INFO, since="0.2")
def absent_runtime(absent: Absent) -> Iterator[Hit]:
    """
    ## What it does
    Says that the target does not run on this machine: its tables are looked up, and the proof is run
    on another target.

    ## Why it matters
    What the tables do not say, only the target itself can show. Where no other target can run the file
    either, nothing is proven by a run, and that is a warning.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"target": "tensorrt"}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"target": "ort-cpu"}
    ```

    ## Repair safety
    Nothing to repair.
    """
    if absent.lacking:
        how = f"by its tables alone, for {absent.lacking}"
    else:
        deed = "runs" if absent.runs_only else "proves"
        how = f"by its tables, and {absent.stand_in} {deed} the file"
        if absent.widened:
            how += ", in float32 where it has no kernel"
    yield Hit(
        f"{absent.reason}: {absent.target} is checked {how}",
        help=absent.help,
        severity=Severity.WARNING if absent.lacking else None,
    )
