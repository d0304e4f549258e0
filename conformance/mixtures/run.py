"""Draws random models and exports them; `make mixtures` writes docs/random-models.md."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from conformance.mixtures.causes import cause
from conformance.mixtures.drawing import DTYPES
from conformance.results import Row
from conformance.study import Study

_ABOUT = """\
# Random models

Models of three to ten calls, drawn by a seed from {library} operators of torch, with inputs of mixed dtypes (float8 to
float64, int8 to int64, uint8, bool, complex64) that promote each other as torch has it; a third with all sizes dynamic. Each is
a Python file of its own. It is exported as a user would, run by ONNX Runtime at its example and at two further sets of values,
and compared with torch.

- *right*: a proven file, which agrees with torch at the further values, too.
- *refused*: no file, and a finding at the line of the model that it is about; where it is about an operator, with its dtype.
- *failed*: anything else without a file: an exception, a reason without a line. There must be none.
- *unloadable* and *wrong*: a file that the runtime does not take, or that computes something else. There must be none.

`make mixtures` writes this page; `make mixtures ARGS="--first 1000 --count 100"` tries other seeds, and prints the sum.
"""
_TYPE = re.compile(rf"\b({'|'.join(DTYPES)})\[")


def _about() -> str:
    from conformance.mixtures.library import library  # which asks torch for all it has

    return _ABOUT.format(library=len(library()))


def _dtypes(found: Sequence[Row]) -> str:
    """How often each dtype was a value of a model."""
    kinds = Counter(kind for row in found for kind in set(_TYPE.findall(row.call)))
    return f"Models with a value of each dtype: {', '.join(f'{k} {n}' for k, n in kinds.most_common())}."


STUDY = Study(
    "conformance.mixtures", "random-models.md", 400, 120.0, _about, note=_dtypes, cause=cause
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
