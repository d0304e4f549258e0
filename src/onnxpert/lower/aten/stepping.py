"""Recurrent layers as a Scan over time: for projections, which ONNX does not know, and for float64,
which ONNX Runtime's recurrent operators do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir

from onnxpert.lower.aten.cells import gru_step, lstm_step
from onnxpert.lower.aten.linear import matmul, swapped
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.symbols import Size

# (body, the input's share of the gates, states) -> new states; the first one is the output.
Step = Callable[[Emitter, ir.Value, Sequence[ir.Value]], Sequence[ir.Value]]
Weights = Sequence[ir.Value]


def lstm_stepper(op: Emitter, weights: Weights, has_biases: bool) -> tuple[ir.Value | None, Step]:
    """What is added to the gates of every step, and the step."""
    recurrence = swapped(op, weights[1])
    projection = swapped(op, weights[-1]) if len(weights) % 2 else None

    def step(body: Emitter, gates: ir.Value, states: Sequence[ir.Value]) -> Sequence[ir.Value]:
        total = body.Add(gates, matmul(body, states[0], recurrence))
        out, cell = lstm_step(body, total, states[1])
        return (out if projection is None else matmul(body, out, projection)), cell

    return op.Add(weights[2], weights[3]) if has_biases else None, step


def gru_stepper(op: Emitter, weights: Weights, has_biases: bool) -> tuple[ir.Value | None, Step]:
    recurrence = swapped(op, weights[1])

    def step(body: Emitter, gates: ir.Value, states: Sequence[ir.Value]) -> Sequence[ir.Value]:
        own = matmul(body, states[0], recurrence)
        if has_biases:
            own = body.Add(own, weights[3])
        return (gru_step(body, gates, own, states[0]),)

    return weights[2] if has_biases else None, step


def plain_stepper(
    activation: str,
) -> Callable[[Emitter, Weights, bool], tuple[ir.Value | None, Step]]:
    def stepper(op: Emitter, weights: Weights, has_biases: bool) -> tuple[ir.Value | None, Step]:
        recurrence = swapped(op, weights[1])

        def step(body: Emitter, gates: ir.Value, states: Sequence[ir.Value]) -> Sequence[ir.Value]:
            return (body.emit(activation, body.Add(gates, matmul(body, states[0], recurrence))),)

        return op.Add(weights[2], weights[3]) if has_biases else None, step

    return stepper


def stepped(
    op: Emitter,
    x: ir.Value,
    hx: Sequence[ir.Value],
    layers: Sequence[Sequence[Weights]],
    has_biases: bool,
    stepper: Callable[[Emitter, Weights, bool], tuple[ir.Value | None, Step]],
) -> tuple[ir.Value, ...]:
    """A stack of layers on (time, batch, features); `layers` hold the weights per direction."""
    each = [op.split(state, [1] * (len(layers) * len(layers[0])), 0) for state in hx]
    ends: list[Sequence[ir.Value]] = []
    for directions in layers:
        sequences = []
        for reverse, weights in enumerate(directions):
            states = [op.squeeze(state[len(ends)], 0) for state in each]
            added, step = stepper(op, weights, has_biases)
            # What does not depend on the state is one product for the whole sequence.
            gates = matmul(op, x, swapped(op, weights[0]))
            if added is not None:
                gates = op.Add(gates, added)
            y, *last = scanned(op, gates, states, step, bool(reverse))
            sequences.append(y)
            ends.append([op.unsqueeze(value, 0) for value in last])
        x = sequences[0] if len(sequences) == 1 else op.Concat(*sequences, axis=-1)
    joined = (
        values[0] if len(values) == 1 else op.Concat(*values, axis=0)
        for values in zip(*ends, strict=True)
    )
    return x, *joined


def scanned(
    op: Emitter, gates: ir.Value, states: Sequence[ir.Value], step: Step, reverse: bool
) -> tuple[ir.Value, ...]:
    time, *slice_shape = op.shape(gates)
    body = op.scope()
    inputs = [_formal(body, "state", state, op.shape(state)) for state in states]
    inputs.append(_formal(body, "gates", gates, slice_shape))
    results = step(body, inputs[-1], inputs[:-1])
    outputs = [*results, _copy(body, results[0])]
    graph = ir.Graph(inputs, outputs, nodes=body.nodes, name=op.shared.nodes.unique("step"))
    way = [1] if reverse else None
    *last, y = op.emit(
        "Scan",
        *states,
        gates,
        num_scan_inputs=1,
        scan_input_directions=way,
        scan_output_directions=way,
        body=ir.AttrGraph("body", graph),
        _outputs=len(states) + 1,
    )
    dtype = op.dtype(gates)
    for value, state in zip(last, states, strict=True):
        op.describe(value, op.shape(state), dtype)
    return op.describe(y, (time, *op.shape(states[0])), dtype), *last


def _formal(op: Emitter, name: str, like: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    dtype = TO_ONNX[op.dtype(like)]
    value = ir.Value(name=op.shared.values.unique(name), type=ir.TensorType(dtype))
    return op.describe(value, sizes)


def _copy(op: Emitter, value: ir.Value) -> ir.Value:
    # A body gives each value once, and `op.Identity` would give the value itself.
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.name = op.shared.nodes.unique("Identity")
    op.nodes.append(node)
    result = node.outputs[0]
    result.name = op.shared.values.unique("sequence")
    return op.describe(result, op.shape(value), op.dtype(value))
