"""Higher-order operators: branches, loops and regions that hold a graph of their own.

A branch sees the values around it, so ONNX's If takes no inputs; what a loop carries from turn to
turn has to be passed by name. Tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch import fx
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import make_fx

from onnxpert.core.loops import counted_loop, stopped_loop
from onnxpert.lower import subgraphs as sub
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.reshaping import TOLD
from onnxpert.lower.symbols import concrete, is_static

hop = torch.ops.higher_order


# ---- branches ------------------------------------------------------------------------------


@lowering(hop.cond)
def cond(
    op: Emitter, pred: Any, true_fn: fx.GraphModule, false_fn: fx.GraphModule, operands: Any
) -> tuple[ir.Value, ...]:
    expected = sub.expected(op)
    if isinstance(pred, bool):
        return sub.inlined(op, true_fn if pred else false_fn, operands)
    if not expected:  # a side that only prints: ONNX has nothing without an output
        return ()
    halves = any(getattr(one, "dtype", None) is torch.bfloat16 for one in expected)
    if op.opset < 16 and halves:
        raise Refusal(f"If of opset {op.opset} does not give bfloat16", 16)
    condition = op.scalar(pred, torch.bool)
    if op.rank(condition):  # torch takes one element in any shape
        condition = op.reshape(condition, ())
    if condition.const_value is not None:  # ONNX Runtime would decide it itself, and crash on some
        return sub.inlined(op, true_fn if condition.const_value.numpy() else false_fn, operands)
    branches = {}
    for name, graph in (("then_branch", true_fn), ("else_branch", false_fn)):
        body = op.scope()
        results = sub.walked(body, graph, operands)
        branches[name] = sub.graph(body, name, (), sub.outputs(body, results, expected))
    outputs = op.emit("If", condition, _outputs=len(expected), **sub.attributes(branches))
    return sub.described(op, outputs, expected)


# ---- loops ---------------------------------------------------------------------------------


@lowering(hop.while_loop)
def while_loop(
    op: Emitter,
    cond_fn: fx.GraphModule,
    body_fn: fx.GraphModule,
    carried_inputs: Sequence[Any],
    additional_inputs: Sequence[Any],
) -> tuple[ir.Value, ...]:
    expected = sub.expected(op)
    states = sub.examples(body_fn)[: len(carried_inputs)]
    start = [sub.typed(op, value, like) for value, like in zip(carried_inputs, states, strict=True)]
    first = _condition(sub.beside(op, op), cond_fn, (*start, *additional_inputs))
    body = op.scope()
    inputs = [sub.formal(body, "iteration", torch.int64), sub.formal(body, "go_on", torch.bool)]
    carried = [sub.formal_like(body, "carried", like) for like in states]
    results = sub.outputs(body, sub.walked(body, body_fn, (*carried, *additional_inputs)), states)
    # ONNX asks after a turn whether there is another one; torch asks before each.
    again = _condition(sub.beside(op, body), cond_fn, (*results, *additional_inputs))
    outputs = [*sub.outputs(body, [again], [None]), *results]
    graph = sub.graph(body, "body", (*inputs, *carried), outputs)
    final = op.emit(
        "Loop", None, first, *start, _outputs=len(start), **sub.attributes({"body": graph})
    )
    return sub.described(op, final, expected)


def _condition(op: Emitter, graph: fx.GraphModule, given: Sequence[Any]) -> ir.Value:
    (result,) = sub.walked(op, graph, given)
    condition = op.scalar(result, torch.bool)
    return op.reshape(condition, ()) if op.rank(condition) else condition


@lowering(hop.scan)
def scan(
    op: Emitter,
    combine_fn: fx.GraphModule,
    init: Sequence[ir.Value],
    xs: Sequence[ir.Value],
    additional_inputs: Sequence[Any] = (),
) -> tuple[ir.Value, ...]:
    return _scanned(op, combine_fn, init, xs, additional_inputs)


@lowering(hop.map_impl)
def map_impl(
    op: Emitter, f: fx.GraphModule, xs: Sequence[ir.Value], pos_args: Sequence[Any] = ()
) -> tuple[ir.Value, ...]:
    return _scanned(op, f, (), xs, pos_args)


def _scanned(
    op: Emitter,
    graph: fx.GraphModule,
    init: Sequence[ir.Value],
    xs: Sequence[ir.Value],
    others: Sequence[Any],
) -> tuple[ir.Value, ...]:
    """Scan over the first axis of `xs`: states first, then a slice of each, then the others."""
    expected = sub.expected(op)
    count = len(init)
    examples = sub.examples(graph)
    start = [sub.typed(op, value, like) for value, like in zip(init, examples[:count], strict=True)]
    body = op.scope()
    states = [sub.formal_like(body, "state", like) for like in examples[:count]]
    slices = [sub.formal_like(body, "slice", like) for like in examples[count : count + len(xs)]]
    results = sub.walked(body, graph, (*states, *slices, *others))
    outputs = sub.outputs(body, results, [*examples[:count], *expected[count:]])
    final = op.emit(
        "Scan",
        *start,
        *xs,
        num_scan_inputs=len(xs),
        _outputs=len(results),
        **sub.attributes({"body": sub.graph(body, "body", (*states, *slices), outputs)}),
    )
    return sub.described(op, final, expected)


@lowering(counted_loop)
def counted(
    op: Emitter,
    body: fx.GraphModule,
    count: Any,
    carried: Sequence[ir.Value],
    others: Sequence[Any],
) -> tuple[ir.Value, ...]:
    expected = sub.expected(op)
    if not expected:  # as above
        return ()
    states = sub.examples(body)[1 : 1 + len(carried)]
    start = [sub.typed(op, value, like) for value, like in zip(carried, states, strict=True)]
    inner = op.scope()
    turn, go_on = sub.formal(inner, "turn", torch.int64), sub.formal(inner, "go_on", torch.bool)
    formals = [sub.formal_like(inner, "carried", like) for like in states]
    results = sub.walked(inner, body, (turn, *formals, *others))
    outputs = _turn_outputs(inner, results, states, expected)
    graph = sub.graph(inner, "body", (turn, go_on, *formals), [sub.copy(inner, go_on), *outputs])
    trips, always = op.scalar(count, torch.int64), op.const(True)
    final = op.emit(
        "Loop", trips, always, *start, _outputs=len(results), **sub.attributes({"body": graph})
    )
    final = final if isinstance(final, tuple) else (final,)
    many = sub.described(op, final, expected)
    return _with_sizes(op, many, expected, len(carried))


@lowering(stopped_loop)
def stopped(
    op: Emitter,
    body: fx.GraphModule,
    go: Any,
    carried: Sequence[ir.Value],
    others: Sequence[Any],
) -> tuple[ir.Value, ...]:
    states = sub.examples(body)[1 : 1 + len(carried)]
    start = [sub.typed(op, value, like) for value, like in zip(carried, states, strict=True)]
    inner = op.scope()
    turn, go_on = sub.formal(inner, "turn", torch.int64), sub.formal(inner, "go_on", torch.bool)
    turned = sub.formal(inner, "turned", torch.int64)  # what the runtime counts it keeps to itself
    formals = [sub.formal_like(inner, "carried", like) for like in states]
    again, *results = sub.walked(inner, body, (turn, *formals, *others))
    expected = sub.expected(op)
    outputs = _turn_outputs(inner, results, states, expected[1:])
    said = [*sub.outputs(inner, [again], [None]), inner.Add(turn, inner.const(1)), *outputs]
    graph = sub.graph(inner, "body", (turn, go_on, turned, *formals), said)
    final = op.emit(
        "Loop",
        None,
        op.scalar(go, torch.bool),
        op.const(0),
        *start,
        _outputs=1 + len(results),
        **sub.attributes({"body": graph}),
    )
    final = final if isinstance(final, tuple) else (final,)
    many = sub.described(op, final, expected)
    return _with_sizes(op, many, expected, 1 + len(carried))


def _turn_outputs(
    inner: Emitter, results: Sequence[Any], states: Sequence[Any], expected: Sequence[Any]
) -> list[ir.Value]:
    """What a turn carries on and leaves behind; `expected` is what the loop makes of them."""
    count = len(states)
    outputs = sub.outputs(inner, results, [*states, *expected[count:]])
    for value, stacked in zip(outputs[count:], expected[count:], strict=True):
        # All that the runtime has to go by when there is no turn at all.
        sizes = [concrete(size) for size in sub.sizes_in_file(stacked)[1:]]
        value.shape = ir.Shape([size if isinstance(size, int) else None for size in sizes])
    return outputs


def _with_sizes(
    op: Emitter, many: Sequence[ir.Value], expected: Sequence[Any], kept: int
) -> tuple[ir.Value, ...]:
    """After no turn at all the runtime takes sizes that it does not know for zero: those of what the
    turns leave behind, which comes after what they carry on."""

    def named(stacked: ir.Value, example: torch.Tensor) -> ir.Value:
        sizes = sub.sizes_in_file(example)
        if is_static(*sizes[1:]):
            return stacked
        # By its name: what is said to have these sizes already would be left as it is.
        found = op.Reshape(stacked, op.ints(sizes), allowzero=1 if op.opset >= 14 else None)
        found.meta[TOLD] = True
        return op.describe(found, tuple(example.shape))

    return (*many[:kept], *map(named, many[kept:], expected[kept:]))


# ---- regions: their graph is walked where it stands ------------------------------------------


@lowering(hop.wrap_with_set_grad_enabled)
def wrap_with_set_grad_enabled(
    op: Emitter, enable_grad: bool, wrapped_func: fx.GraphModule, *args: Any
) -> tuple[Any, ...]:
    return sub.inlined(op, wrapped_func, args)


@lowering(hop.wrap_with_autocast)
def wrap_with_autocast(
    op: Emitter,
    device_type: str,
    dtype: torch.dtype | None,
    enabled: bool,
    cache_enabled: bool | None,
    wrapped_func: fx.GraphModule,
    *args: Any,
) -> tuple[Any, ...]:
    return sub.inlined(op, _with_casts(wrapped_func, device_type, dtype, enabled), args)


@lowering(hop.wrap, hop.tag_activation_checkpoint, hop.wrap_activation_checkpoint)
def wrap(op: Emitter, function: fx.GraphModule, *args: Any, **options: Any) -> tuple[Any, ...]:
    return sub.inlined(op, function, args)


@lowering(hop.invoke_subgraph)
def invoke_subgraph(
    op: Emitter, subgraph: fx.GraphModule, identifier: Any, *operands: Any
) -> tuple[Any, ...]:
    return sub.inlined(op, subgraph, operands)


@lowering(hop.hints_wrapper)
def hints_wrapper(
    op: Emitter, body_fn: fx.GraphModule, args: Sequence[Any], kwargs: Any, hints: Any
) -> tuple[Any, ...]:
    return sub.inlined(op, body_fn, args)


@lowering(hop.strict_mode)
def strict_mode(op: Emitter, function: fx.GraphModule, operands: Sequence[Any]) -> tuple[Any, ...]:
    return sub.inlined(op, function, operands)


def _with_casts(
    graph: fx.GraphModule, device_type: str, dtype: torch.dtype | None, enabled: bool
) -> fx.GraphModule:
    """The region traced again under autocast, below which its casts are calls like any other."""
    examples = sub.examples(graph)
    mode = next(value.fake_mode for value in examples if hasattr(value, "fake_mode"))

    def run(*given: Any) -> Any:
        return fx.Interpreter(graph).run(*given)

    with (
        torch.no_grad(),
        mode,
        enable_python_dispatcher(),
        fx.traceback.preserve_node_meta(),
        torch.autocast(device_type, dtype=dtype, enabled=enabled, cache_enabled=False),
    ):
        return make_fx(run, _allow_non_fake_inputs=True)(*examples)
