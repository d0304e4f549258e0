"""Exported programs and TorchScript as models: their own graphs, names and sizes."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from onnxpert.capture import capture
from onnxpert.core.types import Captured, CaptureFailed, InputKind, Request
from onnxpert.load import load
from tests.capture.test_rungs import Net, assert_computes, run

BATCH = ({0: Dim("batch", min=1, max=64)},)


def captured(model: Any, *args: Any, **options: Any) -> Captured:
    found = capture(load(Request(model, args, **options)))
    assert isinstance(found, Captured), found
    return found


def shape(found: Captured, name: str) -> tuple[Any, ...]:
    places = [node for node in found.root.graph.nodes if node.op == "placeholder"]
    (place,) = [p for p, e in zip(places, found.inputs, strict=True) if e.name == name]
    return tuple(place.meta["val"].shape)


# ---- exported programs ---------------------------------------------------------------------


def decomposed(program: ExportedProgram) -> ExportedProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch 2.13 calls something of its own deprecated
        return program.run_decompositions()


@pytest.fixture(params=["training", "core ATen", "file"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[nn.Module, ExportedProgram]:
    model = Net().eval()
    made = torch.export.export(model, (torch.rand(3, 4),), dynamic_shapes=BATCH)
    if request.param == "core ATen":
        made = decomposed(made)
    if request.param == "file":
        torch.export.save(made, tmp_path / "model.pt2")
        made = torch.export.load(tmp_path / "model.pt2")
    return model, made


def test_a_program_is_its_own_graph(program: tuple[nn.Module, ExportedProgram]) -> None:
    model, made = program
    found = captured(made)
    assert found.strategy == "exported program"
    assert_computes(found, model, torch.rand(3, 4))
    assert_computes(found, model, torch.rand(6, 4))


def test_a_program_keeps_its_names_and_sizes(program: tuple[nn.Module, ExportedProgram]) -> None:
    model, made = program
    found = captured(made)
    kinds = {entry.name: entry.kind for entry in found.inputs}
    for name, _ in model.named_parameters():
        assert kinds[name] is InputKind.PARAMETER
    assert kinds["scale"] is kinds["shift"] is InputKind.BUFFER
    assert kinds["x"] is InputKind.USER
    rows, columns = shape(found, "x")
    assert isinstance(rows, torch.SymInt)
    assert columns == 4


def test_the_users_program_is_not_changed() -> None:
    made = torch.export.export(Net().eval(), (torch.rand(3, 4),), dynamic_shapes=BATCH)
    before = str(made)
    captured(made)
    assert str(made) == before


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        x.mul_(2)
        return x + self.count


@pytest.mark.parametrize("core", [False, True])
def test_writes_stay_in_the_graph_and_out_of_the_outputs(core: bool) -> None:
    made = torch.export.export(Counter(), (torch.rand(3),))
    made = decomposed(made) if core else made
    found = captured(made)
    assert found.output_names == ("",)
    written = {
        node.args[0].name: node.target
        for node in found.root.graph.nodes
        if node.op == "call_function" and node.target._schema.is_mutable
    }
    assert len(written) == 2
    if core:
        assert found.written == ("count",)
        assert set(written.values()) == {torch.ops.aten.copy_.default}
    x = torch.rand(3)
    (got,) = run(found, x.clone())
    torch.testing.assert_close(got, x * 2 + 1)


def test_a_program_with_structure_and_constants() -> None:
    class Structured(nn.Module):
        def forward(self, pair: tuple[Tensor, Tensor], *, n: int, flag: bool) -> dict[str, Any]:
            total = pair[0] + pair[1] * n if flag else pair[0]
            return {"total": total, "nothing": None, "twice": [total, total]}

    a, b = torch.rand(3), torch.rand(3)
    made = torch.export.export(Structured(), ((a, b),), {"n": 3, "flag": True})
    found = captured(made)
    users = [entry.name for entry in found.inputs if entry.kind is InputKind.USER]
    assert users == ["pair_0", "pair_1"]
    assert found.output_names == ("total", "twice_0", "twice_1")
    for got in run(found, a, b):
        torch.testing.assert_close(got, a + b * 3)


def test_a_number_that_a_program_leaves_open_is_an_input() -> None:
    class Shifted(nn.Module):
        def forward(self, x: Tensor, n: int) -> Tensor:
            return x + n

    made = torch.export.export(Shifted(), (torch.rand(3), 7), dynamic_shapes=(None, Dim.DYNAMIC))
    found = captured(made)
    assert [entry.name for entry in found.inputs] == ["x", "n"]
    assert found.loaded is not None
    assert found.loaded.leaves[1].scalar is not None


# ---- TorchScript ---------------------------------------------------------------------------


class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.norm = nn.BatchNorm1d(4)
        self.times = 3

    def forward(self, x: Tensor, scale: int = 2) -> tuple[Tensor, Tensor]:
        parts: list[Tensor] = []
        for layer in self.layers:
            x = torch.relu(layer(x))
            parts.append(x)
        for i in range(self.times):
            x = x + i * scale
        if x.size(0) > 100:
            x = x * 2
        return self.norm(x), torch.cat(parts, 1).view(x.size(0), -1, 2)


class Reshaped(nn.Module):
    """Sizes as a trace keeps them: as tensors, with arithmetic."""

    def forward(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0] * 2, x.shape[1] // 2) + torch.arange(x.shape[1] // 2)


def saved(script: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    return torch.jit.load(file)


def test_a_scripted_model_with_open_sizes() -> None:
    model = torch.jit.script(Scripted().eval())
    for form in (model, saved(model)):
        found = captured(form, torch.rand(3, 4), dynamic_shapes=({0: "batch"},))
        assert found.strategy == "torchscript"
        assert isinstance(shape(found, "x")[0], torch.SymInt)
        assert_computes(found, model, torch.rand(6, 4))
        names = {entry.name for entry in found.inputs if entry.kind is not InputKind.USER}
        assert {"layers.0.weight", "layers.1.bias", "norm.running_mean"} <= names


def test_a_guard_in_a_script_has_its_line() -> None:
    model = torch.jit.script(Scripted().eval())
    found = captured(model, torch.rand(3, 4), dynamic_shapes=({0: "batch"},))
    (branch,) = found.branches
    for each in (branch, *found.guards):
        assert each.location is not None
        assert (each.location.file, each.location.code) == (__file__, "if x.size(0) > 100:")


def test_a_traced_model_with_open_sizes() -> None:
    model = torch.jit.trace(Reshaped(), torch.rand(3, 4))
    found = captured(model, torch.rand(3, 4), dynamic_shapes=({0: "batch"},))
    assert found.strategy == "torchscript"
    assert_computes(found, Reshaped(), torch.rand(5, 4))
    assert not found.guards


def test_script_inside_a_model() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scripted = torch.jit.script(Scripted().eval())
            self.traced = torch.jit.trace(Reshaped(), torch.rand(3, 4))

        def forward(self, x: Tensor) -> Tensor:
            return self.traced(self.scripted(x)[0])  # type: ignore[no-any-return]

    model = Outer().eval()
    found = captured(model, torch.rand(3, 4), dynamic_shapes=({0: "batch"},))
    assert_computes(found, model, torch.rand(6, 4))
    modules = {
        node.meta["module"]
        for node in found.root.graph.nodes
        if node.target is torch.ops.aten.linear.default
    }
    assert modules == {"scripted.layers.0", "scripted.layers.1"}


def test_a_scripted_function() -> None:
    def scaled(x: Tensor, by: int) -> Tensor:
        return x * by + x.size(0)

    function = torch.jit.script(scaled)
    found = captured(function, torch.rand(3, 4), 2, dynamic_shapes=({0: "batch"}, None))
    assert_computes(found, lambda x: scaled(x, 2), torch.rand(5, 4))


def test_what_a_script_writes_is_named_and_undone() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls = self.calls + 1
            return x + self.calls

    model = torch.jit.script(Counting())
    found = captured(model, torch.rand(3))
    assert found.written == ("calls",)
    assert model.calls == 0


def test_what_a_script_cannot_do_fails_at_its_line() -> None:
    class Turns(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(int(x.sum())):
                x = x + 1
            return x

    failed = capture(load(Request(torch.jit.script(Turns()), (torch.rand(3),))))
    assert isinstance(failed, CaptureFailed)
    name, failure = failed.attempts[0]
    assert name == "torchscript"
    assert failure.location is not None
    where = (failure.location.file, failure.location.code)
    assert where == (__file__, "for _ in range(int(x.sum())):")


def test_what_the_reading_does_not_know_is_run_by_torch_with_fixed_sizes() -> None:
    class Sorted(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            sizes: list[int] = [x.size(1), x.size(0)]
            sizes.sort()  # writes the list in place
            return x.view(sizes) * 2

    model = torch.jit.script(Sorted())
    found = captured(model, torch.rand(3, 4), dynamic_shapes=({0: "batch"},))
    assert_computes(found, Sorted(), torch.rand(3, 4))
    assert shape(found, "x") == (3, 4)  # and the graph says so
