"""Common divisors and multiples of a size and a number: `math.gcd(x.shape[1], 32)`."""

from __future__ import annotations

import math
from typing import Any

import sympy
import torch

_plain_gcd, _plain_lcm = math.gcd, math.lcm
_MOST_DIVISORS = 24  # of the number: each is a term
_sym: Any = torch  # whose functions of symbols have no types


def common_divisor(*values: Any) -> Any:
    """`math.gcd`."""
    sizes = [value for value in values if isinstance(value, torch.SymInt)]
    number = _plain_gcd(*(value for value in values if not isinstance(value, torch.SymInt)))
    if len(sizes) != 1 or not number or sympy.divisor_count(number) > _MOST_DIVISORS:
        return _plain_gcd(*values)
    # Every number is the sum of phi(d) over its divisors d, and these are the common ones.
    return sum(
        int(sympy.totient(divisor)) * (1 - _sym.sym_min(sizes[0] % divisor, 1))
        for divisor in sympy.divisors(number)
    )


def common_multiple(*values: Any) -> Any:
    """`math.lcm`."""
    sizes = [value for value in values if isinstance(value, torch.SymInt)]
    number = _plain_lcm(*(value for value in values if not isinstance(value, torch.SymInt)))
    if len(sizes) != 1 or not number:
        return _plain_lcm(*values)
    return sizes[0] * number // common_divisor(sizes[0], number)
