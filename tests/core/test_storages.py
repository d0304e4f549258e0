"""Which memory a tensor looks at, and what a call writes to."""

import torch

from onnxpert.core.storages import storage, storage_if_any, written

aten = torch.ops.aten


def test_views_of_one_memory_have_one_storage() -> None:
    base = torch.zeros(4)
    assert storage(base[1:]) == storage(base)
    assert storage(base.clone()) != storage(base)


def test_a_sparse_tensor_has_no_one_storage() -> None:
    assert storage_if_any(torch.eye(2).to_sparse()) is None


def test_what_a_call_writes_is_read_from_its_schema() -> None:
    target, other = torch.zeros(2), torch.ones(2)
    assert next(written(aten.add_.Tensor, (target, other), {})) is target
    assert not list(written(aten.add.Tensor, (target, other), {}))
    assert next(written(aten.add.out, (other, other), {"out": target})) is target


def test_a_list_that_is_written_gives_each_item() -> None:
    several = [torch.zeros(1), torch.zeros(2)]
    found = list(written(aten._foreach_add_.Scalar, (several, 1), {}))
    assert [id(one) for one in found] == [id(one) for one in several]
