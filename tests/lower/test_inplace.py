"""Writes: in-place operators, writes through views, `out=`; every later read sees them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from onnxpert.capture import capture
from onnxpert.core.types import Request
from onnxpert.load import load
from onnxpert.lower import lower
from tests.lower.same import assert_same

X = torch.randn(4, 6)
OTHERS = [(torch.randn(5, 7),), (torch.randn(3, 4),)]


def _select(x):
    x[:, 0] = 1


def _last_row(x):
    x[-1] = x[0] * 2


def _last_column(x):
    x[..., -1] = 3


def _slice(x):
    x[1:3] = 5


def _slice_of_the_end(x):
    x[:, -2:] = x[:, :2]


def _stepped_slice(x):
    x[::2] = 7


def _stepped_slice_of_columns(x):
    x[:, 1::2] *= -1


def _symbolic_slice(x):
    x[:, : x.shape[1] // 2] = 0


def _two_slices(x):
    x[1:3, 1:-1] = x[0, 1:-1]


def _mask(x):
    x[x > 0] = 2


def _mask_of_rows(x):
    x[x[:, 0] > 0] = x[0].clone()


def _mask_added(x):
    x[x > 0] += x[x > 0]


def _rows_by_number(x):
    x[[0, 2]] = 1


def _columns_by_number(x):
    x[:, [2, 0]] += 1


def _element(x):
    x[1, 2] = 9


def _part_of_a_row(x):
    x[2, 1:3] += x[0, :2]


def _select_of_select(x):
    x.select(0, 1).select(0, 2).add_(1)


def _transposed(x):
    x.t().add_(1)


def _row_of_the_transposed(x):
    x.T[0] = 4


def _permuted(x):
    x[None].permute(2, 0, 1)[1] *= 3


def _swapped(x):
    x.swapaxes(0, 1)[2].zero_()


def _moved(x):
    x.movedim(0, 1)[0].fill_(6)


def _view(x):
    x.view(-1).mul_(2)


def _part_of_a_view(x):
    x.view(-1)[3] = 8


def _flattened(x):
    x.flatten()[:2] = 8


def _unflattened(x):
    x.reshape(1, *x.shape)[0, 1] = 8


def _chunk(x):
    a, b = x.chunk(2)
    b.add_(a[: b.shape[0]])


def _split(x):
    a, *_ = x.split([1, x.shape[0] - 1])
    a.zero_()


def _squeezed(x):
    x[:, :1].squeeze(1).fill_(2)


def _unsqueezed(x):
    x.unsqueeze(1)[:, 0, 1] = 2


def _diagonal(x):
    x.diagonal().fill_(0)


def _diagonal_off(x):
    x.diagonal(1).mul_(2)


def _narrowed(x):
    x.narrow(0, 1, 2).sub_(1)


def _windows(x):
    x.unfold(1, 2, 2)[:, 0] = 3


def _expanded(x):
    x.expand(x.shape).add_(1)


def _detached(x):
    x.detach().data.add_(1)


def _filled(x):
    x.fill_(3)


def _zeroed(x):
    x[1].zero_()


def _clamped(x):
    x.clamp_(-0.5, 0.5)


def _masked_fill(x):
    x.masked_fill_(x < 0, 0)


def _copied(x):
    x.copy_(torch.arange(x.shape[1]))


def _copied_part(x):
    x[:2].copy_(x[1:3].clone())


def _put(x):
    x.index_put_((torch.tensor([0, 0, 1]),), torch.tensor(1.0), accumulate=True)


def _added_rows(x):
    x.index_add_(0, torch.tensor([0, 0]), x[:2].clone())


def _scattered(x):
    x.scatter_(1, torch.zeros(x.shape[0], 1, dtype=torch.long), 5.0)


def _activated(x):
    F.relu_(x)


def _in_a_loop(x):
    for i in range(3):
        x[i] = x[i] + x[i - 1]


def _operators(x):
    x += 1
    x *= x
    x -= x[0].clone()
    x /= 2


_WRITES = [
    value
    for name, value in list(globals().items())
    if name.startswith("_") and not name.startswith("__")
]


@pytest.mark.parametrize("write", _WRITES, ids=lambda write: write.__name__)
def test_writes(write):
    def call(x):
        x = x.clone()
        view, row, before = x.view(-1), x[0], x * 1
        write(x)
        return x, view, row, before, x.sum(), view[1:] + 1

    assert_same(call, X, dynamic="auto", others=OTHERS)


@pytest.mark.parametrize("wrap", [False, True])
def test_a_filled_diagonal(wrap):
    def call(x):
        x = x.clone()
        x.fill_diagonal_(4, wrap=wrap)
        return x

    assert_same(call, torch.randn(7, 2))
    assert_same(call, torch.randn(3, 3))


def test_a_written_input():
    def call(x):
        before = x + 0
        x[0] = 1
        x.add_(1)
        return x, before

    assert_same(call, X, dynamic="auto", others=OTHERS)


class _Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x):
        self.count[0] += 1
        first = self.count * 1
        self.count.add_(1)
        return x + self.count, first, self.count


def test_a_written_buffer():
    module = _Counting()
    wanted = [
        torch.ones(2) + torch.tensor([2.0, 1.0]),
        torch.tensor([1.0, 0.0]),
        torch.tensor([2.0, 1.0]),
    ]
    result = lower(capture(load(Request(module, (torch.ones(2),)))), opset=20)
    assert not result.unsupported
    assert torch.equal(module.count, torch.zeros(2))
    got = _ran(result, {"x": torch.ones(2)})
    for have, want in zip(got, wanted, strict=True):
        assert torch.equal(torch.as_tensor(have), want)


def _ran(result, feeds):
    import onnx_ir as ir
    import onnxruntime

    session = onnxruntime.InferenceSession(
        ir.to_proto(result.model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {name: tensor.numpy() for name, tensor in feeds.items()})


def test_other_dtypes():
    def call(x, y):
        x = x.clone()
        x[0] = y[0]
        x[1].copy_(y[1] > 0)
        x.add_(y)
        return x

    assert_same(call, torch.randn(3, 4), torch.arange(12).reshape(3, 4))
    assert_same(call, torch.randn(3, 4).double(), torch.randn(3, 4))
    assert_same(call, torch.randn(3, 4).half(), torch.randn(3, 4))


def test_whole_numbers_and_truth_values():
    def call(x, m):
        x, m = x.clone(), m.clone()
        x[0] = 3
        x[m] += 2
        m[0] = True
        m |= x > 4
        x &= 6
        x <<= 1
        return x, m

    x = torch.arange(12).reshape(3, 4)
    assert_same(call, x, x % 3 == 0)


def test_shapes_changed_in_place():
    def call(x):
        x = x.clone()
        y = x.view(-1)
        x.unsqueeze_(1)
        x[:, 0, 0] = 5
        x.squeeze_(1).t_()
        x[1] = 6
        x.transpose_(0, 1)
        return x, y

    assert_same(call, X, dynamic="auto", others=OTHERS)


def test_pieces_written_and_read():
    def call(x):
        x = x.clone()
        a, b, c = x.split(2, dim=1)
        b.mul_(2)
        p, q = a.unbind(1)
        q.add_(p)
        left, right = torch.tensor_split(c, (1,), dim=1)
        right.zero_()
        first, *rest = x.hsplit(3)
        first[0] = 1
        return x, a, b, c, p, left, *rest

    assert_same(call, torch.randn(4, 6), dynamic=({0: "n"},), others=[(torch.randn(2, 6),)])


def test_grids_see_writes():
    def call(x):
        x = x.clone()
        a, b = torch.broadcast_tensors(x, x[:1, None])
        x.add_(1)
        return a, b, torch.meshgrid(x[0], x[:, 0], indexing="ij")

    assert_same(call, X)


def test_results_written_to_a_place():
    def call(x, y):
        out = torch.empty_like(x)
        torch.add(x, y, out=out)
        row = out[0]
        torch.mul(x[1:], 2, out=out[1:])
        total = torch.zeros(x.shape[1])
        torch.sum(x, 0, out=total)
        return out, row, total

    others = [(torch.randn(2, 3), torch.randn(2, 3))]
    dynamic = ({0: "a", 1: "b"}, {0: "a", 1: "b"})
    assert_same(call, X, torch.randn(4, 6), dynamic=dynamic, others=others)


def test_numbers_written_to_a_place():
    def call(x):
        a, b = x.clone(), torch.empty(6)
        torch.zeros(4, 6, out=a)
        torch.arange(6, out=b)
        a[0] = b
        return a, b

    assert_same(call, X)


def test_several_results_written_to_places():
    def call(x):
        values, indices = torch.zeros(4), torch.zeros(4, dtype=torch.long)
        first = values[:2]
        largest = torch.max(x, 1, out=(values, indices))
        values.add_(1)
        return values, indices, first, largest

    assert_same(call, X)


def test_results_written_to_an_empty_place():
    def call(x, y):
        out = torch.empty(0)
        torch.cat([x, y], out=out)
        return out * 2

    assert_same(call, X, X)


def test_a_write_through_the_same_view_is_one():
    def call(x):
        x = x.clone()
        x[1] += 1
        return x

    result = assert_same(call, X)
    assert sum(node.op_type == "ScatterND" for node in result.model.graph) == 1


class _NoGrad(torch.nn.Module):
    def forward(self, x):
        x = x.clone()
        y = x.T
        with torch.no_grad():
            y[0].add_(5)
            z = y.view(y.shape).mul_(2)
        x[0] = 1
        return x, y, z


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_exported_programs(tmp_path, saved):
    x = torch.randn(3, 4)
    with torch.enable_grad():
        program = torch.export.export(_NoGrad(), (x,))
    if saved:
        torch.export.save(program, tmp_path / "program.pt2")
        program = torch.export.load(tmp_path / "program.pt2")
    result = lower(capture(load(Request(program, (x,)))), opset=20)
    assert not result.unsupported
    for have, want in zip(_ran(result, {"x": x}), _NoGrad()(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(have), want)


def test_memory_that_two_tensors_share_is_refused():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            whole = torch.zeros(4)
            self.register_buffer("whole", whole)
            self.register_buffer("part", whole[1:])

        def forward(self, x):
            self.part.add_(1)
            return x + self.whole

    result = lower(capture(load(Request(Model(), (torch.ones(4),)))), opset=20)
    assert [entry.op for entry in result.unsupported] == ["aten.add_.Tensor"]


def test_what_has_no_functional_form_is_refused():
    def call(x):
        y = torch.zeros(3)
        y.resize_(5)
        return x + y.sum()

    result = lower(capture(load(Request(call, (X,)))), opset=20)
    assert [entry.op for entry in result.unsupported] == ["aten.resize_"]


def test_a_norm_that_updates_what_it_is_given() -> None:
    def model(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> Any:
        mean, variance = mean.clone(), variance.clone()
        out, *_ = torch.ops.aten._native_batch_norm_legit(
            x, None, None, mean, variance, True, 0.1, 1e-5
        )
        return out, mean, variance

    assert_same(model, torch.randn(4, 3, 5), torch.randn(3), torch.rand(3))


@pytest.mark.parametrize("length", [1, 3, 4])
def test_a_place_that_a_size_counts_from_the_end(length):
    def call(x, cache):
        keep = min(x.shape[0], 4)
        rolled, marked = cache.clone(), cache.clone()
        rolled[:, -keep:].copy_(x[-keep:])
        marked[:, -keep] = 7.0
        marked[:, -keep::2] += 1.0
        return rolled, marked

    given = [(torch.randn(size), torch.randn(2, 4)) for size in (length, 1, 2, 4, 9)]
    assert_same(call, *given[0], dynamic=({0: torch.export.Dim("t")}, None), others=given)
