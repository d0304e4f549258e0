"""Weights that are elsewhere: filled in later, or left in a checkpoint that the file points into."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import onnxpert
from onnxpert.core.errors import UsageError
from onnxpert.core.state_keys import PROPERTY
from onnxpert.save import writer


class Tied(nn.Module):
    """A language model in small: an embedding that is also the head, a norm, a fixed buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 32)
        self.layer = nn.Linear(32, 32)
        self.norm = nn.BatchNorm1d(7)
        self.head = nn.Linear(32, 40, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.arange(32.0), persistent=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.layer(self.embed(ids))) * self.scale)


IDS = torch.arange(14).reshape(2, 7)


def meta() -> nn.Module:
    with torch.device("meta"):
        return Tied().eval()


def fake() -> nn.Module:
    with FakeTensorMode():
        return Tied().eval()


@pytest.fixture
def real() -> nn.Module:
    torch.manual_seed(0)
    return Tied().eval()


@pytest.fixture
def checkpoint(real: nn.Module, tmp_path: Path) -> Path:
    """As people have them: the tied weight once, under one of its names."""
    path = tmp_path / "model.safetensors"
    save_file({k: v for k, v in real.state_dict().items() if k != "embed.weight"}, path)
    return path


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def locations(path: Path) -> dict[str, str]:
    model = onnx.load(path, load_external_data=False)
    return {
        tensor.name: next((e.value for e in tensor.external_data if e.key == "location"), "")
        for tensor in model.graph.initializer
    }


def later(model: Any, path: Path) -> onnxpert.Report:
    return onnxpert.export(model, (IDS,), path, weights="later")


def rules(report: onnxpert.Report) -> list[str]:
    return [finding.rule for finding in report.findings]


@pytest.mark.parametrize("make", [meta, fake])
def test_a_file_without_weights_is_filled_later(
    make: Callable[[], nn.Module], real: nn.Module, checkpoint: Path, tmp_path: Path
) -> None:
    path = tmp_path / "net.onnx"
    report = later(make(), path)
    assert report.ok
    assert not report.verify
    assert "scale" in " ".join(report.findings[0].notes)  # it is in no state dict
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.Fail, match="filled"):
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    filled = onnxpert.fill(path, [checkpoint, {"scale": torch.arange(32.0)}])
    assert rules(filled) == ["WGT003"]  # the counter of batches
    assert str(filled).startswith("filled, not proven yet")
    assert onnxpert.verify(path, real, (IDS,)).ok
    assert listing(tmp_path) == ["model.safetensors", "net.onnx"]


def test_every_weight_knows_its_keys(tmp_path: Path) -> None:
    later(meta(), tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx", load_external_data=False)
    keys = {t.name: p.value for t in model.graph.initializer for p in t.metadata_props
            if p.key == PROPERTY}  # fmt: skip
    assert keys["embed.weight"] == '["embed.weight", "head.weight"]'
    assert keys["layer.bias"] == '["layer.bias"]'
    assert "head.weight" not in keys


def test_the_same_keys_are_in_a_file_that_has_its_values(real: nn.Module, tmp_path: Path) -> None:
    onnxpert.export(real, (IDS,), tmp_path / "net.onnx")
    model = onnx.load(tmp_path / "net.onnx")
    assert {t.name for t in model.graph.initializer if t.metadata_props} == {
        "embed.weight", "layer.weight", "layer.bias", "norm.weight", "norm.bias",
        "norm.running_mean", "norm.running_var", "scale",
    }  # fmt: skip
    assert (
        tmp_path / "net.onnx"
    ).stat().st_size < 1.5 * 40 * 32 * 4 + 32 * 32 * 4 + 3000  # tied: once


def test_a_program_without_values_is_filled_as_well(
    real: nn.Module, checkpoint: Path, tmp_path: Path
) -> None:
    program = torch.export.export(meta(), (IDS.to("meta"),))
    path = tmp_path / "net.onnx"
    report = later(program, path)
    assert "scale" in " ".join(report.findings[0].notes)
    onnxpert.fill(path, [checkpoint, {"scale": torch.arange(32.0)}])
    assert onnxpert.verify(path, real, (IDS,)).ok
    with pytest.raises(onnxpert.ExportError, match="CAP003"):
        onnxpert.export(program, (IDS,), path, weights=checkpoint)


def test_what_does_not_fit_is_said_and_nothing_is_changed(real: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    later(meta(), path)
    before = path.read_bytes()
    given = {**real.state_dict(), "scale": torch.arange(32.0)}
    given["layer.weigth"] = given.pop("layer.weight")
    given["embed.weight"] = given.pop("head.weight").t().contiguous()
    given["norm.bias"] = torch.arange(7)
    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.fill(path, given)
    said = str(caught.value)
    assert said.startswith("not filled: 3 errors")
    assert "error[WGT001]: 1 weight is not in the state dict: layer.weight" in said
    assert "it has layer.weigth: rename its keys" in said
    assert "embed.weight is float32[40, 32] in the model and float32[32, 40] in the state" in said
    assert "it is stored transposed" in said
    assert "norm.bias is float32[7] in the model and int64[7] in the state dict" in said
    assert path.read_bytes() == before
    assert listing(tmp_path) == ["net.onnx"]


def test_another_precision_is_turned_and_said(real: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    later(meta(), path)
    half = {key: value.half() if value.is_floating_point() else value
            for key, value in real.state_dict().items()}  # fmt: skip
    report = onnxpert.fill(path, [half, {"scale": torch.arange(32.0)}])
    (turned,) = [finding for finding in report.findings if finding.rule == "WGT004"]
    assert "are float16 in 2 sources and float32 in the model" in turned.message
    rounded = Tied().eval()
    rounded.load_state_dict(half)
    assert onnxpert.verify(path, rounded, (IDS,)).ok


@pytest.mark.parametrize("external_data", [True, "3k"])
def test_filled_beside_the_file(
    real: nn.Module, checkpoint: Path, tmp_path: Path, external_data: bool | str
) -> None:
    path, out = tmp_path / "net.onnx", tmp_path / "out.onnx"
    later(meta(), path)
    before = path.read_bytes()
    sources = [checkpoint, {"scale": torch.arange(32.0)}]
    onnxpert.fill(path, sources, out, external_data=external_data)
    assert path.read_bytes() == before
    data = [name for name in listing(tmp_path) if name.endswith(".data")]
    assert len(data) == (1 if external_data is True else 2)
    assert onnxpert.verify(out, real, (IDS,)).ok


def test_filled_without_a_copy(real: nn.Module, checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    later(meta(), path)
    report = onnxpert.fill(path, [checkpoint, {"scale": torch.arange(32.0)}], copy=False)
    assert "WGT006" in rules(report)
    where = locations(path)
    assert where["embed.weight"] == where["layer.weight"] == "model.safetensors"
    assert path.stat().st_size < 4000
    assert onnxpert.verify(path, real, (IDS,)).ok


def test_one_weight_is_read_at_a_time(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(meta(), tmp_path / "net.onnx")
    alive: list[weakref.ref[Any]] = []
    original = writer.payload

    def payload(weight: Any) -> Any:
        assert all(earlier() is None for earlier in alive)
        view = original(weight)
        alive.append(weakref.ref(view))
        return view

    monkeypatch.setattr(writer, "payload", payload)
    onnxpert.fill(tmp_path / "net.onnx", [checkpoint, {"scale": torch.arange(32.0)}])
    assert len(alive) == 2  # what is small goes with the nodes


def test_a_filled_file_is_not_filled_again(checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    later(meta(), path)
    sources = [checkpoint, {"scale": torch.arange(32.0)}]
    onnxpert.fill(path, sources)
    with pytest.raises(UsageError, match="has its weights already"):
        onnxpert.fill(path, sources)
    with pytest.raises(UsageError, match="there is no file"):
        onnxpert.fill(tmp_path / "gone.onnx", sources)
    with pytest.raises(UsageError, match="is no ONNX file"):
        onnxpert.fill(checkpoint, sources)


def test_a_tensor_that_is_no_weight_cannot_be_filled(tmp_path: Path) -> None:
    class Loose(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.ones(4, 100)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.table

    with torch.device("meta"):
        model = Loose()
    with pytest.raises(onnxpert.ExportError, match="CAP003"):
        onnxpert.export(model, (torch.ones(2, 4),), tmp_path / "net.onnx", weights="later")
    assert listing(tmp_path) == []


def test_precision_is_measured_and_so_needs_the_weights(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        onnxpert.export(meta(), (IDS,), tmp_path / "net.onnx", weights="later", precision="float16")


@pytest.mark.parametrize("make", [meta, fake])
def test_a_fake_model_points_into_its_checkpoint_and_is_proven(
    make: Callable[[], nn.Module], checkpoint: Path, tmp_path: Path
) -> None:
    model = make()
    model.scale = torch.arange(32.0)
    path = tmp_path / "net.onnx"
    report = onnxpert.export(model, (IDS,), path, weights=checkpoint)
    assert report.ok
    assert report.verified
    assert locations(path)["embed.weight"] == "model.safetensors"
    assert listing(tmp_path) == ["model.safetensors", "net.onnx"]
    assert all(p.is_meta or hasattr(p, "fake_mode") for p in model.parameters())  # as it was


def test_a_model_with_values_points_at_those_that_are_the_same(
    real: nn.Module, checkpoint: Path, tmp_path: Path
) -> None:
    with torch.no_grad():
        real.layer.weight.add_(1)
    path = tmp_path / "net.onnx"
    report = onnxpert.export(real, (IDS,), path, weights=[checkpoint])
    (told,) = [finding for finding in report.findings if finding.rule == "WGT006"]
    assert told.severity is onnxpert.Severity.WARNING
    assert told.notes == ("layer.weight: its values differ",)
    where = locations(path)
    assert (where["embed.weight"], where["layer.weight"]) == ("model.safetensors", "")


def test_what_is_stored_otherwise_is_kept_with_the_file(tmp_path: Path) -> None:
    class Four(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain, self.turned, self.coarse = (
                nn.Parameter(torch.randn(30, 30)) for _ in range(3)
            )
            self.pairs = nn.Parameter(torch.randn(30, 30, dtype=torch.complex64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mixed = x @ self.plain @ self.turned @ self.coarse
            return mixed + (mixed * self.pairs).real

    model = Four()
    state = model.state_dict()
    model.turned.data = model.turned.data.t()
    folder = tmp_path / "weights"
    folder.mkdir()
    save_file(
        {**state, "turned": state["turned"], "coarse": state["coarse"].half()},
        folder / "m.safetensors",
    )
    path = tmp_path / "net.onnx"
    x = torch.randn(30, 30)
    report = onnxpert.export(model, (x,), path, weights=folder, external_data=True)
    notes = next(finding.notes for finding in report.findings if finding.rule == "WGT006")
    assert set(notes) == {
        "turned: its values differ",
        "coarse: it is float32[30, 30] in the file and float16[30, 30] in the checkpoint",
    }
    assert {name: where for name, where in locations(path).items() if where} == {
        "plain": "weights/m.safetensors",
        "pairs": "weights/m.safetensors",
        "turned": "net.onnx.data",
        "coarse": "net.onnx.data",
    }
    assert onnxpert.verify(path, model, (x,)).ok


def test_a_checkpoint_elsewhere_is_refused_at_once(
    real: nn.Module, checkpoint: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="where the ONNX file goes") as caught:
        onnxpert.export(real, (IDS,), tmp_path / "out" / "net.onnx", weights=checkpoint)
    assert "folder of the checkpoint" in caught.value.help
    (tmp_path / "out" / "link.safetensors").symlink_to(checkpoint)
    with pytest.raises(UsageError, match="where the ONNX file goes"):
        onnxpert.export(
            real, (IDS,), tmp_path / "out" / "net.onnx",
            weights=tmp_path / "out" / "link.safetensors",
        )  # fmt: skip
    assert listing(tmp_path / "out") == ["link.safetensors"]


def test_a_pickle_cannot_be_pointed_into(real: nn.Module, tmp_path: Path) -> None:
    torch.save(real.state_dict(), tmp_path / "m.pt")
    with pytest.raises(UsageError, match="there is nothing to point at"):
        onnxpert.export(real, (IDS,), tmp_path / "net.onnx", weights=tmp_path / "m.pt")


def test_an_export_that_fails_leaves_the_checkpoint_alone(
    real: nn.Module, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = checkpoint.read_bytes()

    def payload(weight: Any) -> bytes:
        raise KeyboardInterrupt

    with torch.no_grad():
        real.layer.weight.add_(1)
    monkeypatch.setattr(writer, "payload", payload)
    with pytest.raises(KeyboardInterrupt):
        onnxpert.export(real, (IDS,), tmp_path / "net.onnx", weights=checkpoint)
    assert listing(tmp_path) == ["model.safetensors"]
    assert checkpoint.read_bytes() == before
    assert checkpoint.stat().st_nlink == 1


def test_no_such_size() -> None:
    with pytest.raises(UsageError, match="external_data: 'much' is not a size"):
        onnxpert.diagnose(nn.Linear(2, 2), (torch.ones(1, 2),), external_data="much")


def test_a_filled_file_is_proven_against_the_model(real: nn.Module, tmp_path: Path) -> None:
    path, out = tmp_path / "empty.onnx", tmp_path / "filled.onnx"
    onnxpert.export(meta(), (IDS,), path, weights="later")
    given = [real.state_dict(), {"scale": torch.arange(32.0)}]
    report = onnxpert.fill(path, given, out, model=real, args=(IDS,))
    assert report.ok
    assert report.verify
    assert str(report).startswith("filled and proven: ")
    out.unlink()
    with pytest.raises(onnxpert.ExportError) as raised:
        onnxpert.fill(path, given, out, model=Tied().eval(), args=IDS)
    assert "NUM701" in {each.rule for each in raised.value.report.findings}
    assert not out.exists()
