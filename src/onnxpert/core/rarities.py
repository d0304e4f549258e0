"""Operators that `torch.onnx.export` stops at and onnxpert has a lowering for.

They are in neither onnxscript's torchlib nor torch's table of decompositions; read off torch 2.13 and
onnxscript 0.7.2."""

from __future__ import annotations

_NAMES = frozenset(
    {
        "_adaptive_avg_pool3d", "_cdist_forward", "_fft_c2c", "_fft_c2r", "_linalg_eigh",
        "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd", "_logcumsumexp",
        "_pack_padded_sequence", "_pdist_forward", "_sample_dirichlet", "_standard_gamma",
        "_upsample_lanczos2d_aa", "adaptive_max_pool3d", "binomial", "bucketize", "cauchy",
        "cholesky", "cholesky_inverse", "cholesky_solve", "conv_tbc", "copysign", "cummax",
        "cummin", "cumprod", "digamma", "dist", "erfinv", "exponential", "fmax", "fmin",
        "fractional_max_pool2d", "fractional_max_pool3d", "frexp", "gcd", "geometric", "geqrf",
        "histogram", "hypot", "i0", "igamma", "igammac", "index_reduce", "kthvalue", "lcm", "ldexp",
        "lgamma", "linalg_cholesky_ex", "linalg_householder_product", "linalg_inv_ex",
        "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lstsq", "linalg_lu",
        "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_matrix_exp", "linalg_pinv", "linalg_qr",
        "linalg_solve_triangular", "log_normal", "lu_unpack", "median", "mode", "nanmedian",
        "nextafter", "nonzero_static", "ormqr", "poisson", "polygamma", "put", "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic", "randperm",
        "searchsorted", "segment_reduce", "triangular_solve", "unique_dim_consecutive",
    }
)  # fmt: skip


def is_rare(name: str) -> bool:
    """By the name of the operator, `aten::` left off."""
    return name.rstrip("_") in _NAMES or name.startswith("special_")
