"""The error function, the gamma function and their kin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest
import torch

from tests.lower.same import assert_same, lowered

REAL = torch.tensor(
    [-30.0, -9.0, -3.0, -1.0, -0.4, -1e-5, 0.0, 1e-3, 0.5, 1.0, 2.2, 5.0, 9.0, 26.0]
)
UNIT = torch.tensor([-1.0, -0.999, -0.71, -0.7, -0.3, -1e-6, 0.0, 0.01, 0.5, 0.72, 0.99999, 1.0])
GAMMA = torch.tensor([-3.7, -2.5, -0.5, -0.1, 1e-3, 0.3, 0.5, 1.0, 1.5, 2.0, 3.3, 9.9, 10.1, 250.0])

FUNCTIONS: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "erf": (torch.erf, REAL),
    "erfc": (torch.erfc, REAL),
    "erfcx": (torch.special.erfcx, REAL[3:]),
    "erfinv": (torch.erfinv, UNIT),
    "ndtr": (torch.special.ndtr, REAL),
    "log_ndtr": (torch.special.log_ndtr, REAL),
    "ndtri": (torch.special.ndtri, (UNIT + 1) / 2),
    "lgamma": (torch.lgamma, GAMMA),
    "digamma": (torch.digamma, GAMMA),
    "trigamma": (lambda x: torch.polygamma(1, x), GAMMA),
    "polygamma": (lambda x: torch.polygamma(0, x), GAMMA),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floats(name: str, dtype: torch.dtype) -> None:
    function, x = FUNCTIONS[name]
    assert_same(function, x.to(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers_and_nan(name: str) -> None:
    function, _ = FUNCTIONS[name]
    assert_same(function, torch.tensor([1, 1]))
    assert_same(function, torch.tensor([math.nan]))


@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr", "lgamma", "digamma", "erfcx"])
def test_infinity(name: str) -> None:
    function, _ = FUNCTIONS[name]
    assert_same(function, torch.tensor([math.inf], dtype=torch.float64))
    assert_same(function, torch.tensor([math.inf]))


def test_poles() -> None:
    x = torch.tensor([0.0, -0.0, -1.0, -2.0])
    assert_same(lambda x: (torch.lgamma(x), torch.digamma(x)), x)


def test_out_of_range() -> None:
    assert_same(torch.erfinv, torch.tensor([-1.5, 2.0]))


@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr", "erfinv", "log_ndtr", "lgamma", "digamma"])
def test_tails_keep_their_digits(name: str) -> None:
    """Relative, where the product's own tolerance is also absolute."""
    function, x = FUNCTIONS[name]
    x = (x[(x.abs() > 1e-7) & (x.abs() < 25)] if name != "erfinv" else x[1:-1]).double()
    x = x[function(x).abs() > 1e-300]
    session = onnxruntime.InferenceSession(
        ir.to_proto(lowered(function, (x,)).model).SerializeToString()
    )
    (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    want = function(x).numpy()
    keep = np.abs(want) > 0
    np.testing.assert_allclose(got[keep], want[keep], rtol=2e-13 if name != "lgamma" else 1e-11)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_polygamma_of_higher_order(order: int) -> None:
    for dtype in (torch.float32, torch.float64):
        assert_same(lambda x: torch.polygamma(order, x), GAMMA.to(dtype))


def test_zeta() -> None:
    x = torch.tensor([1.0, 1.5, 2.0, 3.0, 10.0, 0.5, 2.0, 2.5, 2.0], dtype=torch.float64)
    y = torch.tensor([1.0, 2.0, 1.0, 0.25, 30.0, 1.0, -1.0, -1.5, -20.3], dtype=torch.float64)
    assert_same(torch.special.zeta, x, y)
    assert_same(torch.special.zeta, x.float(), y.float())
    assert_same(lambda x: (torch.special.zeta(x, 1.5), torch.special.zeta(3, x)), x)
    assert_same(torch.special.zeta, x[:3, None], y[None, 1:4])


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_bessel(name: str, dtype: torch.dtype) -> None:
    function = getattr(torch.special, name)
    assert_same(
        function, torch.tensor([-30.0, -8.0, -0.5, 0.0, 1e-3, 1.0, 7.9, 8.1, 50.0]).to(dtype)
    )


def test_the_zeros_of_lgamma_are_zeros() -> None:
    assert_same(lambda x: 1 / torch.lgamma(x), torch.tensor([1.0, 2.0, 3.0]))
