"""A text names a model; what is wrong with the text, or with the user's code, is told in a line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Request
from onnxpert.load import catalogue, load, resolve

FILE = """
import torch
from sibling import SIZE
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(SIZE, 2)
    def forward(self, x):
        return self.linear(x)

class Sized(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()

class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 1 / 0

def make(scale=1):
    return Net().eval()

def double(x):
    return 2 * x

def shift(x=None):
    return x + 1

class Inner:
    net = Net()

net = Net()
number = 3
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sibling.py").write_text("SIZE = 3\n")
    (tmp_path / "my model.py").write_text(FILE)
    (tmp_path / "model.py").write_text(
        FILE + "def example_inputs():\n    return torch.ones(4, 3)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "sibling", raising=False)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    return tmp_path


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        resolve(text)
    return f"{caught.value.message}\n{caught.value.help}"


@pytest.mark.usefixtures("project")
def test_a_class_a_factory_a_function_and_an_instance() -> None:
    path = list(sys.path)
    for name in ("Net", "make", "net", "Inner.net"):
        source = resolve(f"model.py:{name}")
        assert type(source.model).__name__ == "Net"
        assert source.args is not None
        assert source.args[0].shape == (4, 3)
        assert load(Request(source.model, source.args, source.kwargs or {})).problems == ()
    assert resolve("model.py:double").model(1) == 2
    assert resolve("model.py:shift").model(1) == 2
    assert resolve("my model.py:Net").args is None
    assert resolve("model:net").args is not None
    assert sys.path == path
    assert not any(name == "my model" for name in sys.modules)


def test_absolute_paths(project: Path) -> None:
    assert isinstance(resolve(f"{project}/model.py:Net").model, nn.Module)


def test_example_inputs_of_the_model_come_first(project: Path) -> None:
    (project / "own.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x): return x\n"
        "    def example_inputs(self): return {'x': torch.ones(7)}\n"
        "example_inputs = (torch.ones(1),)\n"
        "other = torch.nn.ReLU()\n"
    )
    source = resolve("own.py:Net")
    assert source.args == ()
    assert source.kwargs is not None
    assert source.kwargs["x"].shape == (7,)
    other = resolve("own.py:other")
    assert other.args is not None
    assert other.args[0].shape == (1,)


@pytest.mark.usefixtures("project")
def test_what_is_not_there() -> None:
    assert "did you mean `model.py`" in refused("modle.py:Net")
    assert "no directory `lost`" in refused("lost/model.py:Net")
    text = refused("model.py:Nett")
    assert "`model.py` has no `Nett`" in text
    assert "`Net`" in text
    text = refused("model.py")
    assert "model.py:Net or " in text
    assert "model.py:double" in text
    assert "is of type int, not a model" in refused("model.py:number")
    assert "no module `nowhere`" in refused("nowhere.at.all:Net")
    assert "names no model" in refused("resnet50")


@pytest.mark.usefixtures("project")
def test_constructors() -> None:
    text = refused("model.py:Sized")
    assert "it needs `width`" in text
    assert "depth" not in text
    text = refused("model.py:Broken")
    assert "ZeroDivisionError: division by zero" in text
    assert "--> model.py:20" in text


def test_errors_in_the_users_file(project: Path) -> None:
    files = {
        "raises.py": ("import json\n\njson.loads('{')\n", "JSONDecodeError", "raises.py:3"),
        "syntax.py": ("x = 1\ndef f(:\n", "SyntaxError", "syntax.py:2"),
        "missing.py": ("import not_a_package\n", "not_a_package", "missing.py:1"),
        "exits.py": ("import sys\nsys.exit(3)\n", "SystemExit", "exits.py:2"),
    }
    for name, (text, error, place) in files.items():
        (project / name).write_text(text)
        for source in (f"{name}:Net", f"{Path(name).stem}:Net"):
            told = refused(source)
            assert error in told
            assert f"--> {place}" in told
            assert "Traceback" not in told
    assert 'if __name__ == "__main__"' in refused("exits.py:Net")
    assert not any("onnxpert_source_raises" in name for name in sys.modules)


def test_exported_programs(project: Path) -> None:
    program = torch.export.export(nn.Linear(3, 2), (torch.ones(4, 3),))
    torch.export.save(program, project / "net.pt2")
    source = resolve("net.pt2")
    assert source.args is not None
    assert source.args[0].shape == (4, 3)
    loaded = load(Request(source.model, source.args, source.kwargs or {}))
    assert [leaf.name for leaf in loaded.leaves] == ["input"]
    assert "no file" in refused("lost.pt2")
    (project / "bad.pt2").write_bytes(b"nothing")
    assert "cannot be read as an exported program" in refused("bad.pt2")


def test_torchscript_files(project: Path) -> None:
    traced = torch.jit.trace(nn.Linear(3, 2), torch.ones(4, 3))
    for kind in ("pt", "pth", "ts"):
        traced.save(str(project / f"net.{kind}"))
        model = resolve(f"net.{kind}").model
        assert torch.equal(model(torch.ones(1, 3)), traced(torch.ones(1, 3)))
    torch.save(nn.Linear(3, 2).state_dict(), project / "weights.pt")
    assert "holds weights or a pickle" in refused("weights.pt")
    assert "no file" in refused("lost.pt")


def test_timm() -> None:
    pytest.importorskip("timm", reason="timm is not installed")
    source = resolve("timm:resnet18")
    again = resolve("timm:resnet18")
    assert not source.model.training
    assert source.args is not None
    assert source.args[0].shape == (2, 3, 224, 224)
    assert source.dynamic == {"x": {0: "batch"}}
    assert torch.equal(source.model.fc.weight, again.model.fc.weight)
    assert "`resnet18`" in refused("timm:resnet1")
    assert "downloaded" in refused("timm:hf-hub:timm/resnet18")


def test_torchvision() -> None:
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    source = resolve("torchvision:squeezenet1_1")
    assert not source.model.training
    assert source.args is not None
    assert source.args[0].shape == (2, 3, 224, 224)
    loaded = load(Request(source.model, source.args, dynamic_shapes=source.dynamic))
    assert loaded.problems == ()
    detection = resolve("torchvision:fasterrcnn_mobilenet_v3_large_320_fpn")
    assert detection.args is not None
    assert isinstance(detection.args[0], list)
    assert "`resnet18`" in refused("torchvision:resnet1")


@pytest.mark.parametrize("package", ["timm", "torchvision", "transformers"])
def test_packages_that_are_not_installed(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert f"pip install {package}" in refused(f"{package}:anything")


def tiny_bert(path: Path) -> nn.Module:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=50,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        architectures=["BertForSequenceClassification"],
    )
    model: nn.Module = transformers.BertForSequenceClassification(config)
    config.save_pretrained(path)
    return model


def test_transformers_directory(tmp_path: Path) -> None:
    model = tiny_bert(tmp_path)
    source = resolve(f"transformers:{tmp_path}")
    assert type(source.model) is type(model)
    assert "weights are random" in source.notes
    assert source.dynamic is not None
    assert source.dynamic["input_ids"] == {0: "batch", 1: "sequence"}
    assert source.kwargs is not None
    assert source.kwargs["input_ids"].max() < 50
    loaded = load(Request(source.model, (), source.kwargs, dynamic_shapes=source.dynamic))
    assert loaded.problems == ()
    model.save_pretrained(tmp_path)
    source = resolve(f"transformers:{tmp_path}")
    assert source.notes == ()
    assert torch.equal(source.model.classifier.weight, model.classifier.weight)
    assert not source.model.training


def test_transformers_model_types() -> None:
    pytest.importorskip("transformers")
    source = resolve("transformers:t5")
    assert type(source.model).__name__ == "T5ForConditionalGeneration"
    assert source.kwargs is not None
    assert source.dynamic is not None
    assert source.dynamic["decoder_input_ids"] == {0: "batch", 1: "decoder_sequence"}
    lengths = {source.kwargs[name].shape[1] for name in ("input_ids", "decoder_input_ids")}
    assert len(lengths) == 2
    with torch.no_grad():
        assert (
            source.model(**source.kwargs).logits.shape[:2]
            == source.kwargs["decoder_input_ids"].shape
        )


def test_large_defaults_are_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    from onnxpert.load import transformers_size

    monkeypatch.setattr(transformers_size, "BUDGET", 1_000_000)
    config = transformers.LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512)
    config.num_attention_heads = config.num_key_value_heads = 8
    smaller, (said,) = transformers_size.fit(transformers.LlamaForCausalLM, config)
    assert config.num_hidden_layers == 32
    assert smaller.num_hidden_layers == 2
    assert smaller.hidden_size // smaller.num_attention_heads == 32
    assert f"hidden_size 256 -> {smaller.hidden_size}" in said
    assert transformers_size.parameters(transformers.LlamaForCausalLM, smaller) <= 1_000_000
    same, said_nothing = transformers_size.fit(transformers.LlamaForCausalLM, smaller)
    assert same is smaller
    assert said_nothing == ()


def test_transformers_names_that_are_not_there(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert "`bert`" in refused("transformers:berd")
    assert "nothing is downloaded" in refused("transformers:google-bert/bert-base-uncased")
    assert "no config.json" in refused(f"transformers:{tmp_path}")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no-such-thing"}))
    assert "does not make a model" in refused(f"transformers:{tmp_path}")


def test_every_scheme_has_a_page_and_marks() -> None:
    for mark, scheme in catalogue().items():
        assert mark in scheme.marks
        assert scheme.about
