"""What works element by element gives what torch says that it gives, without asking torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

from onnxpert.capture.faking.elementwise import of_elements
from onnxpert.capture.recorder import new_fake_mode

aten = torch.ops.aten
_DYNAMIC = DimDynamic.DYNAMIC


def _fakes(*tensors: torch.Tensor) -> tuple[Any, list[Any]]:
    """Of the sizes of the first all may vary, and the others share them as far as they are as long."""
    mode = new_fake_mode()
    found = []
    for tensor in tensors:
        varies = [_DYNAMIC if size > 2 else DimDynamic.STATIC for size in tensor.shape]
        context: Any = StatelessSymbolicContext(dynamic_sizes=varies)
        found.append(mode.from_tensor(tensor, symbolic_context=context))
    return mode, found


CALLS: list[tuple[Any, Any]] = [
    (aten.elu.default, lambda x: (x,)),
    (aten.elu.default, lambda x: (x.permute(2, 0, 1),)),
    (aten.elu.default, lambda x: (x[..., 1:],)),
    (aten.gt.Scalar, lambda x: (x, 0)),
    (aten.mul.Tensor, lambda x: (x, x.half())),
    (aten.add.Tensor, lambda x: (x, x[:1, :1].contiguous())),
    (aten.add.Tensor, lambda x: (x.sum((0, 1)), x)),
    (aten.div.Tensor, lambda x: (x.long(), 2)),
    (aten.where.self, lambda x: (x > 0, x, x)),
]


@pytest.mark.parametrize(("func", "operands"), CALLS)
def test_the_outcome_is_torchs(func: Any, operands: Any) -> None:
    mode, (x,) = _fakes(torch.randn(3, 5, 8))
    with mode:
        args = operands(x)
        made, want = of_elements(func, args), func(*args)
    assert made.dtype == want.dtype
    assert made.device == want.device
    assert str(made.shape) == str(want.shape)
    assert [str(stride) for stride in made.stride()] == [str(stride) for stride in want.stride()]


@pytest.mark.parametrize(
    ("func", "operands"),
    [
        (aten.add.Tensor, lambda x: (x, x[:, 1:2].expand_as(x))),
        (aten.add.Tensor, lambda x: (x, x.permute(2, 0, 1).contiguous().permute(1, 2, 0))),
        (aten.bernoulli.default, lambda x: (x,)),
        (aten.bitwise_and.Tensor, lambda x: (x, x)),  # which takes no fractions, and says so
        (aten.complex.default, lambda x: (x, x)),
    ],
)
def test_what_is_not_plain_is_torchs_to_say(func: Any, operands: Any) -> None:
    mode, (x,) = _fakes(torch.rand(3, 5, 8))
    with mode:
        assert of_elements(func, operands(x)) is NotImplemented


def test_sizes_that_are_numbers_are_torchs_to_say() -> None:
    mode = new_fake_mode()
    x = mode.from_tensor(torch.randn(3, 5), static_shapes=True)
    with mode:
        assert of_elements(aten.elu.default, (x,)) is NotImplemented
