"""Why random models are refused though nothing is translated wrongly: beside what the export says."""

from __future__ import annotations

import re

from conformance.causes import CAUSES
from conformance.results import Row

# What the model calls, what the export says, and the reason; the first that fits.
_CAUSES = (
    (
        r"torch\.int|long\(",
        r"-2147483648|-9223372036854775808",
        "NaN or infinity as a whole number is whatever the processor makes of it",
    ),
    (
        r"polynomial",
        r"NaN or infinite|values differ",
        "torch's recurrence runs over into infinity and on to NaN, ours stays at infinity",
    ),
    (
        r"max|min|sort|topk|kthvalue|median",
        r"gives nan|file nan|values differ",
        "the runtime passes over a NaN where it looks for the largest or the smallest, torch does not",
    ),
    (r"signbit", r"values differ", "the sign of a NaN is nobody's promise"),
    (
        r"i0e?\(",
        r"differ|far off",
        "torch's i0(0) is a digit below 1, and the model asks for that digit",
    ),
    (r"bessel_y1", r"far off", CAUSES["special.bessel_y1"]),
    (
        r"tan|cos|sin|lgamma|pow|exp",
        r"far off",
        "so steep there, or so near to a jump, that the last digit of what goes in decides",
    ),
)


def cause(row: Row) -> str:
    """The first reason that fits, or ""."""
    for called, said, why in _CAUSES:
        if re.search(called, row.call) and re.search(said, row.detail):
            return f"{why}. "
    return ""
