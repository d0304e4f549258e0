"""Why some samples cannot be right yet, or ever, in words: beside what the export itself says."""

from __future__ import annotations

from collections.abc import Mapping

_NOTHING = (
    "some singular values are zero or equal: what belongs to them is rounding, not a direction"
)
_COUNTED = "a tensor decides how many tensors there are, and a file has a fixed number of outputs"
_ORDER = "torch gives eigenvalues in the order in which LAPACK comes upon them"
_HALF = "torch rounds every step to float16, the runtime only the result"
_OVERFLOW = "torch's steps are beyond float16 and give NaN, the file's are not"
_WRONG = "torch's own result is off by more than its dtype explains; the file's is not"

_SIGNS = "nothing decides the signs of the vectors, and LAPACK's are its own (NUM706)"
_CHANCE = "its subspace is drawn at random, and so are the signs of what comes of it (NUM702)"
_DROPOUT = "with dropout asked for in a model that is in evaluation mode (STA311)"

# By operator: what of it is refused unless `undetermined="allow"` or `randomness="allow"` is given.
ONLY_IF_ALLOWED: Mapping[str, str] = {
    "linalg.eigh": _SIGNS,
    "linalg.svd": _SIGNS,
    "nn.functional.multi_head_attention_forward": _DROPOUT,
    "nn.functional.scaled_dot_product_attention": _DROPOUT,
    "pca_lowrank": _CHANCE,
    "svd": _SIGNS,
    "svd_lowrank": _CHANCE,
}

# By operator; the cause holds for every form in which it fails.
CAUSES: Mapping[str, str] = {
    "linalg.eig": _ORDER,
    "linalg.eigvals": _ORDER,
    "linalg.svd": _NOTHING,
    "pca_lowrank": _NOTHING,
    "svd": _NOTHING,
    "svd_lowrank": _NOTHING,
    "tensor_split": _COUNTED,
    "matrix_exp": _OVERFLOW,
    "nn.functional.multilabel_soft_margin_loss": _HALF,
    "special.airy_ai": _WRONG,
    "special.bessel_j0": _WRONG,
    "special.bessel_y1": _WRONG,
}
