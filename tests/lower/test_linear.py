"""Matrix products."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

import onnxpert
from tests.lower.same import assert_same

aten = torch.ops.aten


def rand(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes)


def ints(*sizes: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(0, 9, sizes).to(dtype)


def test_linear_keeps_the_weight_as_it_is() -> None:
    layer = torch.nn.Linear(4, 3)
    result = assert_same(layer, rand(2, 4), dynamic=({0: "batch"},), others=[[rand(5, 4)]])
    assert {"weight", "bias"} <= set(result.model.graph.initializers)
    assert [node.op_type for node in result.model.graph] == ["Gemm"]


def test_linear_on_sequences() -> None:
    layer = torch.nn.Linear(4, 3)
    assert_same(layer, rand(2, 7, 4), dynamic="auto", nodes=["MatMul"], others=[[rand(1, 1, 4)]])


def test_linear_without_a_bias_adds_nothing() -> None:
    result = assert_same(torch.nn.Linear(4, 3, bias=False), rand(2, 7, 4))
    assert "Add" not in {node.op_type for node in result.model.graph}


def test_linear_on_a_vector_and_in_float64() -> None:
    assert_same(torch.nn.Linear(4, 3), rand(4))
    assert_same(torch.nn.Linear(4, 3).double(), rand(2, 4).double())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (4, 3, 4)),
        ((0, 3), (3, 4)),
        ((2, 0), (0, 4)),
        ((2, 3), (3, 0)),
        ((0,), (0,)),
    ],
)
def test_matmul_of_all_ranks(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    assert_same(torch.matmul, rand(*a), rand(*b))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.int64, torch.int32, torch.int16, torch.uint8]
)
def test_matmul_of_other_dtypes(dtype: torch.dtype) -> None:
    big = (torch.arange(12) * 37).to(dtype)  # wraps around in the small ones
    assert_same(torch.matmul, big.view(3, 4), big.view(4, 3))


def test_a_turned_matrix_times_a_vector() -> None:
    assert_same(lambda a, v: a.T @ v, rand(3, 4), rand(3))
    assert_same(lambda a, v: a.mT @ v, rand(2, 3, 4), rand(3))
    assert_same(lambda a, v: torch.relu(a.T) @ v, rand(3, 3), rand(3))


def test_matmul_at_other_sizes() -> None:
    assert_same(
        torch.matmul,
        rand(2, 3, 4),
        rand(2, 4, 5),
        dynamic="auto",
        others=[[rand(1, 6, 1), rand(1, 1, 2)]],
    )


ROWS: list[tuple[Any, list[Any]]] = [
    (torch.mm, [rand(2, 3), rand(3, 4)]),
    (torch.bmm, [rand(2, 3, 4), rand(2, 4, 5)]),
    (torch.mv, [rand(2, 3), rand(3)]),
    (torch.dot, [rand(3), rand(3)]),
    (torch.vdot, [rand(3), rand(3)]),
    (torch.dot, [ints(3), ints(3)]),
    (torch.inner, [rand(2, 3), rand(4, 3)]),
    (torch.inner, [rand(2, 3), rand(3)]),
    (torch.inner, [rand(2, 3), rand()]),
    (torch.inner, [rand(2, 3), rand(4, 5, 3)]),
    (torch.outer, [rand(2), rand(3)]),
    (torch.outer, [rand(2), ints(3)]),
    (torch.outer, [ints(2, dtype=torch.uint8), ints(3, dtype=torch.uint8)]),
    (torch.linalg.vecdot, [rand(2, 3), rand(4, 2, 3)]),
    (lambda a, b: torch.linalg.vecdot(a, b, dim=0), [rand(2, 3), rand(2, 3)]),
    (lambda *m: torch.linalg.multi_dot(m), [rand(2, 3), rand(3, 7), rand(7, 4)]),
    (lambda *m: torch.linalg.multi_dot(m), [rand(3), rand(3, 7), rand(7)]),
    (lambda *m: torch.linalg.multi_dot(m), [rand(2, 3), rand(3, 7), rand(7)]),
    (lambda a, b: torch.tensordot(a, b, 2), [rand(2, 3, 4), rand(3, 4, 5)]),
    (lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), [rand(2, 3, 4), rand(4, 2, 5)]),
    (lambda a, b: torch.tensordot(a, b, 0), [rand(2, 3), rand(4)]),
    (lambda a, b: torch.tensordot(a, b, ([0], [0])), [rand(1, 3), rand(4, 5)]),
    (torch.kron, [rand(2, 3), rand(4)]),
    (torch.kron, [rand(2, 3), rand(2, 2, 2)]),
    (torch.kron, [ints(2, 3), rand(2)]),
    (torch.nn.Bilinear(3, 4, 5), [rand(2, 3), rand(2, 4)]),
    (torch.nn.Bilinear(3, 4, 5, bias=False), [rand(6, 2, 3), rand(6, 2, 4)]),
]


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_products(row: int) -> None:
    call, args = ROWS[row]
    assert_same(call, *args)


@pytest.mark.parametrize("beta", [1, 0.5, 0])
@pytest.mark.parametrize("alpha", [1, 2.5])
def test_scaled_sums(beta: float, alpha: float) -> None:
    def keywords(function: Any) -> Any:
        return lambda *args: function(*args, beta=beta, alpha=alpha)

    nan = torch.full((2, 4), float("nan")) if beta == 0 else rand(2, 4)
    assert_same(keywords(torch.addmm), nan, rand(2, 3), rand(3, 4), nodes=["Gemm"])
    assert_same(keywords(torch.addmm), rand(4), rand(2, 3), rand(3, 4), nodes=["Gemm"])
    assert_same(keywords(torch.addmv), rand(2), rand(2, 3), rand(3))
    assert_same(keywords(torch.addr), rand(2, 3), rand(2), rand(3))
    assert_same(keywords(torch.addr), rand(3), rand(2), rand(3))
    assert_same(keywords(torch.baddbmm), rand(2, 3, 5), rand(2, 3, 4), rand(2, 4, 5))
    assert_same(keywords(torch.baddbmm), rand(5), rand(2, 3, 4), rand(2, 4, 5))
    assert_same(keywords(torch.addbmm), rand(3, 5), rand(2, 3, 4), rand(2, 4, 5))


def test_scaled_sums_of_integers() -> None:
    assert_same(
        lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), ints(2, 4), ints(2, 3), ints(3, 4)
    )
    assert_same(torch.addr, ints(2, 3) > 4, ints(2) > 4, ints(3) > 4)


def test_sums_over_nothing() -> None:
    assert_same(lambda c, a, b: torch.addmm(c, a, b, beta=0.5), rand(2, 4), rand(2, 0), rand(0, 4))


def test_kron_at_other_sizes() -> None:
    others = [[rand(1, 4), rand(2, 2, 2)], [rand(5, 1), rand(2, 1, 2)]]
    dynamic = ({0: "a", 1: "b"}, {1: "c"})
    assert_same(torch.kron, rand(2, 3), rand(2, 3, 2), dynamic=dynamic, others=others)


def test_addbmm_at_other_sizes() -> None:
    assert_same(
        torch.addbmm,
        rand(3, 5),
        rand(2, 3, 4),
        rand(2, 4, 5),
        dynamic=({}, {0: "batch"}, {0: "batch"}),
        others=[[rand(3, 5), rand(1, 3, 4), rand(1, 4, 5)]],
    )


def test_a_sum_over_nothing_is_zero() -> None:
    assert_same(torch.matmul, torch.ones(2, 3, 0), torch.ones(2, 0, 4))
    assert_same(torch.matmul, torch.ones(3, 0), torch.ones(0, 4))
    assert_same(torch.matmul, torch.ones(0), torch.ones(0))
    assert_same(torch.mv, torch.ones(3, 0), torch.ones(0))


def test_a_batch_that_sums_over_nothing_at_the_example(tmp_path: Path) -> None:
    """ONNX Runtime's product with a transposed batch leaves what lay in memory, where there is any."""

    def model(a: torch.Tensor, b: torch.Tensor, busy: torch.Tensor) -> torch.Tensor:
        return (a @ b.mT).sin() + (busy.exp() * busy).amin() * 0

    axes = dict.fromkeys(range(3), torch.export.Dim.AUTO)
    args = (torch.ones(2, 3, 0), torch.ones(2, 3, 0), torch.ones(2, 3, 3))
    onnxpert.export(model, args, tmp_path / "m.onnx", dynamic_shapes=(axes, axes, {}))
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    feeds = {
        given.name: value.numpy() for given, value in zip(session.get_inputs(), args, strict=True)
    }
    for _ in range(20):
        assert not session.run(None, feeds)[0].any()
    wider = {**feeds, "a": np.ones((2, 3, 4), "f4"), "b": np.ones((2, 3, 4), "f4")}
    np.testing.assert_allclose(session.run(None, wider)[0], np.full((2, 3, 3), np.sin(4)), 1e-5)
