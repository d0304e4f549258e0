"""Every rung turns the same model into a graph that computes the same, with the same names."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn
from torch.utils import _pytree as pytree

from onnxpert.capture import capture, catalogue
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.types import Captured, CaptureFailed, InputKind, Request
from onnxpert.load import load

RUNGS = ["recorder", "torch.export", "torch.export strict"]


def captured_by(rung: str, model: Any, *args: Any, **options: Any) -> Captured:
    """One rung alone, under what `capture` puts around all of them."""
    loaded = load(Request(model, args, **options))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return catalogue()[rung].run(loaded)


class Program(fx.Interpreter):
    """Runs a captured graph; sizes that stand in it as symbols are those of the inputs."""

    def __init__(self, captured: Captured, sizes: dict[Any, int]) -> None:
        super().__init__(fx.GraphModule(captured.root, captured.root.graph))
        self.sizes = sizes

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_function(target, *pytree.tree_map(self.number, (args, kwargs)))

    def number(self, value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            return int(value.node.expr.xreplace(self.sizes))
        return value


def run(captured: Captured, *tensors: Tensor) -> list[Any]:
    """The captured graph as a program: its weights from itself, the user's inputs from here."""
    given = iter(tensors)
    values = []
    sizes = {}
    places = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    for place, entry in zip(places, captured.inputs, strict=True):
        values.append(next(given) if entry.kind is InputKind.USER else entry.tensor)
        for symbol, size in zip(place.meta["val"].shape, values[-1].shape, strict=True):
            if isinstance(symbol, torch.SymInt):
                sizes[symbol.node.expr] = size
    with torch.no_grad():
        return list(Program(captured, sizes).run(*values))


def assert_computes(captured: Captured, model: Any, *args: Tensor) -> None:
    with torch.no_grad():
        wanted = flatten_outputs(model(*args))
    assert captured.output_names == tuple(name for name, _ in wanted)
    for got, (_, want) in zip(run(captured, *args), wanted, strict=True):
        torch.testing.assert_close(got, want)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.register_buffer("scale", torch.rand(8))
        self.register_buffer("shift", torch.rand(8), persistent=False)

    def forward(self, x: Tensor) -> dict[str, Any]:
        hidden = self.encoder(x) * self.scale + self.shift
        return {"logits": hidden, "parts": (hidden.sum(-1), None, hidden * torch.tensor(2.0))}


@pytest.mark.parametrize("rung", RUNGS)
def test_a_rung_captures_what_the_model_computes(rung: str) -> None:
    model = Net()
    captured = captured_by(rung, model, torch.rand(3, 4))
    assert captured.strategy == rung
    assert_computes(captured, model, torch.rand(3, 4))


@pytest.mark.parametrize("rung", RUNGS)
def test_weights_carry_the_names_of_the_state_dict_and_are_not_copied(rung: str) -> None:
    model = Net()
    captured = captured_by(rung, model, torch.rand(3, 4))
    weights = {entry.name: entry for entry in captured.inputs if entry.kind is not InputKind.USER}
    for name, parameter in model.named_parameters():
        assert weights[name].kind is InputKind.PARAMETER
        assert weights[name].tensor.data_ptr() == parameter.data_ptr()
    for name in ("scale", "shift"):
        assert weights[name].kind is InputKind.BUFFER


@pytest.mark.parametrize("rung", RUNGS)
def test_nodes_know_their_module(rung: str) -> None:
    captured = captured_by(rung, Net(), torch.rand(3, 4))
    modules = [
        node.meta["module"]
        for node in captured.root.graph.nodes
        if node.target is torch.ops.aten.linear.default
    ]
    assert modules == ["encoder.0"]


@pytest.mark.parametrize("rung", RUNGS)
def test_asked_dimensions_are_open_and_others_are_not(rung: str) -> None:
    model = Net()
    # An example of size 1: torch would take it for a constant.
    captured = captured_by(rung, model, torch.rand(1, 4), dynamic_shapes=({0: "batch"},))
    places = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    ((rows, columns),) = [
        place.meta["val"].shape
        for place, entry in zip(places, captured.inputs, strict=True)
        if entry.kind is InputKind.USER
    ]
    assert isinstance(rows, torch.SymInt)
    assert columns == 4
    assert_computes(captured, model, torch.rand(6, 4))


@pytest.mark.parametrize("rung", RUNGS)
def test_a_guard_has_the_line_that_made_it(rung: str) -> None:
    class Guarded(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.shape[0] > 2:
                return x * 2
            return x

    captured = captured_by(rung, Guarded(), torch.rand(5, 4), dynamic_shapes=({0: "batch"},))
    (guard,) = [guard for guard in captured.guards if "> 2" in guard.expr]
    assert guard.location is not None
    assert guard.location.file == __file__
    assert guard.location.code == "if x.shape[0] > 2:"


@pytest.mark.parametrize("rung", RUNGS)
def test_bounds_are_passed_on(rung: str) -> None:
    class Short(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * 2 if x.shape[0] <= 16 else x

    sizes = {0: torch.export.Dim("batch", min=2, max=16)}
    captured = captured_by(rung, Short(), torch.rand(5, 4), dynamic_shapes=(sizes,))
    (size,) = [n.meta["val"].shape[0] for n in captured.root.graph.nodes if n.op == "placeholder"]
    assert size.node.shape_env.var_to_range[size.node.expr].upper == 16
    if rung == "recorder":
        assert not captured.guards  # what the user promised need not be assumed


@pytest.mark.parametrize("rung", RUNGS)
def test_a_number_that_varies_is_an_input(rung: str) -> None:
    class Shifted(nn.Module):
        def forward(self, x: Tensor, n: int) -> Tensor:
            return x + n

    captured = captured_by(
        rung, Shifted(), torch.rand(3), 7, dynamic_shapes=(None, torch.export.Dim.DYNAMIC)
    )
    users = [entry.name for entry in captured.inputs if entry.kind is InputKind.USER]
    assert users == ["x", "n"]


# ---- structure -----------------------------------------------------------------------------


@dataclass
class Batch:
    ids: Tensor
    mask: Tensor | None = None


class Structured(nn.Module):
    def forward(self, batch: Batch, extra: dict[str, list[Tensor]], scale: float = 1.0) -> Tensor:
        out = batch.ids * scale + extra["more"][1]
        return out if batch.mask is None else out * batch.mask


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("mask", [None, torch.rand(3)])
def test_nested_inputs(rung: str, mask: Tensor | None) -> None:
    a, b, c = torch.rand(3), torch.rand(3), torch.rand(3)
    model = Structured()
    captured = captured_by(rung, model, Batch(a, mask), {"more": [b, c]}, 3.0)
    users = [entry.name for entry in captured.inputs if entry.kind is InputKind.USER]
    wanted = [
        "batch_ids",
        *(["batch_mask"] if mask is not None else []),
        "extra_more_0",
        "extra_more_1",
    ]
    assert users == wanted
    tensors = [t for t in (a, mask, b, c) if t is not None]
    (got,) = run(captured, *tensors)
    torch.testing.assert_close(got, model(Batch(a, mask), {"more": [b, c]}, 3.0))


@pytest.mark.parametrize("rung", RUNGS)
def test_a_bound_method_brings_the_weights_of_its_module(rung: str) -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def encode(self, x: Tensor) -> Tensor:
            return self.layer(x).relu()

    model = Two()
    captured = captured_by(rung, model.encode, torch.rand(3, 4))
    names = {entry.name for entry in captured.inputs if entry.kind is InputKind.PARAMETER}
    assert names == {"layer.weight", "layer.bias"}


# ---- the order of trial --------------------------------------------------------------------


def test_the_recorder_comes_first_of_those_that_run_a_model() -> None:
    order = list(catalogue())
    assert (
        order.index("recorder") < order.index("torch.export") < order.index("torch.export strict")
    )
    captured = capture(load(Request(Net(), (torch.rand(3, 4),))))
    assert isinstance(captured, Captured)
    assert captured.strategy == "recorder"


def test_a_higher_order_operator_goes_to_the_next_rung() -> None:
    class Branch(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    model = Branch()
    captured = capture(load(Request(model, (torch.rand(3),))))
    assert isinstance(captured, Captured)
    assert captured.strategy == "torch.export"
    model(torch.rand(3))  # and what torch keeps of its own compiling is not spoilt


def test_a_compiled_part_is_recorded_as_its_python() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.compile(nn.Linear(4, 4))

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) + 1  # type: ignore[no-any-return]

    captured = capture(load(Request(Outer(), (torch.rand(3, 4),))))
    assert isinstance(captured, Captured)
    assert captured.strategy == "recorder"
    targets = [n.target for n in captured.root.graph.nodes if n.op == "call_function"]
    assert targets == [torch.ops.aten.linear.default, torch.ops.aten.add.Tensor]


def test_sides_that_no_file_can_hold_fail_on_every_rung() -> None:
    class Branch(nn.Module):
        def forward(self, x: Tensor) -> Any:
            if x.sum() > 0:
                return x + 1, x
            return (x - 1,)

    failed = capture(load(Request(Branch(), (torch.rand(3),))))
    assert isinstance(failed, CaptureFailed)
    assert failed.eager is None
    assert {name for name, _ in failed.attempts} >= set(RUNGS)
    assert failed.attempts[0][1].kind == "SidesDifferError"
    for _, failure in failed.attempts[1:]:
        assert failure.location is not None
        assert failure.location.file == __file__
        assert failure.location.code == "if x.sum() > 0:"


def test_an_input_that_the_model_refuses_ends_the_trial() -> None:
    failed = capture(load(Request(nn.Linear(4, 2), (torch.rand(3, 5),))))
    assert isinstance(failed, CaptureFailed)
    assert failed.eager is not None
    assert [name for name, _ in failed.attempts] == ["recorder"]


# ---- the user's model ----------------------------------------------------------------------


class Stateful(nn.Module):
    """Writes an attribute, a container and a buffer whenever it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(()))
        self.seen: list[int] = []
        self.last: Any = None

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.seen.append(1)
        self.last = self.layer(x)
        return self.last + self.count


@pytest.mark.parametrize("rung", RUNGS[:2])
def test_the_users_model_is_as_it_was(rung: str) -> None:
    model = Stateful()
    model.layer.bias.requires_grad_(False)
    before = {
        name: (value.clone(), value) for name, value in model.state_dict(keep_vars=True).items()
    }
    x = torch.rand(3, 4)
    captured = captured_by(rung, model, x)
    assert model.seen == []
    assert model.last is None
    assert {"seen", "last"} <= set(captured.written)
    writes = [n for n in captured.root.graph.nodes if n.target is torch.ops.aten.add_.Tensor]
    assert [node.args[0].op for node in writes] == ["placeholder"]
    for name, (copy, value) in before.items():
        assert model.state_dict(keep_vars=True)[name] is value
        assert torch.equal(copy, value)
    assert model.layer.weight.requires_grad
    assert not model.layer.bias.requires_grad
    assert model.training


def test_gradients_are_asked_for_again_after_a_failure() -> None:
    class Branch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Any:
            return x if self.layer(x).sum() > 0 else (x, -x)

    model = Branch()
    assert isinstance(capture(load(Request(model, (torch.rand(3, 4),)))), CaptureFailed)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_weights_may_be_fake() -> None:
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    with FakeTensorMode():
        model = nn.Sequential(nn.Linear(4, 1024), nn.BatchNorm1d(1024), nn.Linear(1024, 2)).eval()
    captured = capture(load(Request(model, (torch.rand(3, 4),), dynamic_shapes=({0: "batch"},))))
    assert isinstance(captured, Captured)
    weights = [entry for entry in captured.inputs if entry.kind is not InputKind.USER]
    assert len(weights) >= 8
    assert all(isinstance(entry.tensor, FakeTensor) for entry in weights)


def test_torchs_own_kernel_for_a_transformer_layer_is_taken_apart() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    captured = capture(load(Request(layer, (torch.rand(2, 3, 8),))))
    assert isinstance(captured, Captured)
    targets = {n.target for n in captured.root.graph.nodes if n.op == "call_function"}
    assert torch.ops.aten.layer_norm.default in targets
    assert torch.ops.aten._transformer_encoder_layer_fwd.default not in targets
    assert torch.backends.mha.get_fastpath_enabled()
