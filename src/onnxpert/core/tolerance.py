"""How far a runtime may be from torch, per dtype: the one table of the whole product."""

from __future__ import annotations

# dtype -> (relative, absolute). float32 allows for another order of summation in deep models; the
# absolute part is scaled by the largest value of the output, so a huge output has no free pass.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-6, 1e-7),
    "float32": (1e-3, 1e-5),
    "float16": (1e-2, 2e-3),
    "bfloat16": (4e-2, 1e-2),
    "float8_e4m3fn": (0.13, 2e-2),
    "float8_e5m2": (0.26, 5e-2),
    "complex64": (1e-3, 1e-5),
    "complex128": (1e-6, 1e-7),
}
EXACT = (0.0, 0.0)  # integers and booleans


def tolerance(dtype: str) -> tuple[float, float]:
    return TOLERANCES.get(dtype, EXACT)
