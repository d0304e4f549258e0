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
from onnxpert.lower.complex_pairs import REAL
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import concrete, expression, is_static

hop = torch.ops.higher_order


# ---- branches ------------------------------------------------------------------------------


@lowering(hop.cond)
def cond(
    op: Emitter, pred: Any, true_fn: fx.GraphModule, false_fn: fx.GraphModule, operands: Any
) -> tuple[ir.Value, ...]:
    expected = _expected(op)
    if isinstance(pred, bool):
        return _inlined(op, true_fn if pred else false_fn, operands)
    if not expected:  # a side that only prints: ONNX has nothing without an output
        return ()
    halves = any(getattr(one, "dtype", None) is torch.bfloat16 for one in expected)
    if op.opset < 16 and halves:
        raise Refusal(f"If of opset {op.opset} does not give bfloat16", 16)
    condition = op.scalar(pred, torch.bool)
    if op.rank(condition):  # torch takes one element in any shape
        condition = op.reshape(condition, ())
    if condition.const_value is not None:  # ONNX Runtime would decide it itself, and crash on some
        return _inlined(op, true_fn if condition.const_value.numpy() else false_fn, operands)
    branches = {}
    for name, graph in (("then_branch", true_fn), ("else_branch", false_fn)):
        body = op.scope()
        results = _walked(body, graph, operands)
        branches[name] = _graph(body, name, (), _outputs(body, results, expected))
    outputs = op.emit("If", condition, _outputs=len(expected), **_attributes(branches))
    return _described(op, outputs, expected)


# ---- loops ---------------------------------------------------------------------------------


@lowering(hop.while_loop)
def while_loop(
    op: Emitter,
    cond_fn: fx.GraphModule,
    body_fn: fx.GraphModule,
    carried_inputs: Sequence[Any],
    additional_inputs: Sequence[Any],
) -> tuple[ir.Value, ...]:
    expected = _expected(op)
    states = _examples(body_fn)[: len(carried_inputs)]
    start = [_typed(op, value, like) for value, like in zip(carried_inputs, states, strict=True)]
    first = _condition(_beside(op, op), cond_fn, (*start, *additional_inputs))
    body = op.scope()
    inputs = [_formal(body, "iteration", torch.int64), _formal(body, "go_on", torch.bool)]
    carried = [_formal_like(body, "carried", like) for like in states]
    results = _outputs(body, _walked(body, body_fn, (*carried, *additional_inputs)), states)
    # ONNX asks after a turn whether there is another one; torch asks before each.
    again = _condition(_beside(op, body), cond_fn, (*results, *additional_inputs))
    outputs = [*_outputs(body, [again], [None]), *results]
    graph = _graph(body, "body", (*inputs, *carried), outputs)
    final = op.emit(
        "Loop", None, first, *start, _outputs=len(start), **_attributes({"body": graph})
    )
    return _described(op, final, expected)


def _condition(op: Emitter, graph: fx.GraphModule, given: Sequence[Any]) -> ir.Value:
    (result,) = _walked(op, graph, given)
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
    expected = _expected(op)
    count = len(init)
    examples = _examples(graph)
    start = [_typed(op, value, like) for value, like in zip(init, examples[:count], strict=True)]
    body = op.scope()
    states = [_formal_like(body, "state", like) for like in examples[:count]]
    slices = [_formal_like(body, "slice", like) for like in examples[count : count + len(xs)]]
    results = _walked(body, graph, (*states, *slices, *others))
    outputs = _outputs(body, results, [*examples[:count], *expected[count:]])
    final = op.emit(
        "Scan",
        *start,
        *xs,
        num_scan_inputs=len(xs),
        _outputs=len(results),
        **_attributes({"body": _graph(body, "body", (*states, *slices), outputs)}),
    )
    return _described(op, final, expected)


@lowering(counted_loop)
def counted(
    op: Emitter,
    body: fx.GraphModule,
    count: Any,
    carried: Sequence[ir.Value],
    others: Sequence[Any],
) -> tuple[ir.Value, ...]:
    expected = _expected(op)
    if not expected:  # as above
        return ()
    states = _examples(body)[1 : 1 + len(carried)]
    start = [_typed(op, value, like) for value, like in zip(carried, states, strict=True)]
    inner = op.scope()
    turn, go_on = _formal(inner, "turn", torch.int64), _formal(inner, "go_on", torch.bool)
    formals = [_formal_like(inner, "carried", like) for like in states]
    results = _walked(inner, body, (turn, *formals, *others))
    outputs = _turn_outputs(inner, results, states, expected)
    graph = _graph(inner, "body", (turn, go_on, *formals), [_copy(inner, go_on), *outputs])
    trips, always = op.scalar(count, torch.int64), op.const(True)
    final = op.emit(
        "Loop", trips, always, *start, _outputs=len(results), **_attributes({"body": graph})
    )
    final = final if isinstance(final, tuple) else (final,)
    many = _described(op, final, expected)
    return (*many[: len(carried)], *(_with_sizes(op, value) for value in many[len(carried) :]))


@lowering(stopped_loop)
def stopped(
    op: Emitter,
    body: fx.GraphModule,
    go: Any,
    carried: Sequence[ir.Value],
    others: Sequence[Any],
) -> tuple[ir.Value, ...]:
    states = _examples(body)[1 : 1 + len(carried)]
    start = [_typed(op, value, like) for value, like in zip(carried, states, strict=True)]
    inner = op.scope()
    turn, go_on = _formal(inner, "turn", torch.int64), _formal(inner, "go_on", torch.bool)
    turned = _formal(inner, "turned", torch.int64)  # what the runtime counts it keeps to itself
    formals = [_formal_like(inner, "carried", like) for like in states]
    again, *results = _walked(inner, body, (turn, *formals, *others))
    expected = _expected(op)
    outputs = _turn_outputs(inner, results, states, expected[1:])
    said = [*_outputs(inner, [again], [None]), inner.Add(turn, inner.const(1)), *outputs]
    graph = _graph(inner, "body", (turn, go_on, turned, *formals), said)
    final = op.emit(
        "Loop",
        None,
        op.scalar(go, torch.bool),
        op.const(0),
        *start,
        _outputs=1 + len(results),
        **_attributes({"body": graph}),
    )
    final = final if isinstance(final, tuple) else (final,)
    many = _described(op, final, expected)
    kept = 1 + len(carried)
    return (*many[:kept], *(_with_sizes(op, value) for value in many[kept:]))


def _turn_outputs(
    inner: Emitter, results: Sequence[Any], states: Sequence[Any], expected: Sequence[Any]
) -> list[ir.Value]:
    """What a turn carries on and leaves behind; `expected` is what the loop makes of them."""
    count = len(states)
    outputs = _outputs(inner, results, [*states, *expected[count:]])
    for value, stacked in zip(outputs[count:], expected[count:], strict=True):
        # All that the runtime has to go by when there is no turn at all.
        sizes = [concrete(size) for size in stacked.shape[1:]]
        value.shape = ir.Shape([size if isinstance(size, int) else None for size in sizes])
    return outputs


def _with_sizes(op: Emitter, stacked: ir.Value) -> ir.Value:
    """After no turn at all the runtime takes sizes that it does not know for zero."""
    sizes = op.shape(stacked)
    if is_static(*sizes[1:]):
        return stacked
    # By its name: what is said to have these sizes already would be left as it is.
    named = op.Reshape(stacked, op.ints(sizes), allowzero=1 if op.opset >= 14 else None)
    return op.describe(named, sizes)


# ---- regions: their graph is walked where it stands ------------------------------------------


@lowering(hop.wrap_with_set_grad_enabled)
def wrap_with_set_grad_enabled(
    op: Emitter, enable_grad: bool, wrapped_func: fx.GraphModule, *args: Any
) -> tuple[Any, ...]:
    return _inlined(op, wrapped_func, args)


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
    return _inlined(op, _with_casts(wrapped_func, device_type, dtype, enabled), args)


@lowering(hop.wrap, hop.tag_activation_checkpoint, hop.wrap_activation_checkpoint)
def wrap(op: Emitter, function: fx.GraphModule, *args: Any, **options: Any) -> tuple[Any, ...]:
    return _inlined(op, function, args)


@lowering(hop.invoke_subgraph)
def invoke_subgraph(
    op: Emitter, subgraph: fx.GraphModule, identifier: Any, *operands: Any
) -> tuple[Any, ...]:
    return _inlined(op, subgraph, operands)


@lowering(hop.hints_wrapper)
def hints_wrapper(
    op: Emitter, body_fn: fx.GraphModule, args: Sequence[Any], kwargs: Any, hints: Any
) -> tuple[Any, ...]:
    return _inlined(op, body_fn, args)


@lowering(hop.strict_mode)
def strict_mode(op: Emitter, function: fx.GraphModule, operands: Sequence[Any]) -> tuple[Any, ...]:
    return _inlined(op, function, operands)


def _with_casts(
    graph: fx.GraphModule, device_type: str, dtype: torch.dtype | None, enabled: bool
) -> fx.GraphModule:
    """The region traced again under autocast, below which its casts are calls like any other."""
    examples = _examples(graph)
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


# ---- graphs and their values ---------------------------------------------------------------


def _inlined(op: Emitter, graph: fx.GraphModule, given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_walked(op, graph, given))


def _walked(op: Emitter, graph: fx.GraphModule, given: Sequence[Any]) -> list[Any]:
    """The results of a subgraph, its nodes written into `op`."""
    for example, value in zip(_examples(graph), given, strict=True):
        _bind(op, example, value)
    return op.shared.inline(op, graph, list(given))


def _beside(op: Emitter, home: Emitter) -> Emitter:
    """Writes into `home` and knows only what `op` knows: one graph, walked a second time, gives its
    symbols other meanings."""
    other = op.scope()
    other.nodes = home.nodes
    return other


def _bind(op: Emitter, example: Any, value: Any) -> None:
    """Symbols that only the subgraph knows are read off what it is given."""
    if isinstance(example, (torch.SymInt, torch.SymFloat)):
        symbol = expression(example)
        if symbol.is_Symbol and not op.knows(symbol):
            op.bind(symbol, op.scalar(value, _dtype(example)), None)
    elif isinstance(example, torch.Tensor) and isinstance(value, ir.Value):
        for axis, size in enumerate(example.shape):
            symbol = expression(size)
            if symbol.is_Symbol and not op.knows(symbol):
                op.bind(symbol, value, axis)


def _examples(graph: fx.GraphModule) -> list[Any]:
    return [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]


def _expected(op: Emitter) -> list[Any]:
    if not isinstance(op.out, (list, tuple)):
        raise Refusal("what it gives is not known")
    return list(op.out)


def _dtype(example: Any) -> torch.dtype | None:
    if isinstance(example, torch.Tensor):
        return REAL.get(example.dtype, example.dtype)
    if isinstance(example, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(example, torch.SymFloat):
        return torch.float64  # as size arithmetic has it
    return torch.int64 if isinstance(example, (int, torch.SymInt)) else None


def _typed(op: Emitter, value: Any, example: Any) -> ir.Value:
    if value is None:
        raise Refusal("None goes through a branch or a loop")
    return op.scalar(value, _dtype(example))


def _formal(op: Emitter, name: str, dtype: torch.dtype) -> ir.Value:
    value = ir.Value(
        name=op.shared.values.unique(name), type=ir.TensorType(TO_ONNX[dtype]), shape=ir.Shape([])
    )
    value.meta["shape"] = ()
    return value


def _formal_like(op: Emitter, name: str, example: Any) -> ir.Value:
    dtype = _dtype(example)
    if dtype is None:
        raise Refusal("a loop carries something that is neither a tensor nor an integer")
    value = _formal(op, name, dtype)
    if isinstance(example, torch.Tensor):
        value.shape = None  # it may change from turn to turn
        value.meta["shape"] = tuple(example.shape)
    return value


def _outputs(op: Emitter, results: Sequence[Any], examples: Sequence[Any]) -> list[ir.Value]:
    """The results as outputs of a body: each made inside it, in its dtype, and only once."""
    values = [
        _typed(op, result, example) for result, example in zip(results, examples, strict=True)
    ]
    inside = {id(output) for node in op.nodes for output in node.outputs}
    found: list[ir.Value] = []
    for value in values:
        first = id(value) in inside and all(value is not other for other in found)
        found.append(value if first else _copy(op, value))
    return found


def _copy(op: Emitter, value: ir.Value) -> ir.Value:
    # `op.Identity` would give the value itself, which is what an output must not be.
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.name = op.shared.nodes.unique("Identity")
    op.nodes.append(node)
    result = node.outputs[0]
    result.name = op.shared.values.unique(f"{value.name}_out")
    if value.dtype is not None:
        result.dtype = value.dtype
    result.meta.update({key: value.meta[key] for key in ("shape",) if key in value.meta})
    return result


def _graph(
    op: Emitter, name: str, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
) -> ir.Graph:
    return ir.Graph(inputs, outputs, nodes=op.nodes, name=op.shared.nodes.unique(name))


def _attributes(graphs: dict[str, ir.Graph]) -> dict[str, Any]:
    return {name: ir.AttrGraph(name, graph) for name, graph in graphs.items()}


def _described(op: Emitter, outputs: Any, expected: Sequence[Any]) -> tuple[ir.Value, ...]:
    many = outputs if isinstance(outputs, tuple) else (outputs,)
    for value, example in zip(many, expected, strict=True):
        dtype = _dtype(example)
        if isinstance(example, torch.Tensor):
            op.describe(value, tuple(example.shape), dtype)
            continue
        op.describe(value, (), dtype)
        if isinstance(example, (torch.SymInt, torch.SymFloat)) and expression(example).is_Symbol:
            op.bind(expression(example), value, None)
    return many
