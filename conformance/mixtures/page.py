"""What a run of random models found as a page: docs/random-models.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from conformance.mixtures.causes import cause
from conformance.mixtures.drawing import DTYPES
from conformance.page import made_with
from conformance.results import Outcome, Row

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
_ORDER = (
    Outcome.RIGHT, Outcome.REFUSED, Outcome.FAILED, Outcome.UNLOADABLE, Outcome.WRONG,
    Outcome.CRASHED, Outcome.TIMED_OUT,
)  # fmt: skip
_TYPE = re.compile(rf"\b({'|'.join(DTYPES)})\[")


def page(rows: Sequence[Row], library: int) -> str:
    return (
        "\n".join((_ABOUT.format(library=library), made_with(), *sums(rows), *_others(rows))) + "\n"
    )


def sums(rows: Sequence[Row]) -> list[str]:
    """The figures, and how often each dtype was a value of a model."""
    found = Counter(row.outcome for row in rows)
    shown = [outcome for outcome in _ORDER if found[outcome] or outcome in _ORDER[:5]]
    kinds = Counter(kind for row in rows for kind in set(_TYPE.findall(row.call)))
    return [
        f"| seeds | {' | '.join(shown)} |",
        f"|---:|{'---:|' * len(shown)}",
        f"| {len(rows)} | {' | '.join(str(found[outcome]) for outcome in shown)} |",
        "",
        f"Models with a value of each dtype: {', '.join(f'{k} {n}' for k, n in kinds.most_common())}.",
    ]


def _others(rows: Sequence[Row]) -> list[str]:
    lines = ["\n## Those without a file\n"]
    for row in rows:
        if row.outcome is not Outcome.RIGHT:
            said = row.detail.replace("|", "/").replace("`", "'")[:300]
            lines.append(f"- {row.sample}, {row.outcome}: {cause(row)}{said}")
    return lines if len(lines) > 1 else [*lines, "None."]
