"""Branches, loops and regions, at values and sizes on both sides of every condition."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from onnxpert.capture import capture
from onnxpert.core.types import Captured, Lowered, Request
from onnxpert.load import load
from onnxpert.lower import lower
from tests.lower.same import assert_same, lowered

X = torch.rand(3, 4)
SMALL, LARGE = torch.rand(1, 4) - 2, torch.rand(7, 4) + 2
ROWS = ({0: "rows"},)


class Branch(nn.Module):
    """A branch on a value, with a weight and an outer value that the branches see."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        shift = x * 0.5
        return torch.cond(x.sum() > 0, lambda x: self.layer(x) + shift, lambda x: shift - 1, (x,))


class Nested(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        def positive(x: Tensor) -> Tensor:
            return torch.cond(x.mean() > 1, lambda x: x.exp(), lambda x: x + 10, (x,))

        return torch.cond(x.sum() > 0, positive, lambda x: x.abs(), (x,)) * 2


class Several(nn.Module):
    """Outputs of two dtypes; one branch gives its input back, and one value twice."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = x + 1
        return torch.cond(
            x.sum() > 0,
            lambda x, y: (x.clone(), y.clone(), x.argmax(-1)),
            lambda x, y: (x * y, x * y, x.argmin(-1)),
            (x, y),
        )


class BySize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.shape[0] > 4, lambda x: x * 2, lambda x: x - 1, (x,))


class While(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def go_on(step: Tensor, x: Tensor) -> Tensor:
            return (x.sum() < 40) & (step < 20)

        def turn(step: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return step + 1, x * 1.5 + self.weight

        found: tuple[Tensor, Tensor] = torch._higher_order_ops.while_loop(
            go_on, turn, (torch.zeros((), dtype=torch.int64), x)
        )
        return found


class WhileInt(nn.Module):
    """The state is a Python number, and how often it goes round is a size."""

    def forward(self, x: Tensor) -> tuple[Any, Tensor]:
        found: tuple[Any, Tensor] = torch._higher_order_ops.while_loop(
            lambda i, x: i < x.shape[0], lambda i, x: (i + 1, x + i), (0, x)
        )
        return found


class Scan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def step(state: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            new = torch.tanh(self.cell(row) + state)
            return new, new * 2

        return scan(step, torch.zeros(4), x, dim=0)  # type: ignore[no-any-return]


class Backwards(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def step(state: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
            return state + row, state * row

        return scan(step, torch.ones(4), x, dim=0, reverse=True)  # type: ignore[no-any-return]


class Map(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        from torch._higher_order_ops.map import map as each

        return each(lambda row, y: row.sin() * y, x, y)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("model", "node"),
    [
        (Branch(), "If"),
        (Nested(), "If"),
        (Several(), "If"),
        (BySize(), "If"),
        (While(), "Loop"),
        (WhileInt(), "Loop"),
        (Scan(), "Scan"),
        (Backwards(), "Scan"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else value,
)
def test_control_flow(model: nn.Module, node: str) -> None:
    assert_same(model.eval(), X, dynamic=ROWS, others=[[SMALL], [LARGE]], nodes=[node])


def test_map() -> None:
    y = torch.rand(4)
    assert_same(Map(), X, y, dynamic=({0: "rows"}, None), others=[[LARGE, y]], nodes=["Scan"])


def test_control_flow_at_an_older_opset() -> None:
    assert_same(Branch().eval(), X, dynamic=ROWS, others=[[SMALL]], opset=14, nodes=["If"])
    assert_same(WhileInt(), X, dynamic=ROWS, others=[[SMALL]], opset=14, nodes=["Loop"])


def test_a_weight_inside_a_branch_keeps_its_name() -> None:
    found = lowered(Branch().eval(), [X])
    assert {"layer.weight", "layer.bias"} <= set(found.model.graph.initializers)


def test_no_value_is_named_twice() -> None:
    graph = lowered(Nested(), [X]).model.graph
    names = [value.name for node in graph.all_nodes() for value in node.outputs]
    assert len(names) == len(set(names))
    assert sum(node.op_type == "If" for node in graph.all_nodes()) == 2


def _eigenvalues(x: Tensor) -> Tensor:
    return torch.linalg.eigvals(x).real.clone()


def test_a_missing_operator_inside_a_branch_is_named() -> None:
    class Branches(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 0, _eigenvalues, lambda x: x[0] * 1, (x,))

    captured = capture(load(Request(Branches(), (torch.rand(3, 3),))))
    assert isinstance(captured, Captured)
    (missing,) = lower(captured, opset=20).unsupported
    assert missing.op == "aten.linalg_eigvals"


# ---- regions -------------------------------------------------------------------------------


class Gradients(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            a = self.layer(x) * x.shape[0]
        return self.layer(a) + a


class Autocast(nn.Module):
    """Products in half precision, whatever their inputs are."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.float16):
            a = self.layer(x)
            a = torch.softmax(a @ a.mT, -1)
        return a.float() + 1


def as_program(model: nn.Module) -> tuple[torch.export.ExportedProgram, Lowered]:
    rows = torch.export.Dim("rows", min=1, max=64)
    program = torch.export.export(model, (X,), dynamic_shapes=({0: rows},))
    captured = capture(load(Request(program)))
    assert isinstance(captured, Captured)
    return program, lower(captured, opset=20)


@pytest.mark.parametrize(
    ("model", "region", "atol"),
    [(Gradients(), "wrap_with_set_grad_enabled", 1e-5), (Autocast(), "wrap_with_autocast", 1e-2)],
)
def test_a_region_is_walked_where_it_stands(model: nn.Module, region: str, atol: float) -> None:
    program, found = as_program(model.eval())
    assert region in {str(node.target).rpartition(".")[2] for node in program.graph.nodes}
    assert not found.unsupported
    session = onnxruntime.InferenceSession(ir.to_proto(found.model).SerializeToString())
    for x in (X, SMALL, LARGE):
        (got,) = session.run(None, {"x": x.numpy()})
        with torch.no_grad():
            torch.testing.assert_close(torch.from_numpy(got), model(x), atol=atol, rtol=1e-3)


def test_autocast_casts_what_it_should() -> None:
    _, found = as_program(Autocast().eval())
    products = [node for node in found.model.graph if node.op_type in ("MatMul", "Gemm")]
    assert [node.outputs[0].dtype for node in products] == [ir.DataType.FLOAT16] * 2


class Settled(nn.Module):
    """What the branch is about is a constant, which nobody says to Python."""

    def __init__(self) -> None:
        super().__init__()
        self.on: Tensor
        self.register_buffer("on", torch.tensor(True))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(self.on, lambda x: x + 1, lambda x: x - 1, (x,))


def test_a_branch_on_a_constant_is_its_side() -> None:
    assert "If" not in [node.op_type for node in lowered(Settled(), [X]).model.graph]
    assert_same(Settled(), X)
