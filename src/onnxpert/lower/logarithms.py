"""Logarithms to another base than e, which are whole where they should be.

`log(8) / log(2)` is 2.9999999999999996 or 3, as the roundings fall; models round it down."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx_ir as ir
import torch

if TYPE_CHECKING:
    from onnxpert.lower.emitter import Emitter


def to_base(op: Emitter, base: int, x: ir.Value) -> ir.Value:
    """Of numbers of double precision; rounded to less, a quotient would be whole by itself."""
    found = op.Mul(op.Log(x), 1 / math.log(base))
    whole = op.Round(found)
    power = op.Pow(op.const(float(base), torch.float64), whole)
    result: ir.Value = op.Where(op.Equal(power, x), whole, found)
    return result
