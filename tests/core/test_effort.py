"""What a call computes is counted."""

from __future__ import annotations

import torch

from onnxpert.core.effort import Effort


def test_what_is_read_and_made_counts_and_a_view_does_not() -> None:
    x, weight = torch.ones(1000, 100), torch.ones(100, 200)
    view, product = Effort(), Effort()
    view.note((x,), x[::2])
    product.note((x, weight), x @ weight)
    small = Effort()
    small.note((x[:1, :1],), x[:1, :1] + 1)
    assert 0 < view.seconds < small.seconds < product.seconds / 10
    assert product.seconds > 1e-9 * (x.numel() + weight.numel() + 1000 * 200)


def test_lists_count_and_what_has_no_memory_of_its_own_does_not() -> None:
    x = torch.ones(1000)
    joined, sparse, nothing = Effort(), Effort(), Effort()
    joined.note(([x, x + 1],), torch.cat([x, x]))
    eye = torch.eye(100).to_sparse()
    sparse.note((eye,), eye * 2)
    nothing.note((), None)
    assert joined.seconds - nothing.seconds >= 3999e-9
    assert sparse.seconds == nothing.seconds
