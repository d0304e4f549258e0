"""torchlib through our emitter: what it says is what torch computes, and what it cannot is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # makes torch.ops.quantized_decomposed
import torch.nn.functional as F

from onnxpert.capture import capture
from onnxpert.core.types import Captured, Lowered, Request, replace
from onnxpert.load import load
from onnxpert.lower import torchlib
from onnxpert.lower.build import Build
from onnxpert.lower.emitter import Emitter, Refusal, Shared

aten = torch.ops.aten
quantised = torch.ops.quantized_decomposed
Call = Callable[..., Any]


def by_torchlib(
    function: Call, args: Sequence[Any], *, dynamic: Any = None, opset: int = 20
) -> Lowered:
    """The ONNX of a call for which there is nothing but torchlib."""
    loaded = load(Request(function, tuple(args), dynamic_shapes=dynamic))
    captured = capture(replace(loaded, whole=frozenset({"quantized_decomposed"})))
    assert isinstance(captured, Captured), captured
    build = Build(captured, opset, {}, torchlib.call)
    build.walk._decomposed = lambda *_: NotImplemented  # type: ignore[method-assign]
    return build.run((), (), 10)


def assert_same(
    function: Call,
    *args: torch.Tensor,
    dynamic: Any = None,
    others: Sequence[Sequence[torch.Tensor]] = (),
    opset: int = 20,
) -> Lowered:
    found = by_torchlib(function, args, dynamic=dynamic, opset=opset)
    assert not found.unsupported, found.unsupported
    proto = ir.to_proto(found.model)
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    for given in (args, *others):
        wanted = function(*given)
        many = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
        names = [entry.name for entry in session.get_inputs()]
        got = session.run(None, {n: v.numpy() for n, v in zip(names, given, strict=True)})
        for have, want in zip(got, many, strict=True):
            torch.testing.assert_close(torch.from_numpy(have), want, rtol=1e-4, atol=1e-5)
    return found


X = torch.tensor([[0.5, -1.25, 2.0, 0.0], [3.0, 1.0, -2.5, 0.25], [1.5, 0.75, -0.5, 4.0]])
N = torch.tensor([[3, -1, 2, 0], [5, 7, -4, 1]])
OPEN = ({0: "n"},)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (torch.logit, (X.sigmoid(),)),
        (torch.linalg.det, (torch.rand(2, 3, 3),)),
        (torch.linalg.cross, (torch.rand(4, 3), torch.rand(4, 3))),
        (aten.mse_loss, (X, X * 2)),
        (lambda x: torch.histc(x, 4, -2, 2), (X,)),
        (lambda x: torch.bincount(x, minlength=5), (N.flatten().abs(),)),
        (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255), (X,)),
        (F.cross_entropy, (X, torch.tensor([0, 3, 1]))),
        (lambda x: torch.roll(x, (1, -2), (0, 1)), (X,)),
        (lambda x: torch.unflatten(x, 1, (2, -1)), (X,)),
        (F.gelu, (X,)),
        (lambda x: F.hardtanh(x, -0.5, 1.0), (X,)),
        (aten.lerp.Scalar, (X, X + 1, 0.25)),
        (lambda x: torch.round(x, decimals=1), (X,)),
    ],
)
def test_torchlib(function: Call, args: tuple[Any, ...]) -> None:
    tensors = tuple(arg for arg in args if isinstance(arg, torch.Tensor))
    numbers = args[len(tensors) :]
    assert_same(lambda *given: function(*given, *numbers), *tensors)


@pytest.mark.parametrize(
    "function",
    [torch.logit, torch.special.expm1, F.glu, torch.linalg.vector_norm, lambda x: x.flip(0)],
)
def test_torchlib_at_other_sizes(function: Call) -> None:
    def model(x: torch.Tensor) -> Any:
        return function(x)

    x = torch.rand(3, 4)
    assert_same(model, x, dynamic=OPEN, others=[[torch.rand(1, 4)], [torch.rand(6, 4)]])


def test_sizes_arrive_as_values() -> None:
    def made(x: torch.Tensor) -> torch.Tensor:
        return aten.reshape(aten.expand(x, [2, x.shape[0], 4]), [2 * x.shape[0], -1]) + x.shape[0]

    assert_same(made, X, dynamic=OPEN, others=[[torch.rand(1, 4)], [torch.rand(7, 4)]])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (torch.add, (N, X[:2])),  # integers and floats
        (lambda n: n + 1.5, (N,)),  # a number that lifts the tensor
        (lambda n: n * True, (N,)),
        (torch.sqrt, (N.abs(),)),  # an integer where only floats are taken
        (lambda x, n: torch.where(x > 0, x, n), (X[:2], N)),
        (torch.mul, (X.double(), X)),
    ],
)
def test_dtypes_are_promoted_first(function: Call, args: tuple[torch.Tensor, ...]) -> None:
    assert_same(function, *args)


def test_what_torchlib_does_not_have_is_left_to_others() -> None:
    op = Emitter(Shared(20))
    assert torchlib.call(op, aten.linalg_svd.default, (), {}) is NotImplemented
    assert torchlib.call(op, torch.ops.higher_order.cond, (), {}) is NotImplemented


def test_an_older_opset_is_refused_with_the_one_that_would_do() -> None:
    with pytest.raises(Refusal) as error:
        torchlib.call(Emitter(Shared(17)), aten.logit.default, (), {})
    assert error.value.lowest_opset == 18


def test_whatever_goes_wrong_inside_is_one_line() -> None:
    found = by_torchlib(lambda x: torch.histc(x, 4, 0, 0), [X])
    (missing,) = found.unsupported
    assert missing.op == "aten.histc"
    assert missing.reason.startswith("torchlib's lowering failed")
    assert "\n" not in missing.reason


def test_complex_numbers_are_refused() -> None:
    (missing, *_) = by_torchlib(
        lambda x: torch.view_as_complex(x).abs(), [X.view(3, 2, 2)]
    ).unsupported
    assert missing.reason == "ONNX has no complex numbers"


def test_an_operator_that_means_something_else_by_now_is_refused() -> None:
    image, grid = torch.rand(1, 2, 4, 4), torch.rand(1, 3, 3, 2) * 2 - 1
    call = lambda x, g: F.grid_sample(x, g, align_corners=False)  # noqa: E731
    assert_same(call, image, grid, opset=18)
    (missing,) = by_torchlib(call, [image, grid], opset=20).unsupported
    assert missing.reason == "GridSample has another form since opset 20"


def test_a_wide_table_is_made_once_and_quickly() -> None:
    assert torchlib.find(aten.logit.default) is torchlib.find(aten.logit.default)
    assert torchlib._registry() is torchlib._registry()


# ---- what is denied is denied for a reason that still holds ------------------------------------

ONE = torch.rand(1, 1, 4, 4)
WRONG: dict[str, tuple[Call, tuple[torch.Tensor, ...]]] = {
    "aten::_native_batch_norm_legit_functional": (
        lambda x, m, v: aten._native_batch_norm_legit_functional(
            x, None, None, m, v, True, 0.1, 1e-5
        ),
        (torch.rand(4, 3, 5), torch.rand(3), torch.rand(3) + 1),
    ),
    "aten::_upsample_bilinear2d_aa": (
        lambda x: aten._upsample_bilinear2d_aa(x, [3, 3], False, 1.7, 0.9),
        (torch.rand(1, 1, 10, 20),),
    ),
    "aten::as_strided": (lambda x: x.t().as_strided((2, 2), (1, 2)), (torch.rand(3, 4),)),
    "aten::avg_pool2d": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), (ONE,)),
    "aten::avg_pool3d": (
        lambda x: F.avg_pool3d(x, 2, divisor_override=3),
        (torch.rand(1, 1, 4, 4, 4),),
    ),
    "aten::native_batch_norm": (
        lambda x, m, v: aten.native_batch_norm(x, None, None, m, v, True, 0.1, 1e-5),
        (torch.rand(4, 3, 5), torch.rand(3), torch.rand(3) + 1),
    ),
    "aten::nonzero": (torch.nonzero, (torch.tensor(1),)),
    "aten::scaled_dot_product_attention": (
        F.scaled_dot_product_attention,
        (*(torch.rand(1, 1, 2, 4) for _ in range(3)), torch.tensor([[True, True], [False, False]])),
    ),
    "aten::scatter_reduce.two": (
        lambda x, s: x.scatter_reduce(0, torch.tensor([0, 0, 1]), s, "mean"),
        (torch.ones(3), torch.tensor([2.0, 3.0, 4.0])),
    ),
    "aten::special_erfcx": (torch.special.erfcx, (torch.tensor([12.0, 20.0]),)),
    "aten::stft": (
        lambda x: aten.stft(x, 4, 2, 4, None, False, True, False),
        (torch.rand(12),),
    ),
    "aten::topk": (
        lambda x: torch.topk(x, 3, sorted=False).values,
        (torch.tensor([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]),),
    ),
}


def test_every_denial_is_shown_here() -> None:
    assert WRONG.keys() == torchlib.DENIED.keys()


@pytest.mark.parametrize("name", sorted(torchlib.DENIED))
def test_a_denial_still_holds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, args = WRONG[name]
    (missing, *_) = by_torchlib(function, args).unsupported
    assert missing.reason == ""
    monkeypatch.setattr(torchlib, "DENIED", {})
    torchlib.find.cache_clear()
    try:
        with pytest.raises(Exception):  # noqa: B017, PT011 - wrong values, or a file that is not valid
            assert_same(function, *args)
    finally:
        torchlib.find.cache_clear()


def test_quantising_to_a_part_of_a_dtype_is_refused() -> None:
    def quantise(highest: int) -> Call:
        return lambda x: quantised.quantize_per_tensor(x, 0.1, 3, 0, highest, torch.uint8)

    assert_same(quantise(255), X * 20)
    (missing,) = by_torchlib(quantise(15), [X * 20]).unsupported
    assert "range" in missing.reason
