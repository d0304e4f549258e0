"""torch's own `torch.onnx.ops`: calls that name the ONNX node they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.foreign import typed
from onnxpert.lower.lowering import lowering


@lowering("onnx_symbolic::_symbolic")
def symbolic(
    op: Emitter, inputs: Sequence[ir.Value | None], op_type: str, *_: Any, **said: Any
) -> ir.Value:
    """`torch.onnx.ops.symbolic("Relu", (x,), ...)`: the node, as it is said."""
    return _node(op, op_type, inputs, said)


@lowering("onnx_symbolic::_symbolic_multi_out")
def symbolic_multi_out(
    op: Emitter, inputs: Sequence[ir.Value | None], op_type: str, *_: Any, **said: Any
) -> Sequence[ir.Value]:
    return _node(op, op_type, inputs, said)


def _node(
    op: Emitter, op_type: str, inputs: Sequence[ir.Value | None], said: dict[str, Any]
) -> Any:
    many = isinstance(op.out, (list, tuple))
    looks = op.out if many else [op.out]
    domain = said.get("domain") or ""
    values = op.emit(
        op_type,
        *inputs,
        _domain="" if domain == "ai.onnx" else domain,
        _version=said.get("version"),
        _outputs=len(looks),
        **_attributes(said),
    )
    return typed(values, looks, many=many)


def _attributes(said: dict[str, Any]) -> dict[str, Any]:
    """torch keeps them as flat lists of one type each, and where each one lies."""
    kept = {"i": said["attr_ints"], "f": said["attr_floats"], "s": said["attr_strs"]}
    found = {}
    for name, kind, (start, end) in zip(
        said["attr_keys"], said["attr_types"], said["attr_pos"], strict=True
    ):
        values = kept[kind[0]][start:end]
        found[name] = list(values) if len(kind) == 2 else values[0]
    return found


@lowering("onnx::RotaryEmbedding", since=23)
def rotary_embedding(
    op: Emitter,
    x: ir.Value,
    cos_cache: ir.Value,
    sin_cache: ir.Value,
    position_ids: ir.Value | None = None,
    *,
    interleaved: bool = False,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> ir.Value:
    return op.RotaryEmbedding(
        x,
        cos_cache,
        sin_cache,
        position_ids,
        interleaved=int(interleaved),
        num_heads=num_heads or None,
        rotary_embedding_dim=rotary_embedding_dim or None,
    )


@lowering("onnx::Attention", since=23)
def attention(
    op: Emitter,
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    attn_mask: ir.Value | None = None,
    past_key: ir.Value | None = None,
    past_value: ir.Value | None = None,
    *,
    is_causal: bool = False,
    kv_num_heads: int = 0,
    q_num_heads: int = 0,
    qk_matmul_output_mode: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> Sequence[ir.Value]:
    values = op.emit(
        "Attention",
        q,
        k,
        v,
        attn_mask,
        past_key,
        past_value,
        _outputs=4,
        is_causal=int(is_causal),
        kv_num_heads=kv_num_heads or None,
        q_num_heads=q_num_heads or None,
        qk_matmul_output_mode=qk_matmul_output_mode or None,
        scale=scale,
        softcap=softcap or None,
        softmax_precision=softmax_precision,
    )
    return typed(values, op.out, many=True)
