"""Draws random programs and exports them; `make flows` writes docs/random-programs.md."""

from __future__ import annotations

import sys
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from conformance.study import Study

_ABOUT = """\
# Random programs

Modules whose `forward` is drawn by a seed as Python is written: branches on values and sizes, loops over a size, over rows,
over what a mask leaves and over a number read from the data, `while`, `break`, `continue`, `for ... else`, early returns,
`try`, helpers with defaults and closures, writes in place through a second name, lists, dicts and `None` as state, and
`int()`, `float()` and `.item()` of tensors in arithmetic, as ends of slices, as indices and compared. Each is a Python file of
its own. It is exported as a user would, two of three with dynamic sizes, run by ONNX Runtime at up to 49 inputs (seven
sizes, and values that make the numbers read 0, 1, 2, negative and large) and compared with torch.

- *right*: a proven file, which agrees with torch at all of them.
- *refused*: no file, and a finding at the line of the program that it is about.
- *failed*: anything else without a file: an exception, a reason without a line. There must be none.
- *unloadable* and *wrong*: a file that the runtime does not run, or that computes something else. There must be none.
- *idle*: torch itself fails at the example.

Inputs at which torch fails, or where a nudge of a millionth moves its own result (rounding decides a branch), judge nobody.
`make flows` writes this page; `make flows ARGS="--first 1000 --count 100"` tries other seeds, and prints the sum.
"""

STUDY = Study("conformance.flows", "random-programs.md", 130, 180.0, lambda: _ABOUT)

if __name__ == "__main__":
    sys.exit(STUDY.main())
