"""Why some samples cannot be right yet, or ever, in words: beside what the export itself says."""

from __future__ import annotations

from collections.abc import Mapping

_TIES = (
    "torch does not promise which of several equal values it names, and the runtime names another"
)
_SIGNS = "such vectors are unique up to their sign only, and torch's library chooses another"
_HALF = "torch rounds every step to float16, the runtime only the result"
_WRONG = "torch's own result is off by more than its dtype explains; the file's is not"

# By operator; the cause holds for every form in which it fails.
CAUSES: Mapping[str, str] = {
    "argsort": _TIES,
    "kthvalue": _TIES,
    "mode": _TIES,
    "sort": _TIES,
    "topk": _TIES,
    "linalg.eigh": _SIGNS,
    "linalg.svd": _SIGNS,
    "pca_lowrank": _SIGNS,
    "svd": _SIGNS,
    "svd_lowrank": _SIGNS,
    "grid_sampler_2d": _HALF,
    "grid_sampler_3d": _HALF,
    "matrix_exp": _HALF,
    "nn.functional.grid_sample": _HALF,
    "nn.functional.multilabel_soft_margin_loss": _HALF,
    "special.airy_ai": _WRONG,
    "special.bessel_j0": _WRONG,
    "special.bessel_y1": _WRONG,
}
