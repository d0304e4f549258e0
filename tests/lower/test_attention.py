"""Attention."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.lower.same import assert_same

attend = F.scaled_dot_product_attention


def heads(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes)


def open_rows(rows: int, columns: int) -> torch.Tensor:
    """A mask with some keys shut, and one row that sees nothing."""
    mask = torch.rand(rows, columns) > 0.4
    mask[:, 0] = True
    mask[1] = False
    return mask


OPSETS = [14, 20, 23]


@pytest.mark.parametrize("opset", OPSETS)
def test_plain(opset: int) -> None:
    q, k, v = heads(2, 3, 5, 8), heads(2, 3, 6, 8), heads(2, 3, 6, 4)
    assert_same(attend, q, k, v, opset=opset)
    assert_same(lambda q, k, v: attend(q, k, v, scale=0.3), q, k, v, opset=opset)
    assert_same(attend, q[0], k[0], v[0], opset=opset)
    assert_same(attend, q[0, 0], k[0, 0], v[0, 0], opset=opset)
    assert_same(attend, q.double(), k.double(), v.double(), opset=opset)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("rows", "columns"), [(5, 5), (5, 3), (3, 5), (1, 4)])
def test_causal(opset: int, rows: int, columns: int) -> None:
    q, k = heads(2, 3, rows, 8), heads(2, 3, columns, 8)
    assert_same(lambda q, k, v: attend(q, k, v, is_causal=True), q, k, k, opset=opset)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    "shape", [(5, 6), (1, 6), (2, 1, 5, 6), (2, 3, 5, 6), (1, 3, 5, 6), (2, 1, 1, 6)]
)
def test_masks(opset: int, shape: tuple[int, ...]) -> None:
    q, k = heads(2, 3, 5, 8), heads(2, 3, 6, 8)
    keep = torch.rand(shape) > 0.4
    bias = torch.randn(shape).masked_fill(~keep, -math.inf)
    for mask in (keep, bias, torch.zeros(shape).masked_fill(~keep, torch.finfo().min)):
        assert_same(lambda q, k, m: attend(q, k, k, attn_mask=m), q, k, mask, opset=opset)


@pytest.mark.parametrize("opset", OPSETS)
def test_rows_that_see_nothing_are_zero(opset: int) -> None:
    q, k = heads(2, 3, 5, 8), heads(2, 3, 6, 8)
    keep = open_rows(5, 6)
    for mask in (keep, torch.zeros(5, 6).masked_fill(~keep, -math.inf)):
        assert_same(lambda q, k, m: attend(q, k, k, attn_mask=m), q, k, mask, opset=opset)


@pytest.mark.parametrize("opset", OPSETS)
def test_grouped_heads(opset: int) -> None:
    q, k, v = heads(2, 6, 5, 8), heads(2, 2, 5, 8), heads(2, 2, 5, 4)
    mask = torch.rand(2, 6, 5, 5) > 0.2
    assert_same(lambda q, k, v: attend(q, k, v, enable_gqa=True), q, k, v, opset=opset)
    assert_same(
        lambda q, k, v: attend(q, k, v, enable_gqa=True, is_causal=True), q, k, v, opset=opset
    )
    assert_same(
        lambda q, k, v, m: attend(q, k, v, enable_gqa=True, attn_mask=m), q, k, v, mask, opset=opset
    )


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("causal", [True, False])
def test_at_other_sizes(opset: int, causal: bool) -> None:
    dims = tuple({0: "batch", 2: "length"} for _ in range(3))
    assert_same(
        lambda q, k, v: attend(q, k, v, is_causal=causal),
        *(heads(2, 3, 5, 8) for _ in range(3)),
        dynamic=dims,
        others=[[heads(1, 3, 1, 8) for _ in range(3)], [heads(3, 3, 7, 8) for _ in range(3)]],
        opset=opset,
    )


@pytest.mark.parametrize("opset", OPSETS)
def test_masks_at_other_sizes(opset: int) -> None:
    dims = (*({0: "batch", 2: "length"} for _ in range(2)), {0: "batch", 2: "length", 3: "length"})
    assert_same(
        lambda q, k, m: attend(q, k, k, attn_mask=m),
        heads(2, 3, 5, 8),
        heads(2, 3, 5, 8),
        torch.rand(2, 1, 5, 5) > 0.3,
        dynamic=dims,
        others=[[heads(1, 3, 7, 8), heads(1, 3, 7, 8), torch.rand(1, 1, 7, 7) > 0.3]],
        opset=opset,
    )


def test_the_mask_is_prepared_once_for_all_layers() -> None:
    def twice(q: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return attend(attend(q, q, q, attn_mask=m), q, q, attn_mask=m)

    result = assert_same(twice, heads(2, 3, 5, 8), open_rows(5, 5))
    kinds = [node.op_type for node in result.model.graph]
    assert kinds.count("ReduceMax") == 1
    assert kinds.count("Where") == 3  # the mask, and one per layer


def test_a_long_causal_mask_is_made_once() -> None:
    def twice(q: torch.Tensor) -> torch.Tensor:
        return attend(attend(q, q, q, is_causal=True), q, q, is_causal=True)

    result = assert_same(twice, heads(1, 1, 80, 4))
    assert sum(value.const_value.size for value in result.model.graph.initializers.values()) < 200
    assert [node.op_type for node in result.model.graph].count("Where") == 1


def test_dropout_is_random() -> None:
    assert_same(
        lambda q: attend(q, q, q, dropout_p=0.5),
        heads(2, 3, 5, 8),
        values=False,
        nodes=["RandomUniform"],
    )


def test_the_overloads_of_the_dispatcher() -> None:
    q = heads(2, 3, 5, 8)
    math_path: Any = torch.ops.aten._scaled_dot_product_attention_math
    cpu_path: Any = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    assert_same(lambda q: math_path(q, q, q, is_causal=True), q)
    assert_same(lambda q: cpu_path(q, q, q, scale=0.2), q)
    assert_same(lambda q: cpu_path(q, q, q, is_causal=True)[0], q)


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_multihead_attention(batch_first: bool, weights: bool) -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=batch_first).eval()
    x, y = torch.randn(3, 5, 8), torch.randn(3, 5, 8)
    assert_same(lambda x: layer(x, x, x, need_weights=weights), x)
    assert_same(lambda x, y: layer(x, y, y, need_weights=weights), x, y)


def test_multihead_attention_with_masks() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x, shut = torch.randn(3, 5, 8), torch.rand(3, 5) > 0.6
    shut[:, 0] = False
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    assert_same(lambda x, m: layer(x, x, x, key_padding_mask=m), x, shut)
    assert_same(lambda x, m: layer(x, x, x, attn_mask=m), x, causal)
    assert_same(lambda x, m, c: layer(x, x, x, key_padding_mask=m, attn_mask=c), x, shut, causal)


def native(*args: Any, **kwargs: Any) -> Any:
    return torch.ops.aten._native_multi_head_attention(*args, **kwargs)


@pytest.mark.parametrize("average", [True, False])
def test_native_multihead_attention(average: bool) -> None:
    x = torch.randn(3, 5, 8)
    weights = [torch.randn(24, 8), torch.randn(24), torch.randn(8, 8), torch.randn(8)]
    assert_same(lambda x, *w: native(x, x, x, 8, 2, *w, None, True, average), x, *weights)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("opset", [14, 20])
def test_encoder_layer(norm_first: bool, activation: str, opset: int) -> None:
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, batch_first=True, norm_first=norm_first, activation=activation
    ).eval()
    x = torch.randn(3, 5, 8)
    assert_same(
        layer, x, dynamic=({0: "batch", 1: "length"},), others=[[torch.randn(1, 7, 8)]], opset=opset
    )


def test_encoder_layer_with_masks() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x, shut = torch.randn(3, 5, 8), torch.rand(3, 5) > 0.6
    shut[:, 0] = False
    causal = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    assert_same(lambda x, m: layer(x, src_key_padding_mask=m), x, shut)
    assert_same(lambda x, m: layer(x, src_mask=m), x, causal)
    assert_same(lambda x, m, c: layer(x, src_key_padding_mask=m, src_mask=c), x, shut, causal)


def test_decoder_layer() -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    assert_same(layer, torch.randn(3, 5, 8), torch.randn(3, 7, 8))
