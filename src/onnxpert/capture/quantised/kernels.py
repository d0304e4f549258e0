"""What torch's quantised kernels compute, each as the float operator and the rounding after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxpert.capture.quantised.conversions import CONVERSIONS
from onnxpert.capture.quantised.pointwise import POINTWISE
from onnxpert.capture.quantised.products import PRODUCTS
from onnxpert.capture.quantised.recurrent import RECURRENT
from onnxpert.capture.quantised.tables import TABLES
from onnxpert.capture.quantised.training import TRAINING

KERNELS: dict[Any, Callable[..., Any]] = {
    **CONVERSIONS,
    **PRODUCTS,
    **TABLES,
    **POINTWISE,
    **RECURRENT,
    **TRAINING,
}
