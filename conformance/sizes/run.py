"""Draws random programs of sizes and exports them; `make sizes` writes docs/random-sizes.md."""

from __future__ import annotations

import sys
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from conformance.study import Study

_ABOUT = """\
# Random arithmetic with sizes

Modules whose `forward` is drawn by a seed from what people do with sizes: quotients, remainders, roots, `max` and `min` of
them as sizes, ends of slices, steps and factors; `reshape`, `unfold`, `pad` to a multiple, `split`, `chunk`, `repeat`, pools and
resizing; branches and loops that sizes decide. Every line is one that torch takes at three sets of sizes, and what no later
line uses is a result. Each program is a Python file of its own. It is exported with all sizes named, one in three with
`dynamic_shapes="auto"`, run by ONNX Runtime at 14 sets of sizes (all 1, small, prime, large) and compared with torch.

- *right*: a proven file, which agrees with torch at every one of these sizes that the file says it takes.
- *refused*: no file, and a finding at the line of the program that it is about.
- *failed*: anything else without a file: an exception, a reason without a line. There must be none.
- *unloadable* and *wrong*: a file that the runtime does not run, or that computes something else. There must be none.

Sizes at which torch fails judge nobody. `make sizes` writes this page; `make sizes ARGS="--first 1000 --count 100"` tries other
seeds, and prints the sum.
"""
STUDY = Study("conformance.sizes", "random-sizes.md", 200, 180.0, lambda: _ABOUT)

if __name__ == "__main__":
    sys.exit(STUDY.main())
