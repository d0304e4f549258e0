"""What each command asks of the engine, what it prints where, and its exit code."""

import dataclasses
import json
import logging
import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from onnxpert.cli import main
from onnxpert.cli.commands.export import default_name
from onnxpert.core.errors import ExportError
from onnxpert.core.types import Finding, Severity
from onnxpert.report import Report
from onnxpert.report.graph import Graph, GraphNode, NodeKind

from .conftest import Engine

BAD = Report(ok=False, findings=(Finding("OPS301", Severity.ERROR, "no lowering of aten.x"),))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_export_asks_what_was_asked(engine: Engine) -> None:
    words = ["export", "model.py:Net", "-o", "out.onnx", "--input", "x=float32[2]"]
    words += ["--input", "int64[3]", "--inputs", "more.npz", "--input-names", "a, b"]
    words += ["--output-names", "y", "--opset", "17", "--target", "onnx-reference"]
    words += ["--repair", "all", "--no-verify", "--external-data", "--quiet"]
    assert main(words) == 0
    source, asked = engine.asked
    assert source == {
        "source": "model.py:Net",
        "inputs": ["x=float32[2]", "int64[3]"],
        "inputs_file": "more.npz",
    }
    expected = {
        "positional": (engine.prepared["model"], ("x",), Path("out.onnx")),
        "kwargs": {"mask": None},
        "input_names": ("a", "b"),
        "output_names": ("y",),
        "opset_version": 17,
        "dynamic_shapes": "as the inputs say",
        "target": "onnx-reference",
        "repair": "all",
        "verify": False,
        "external_data": True,
    }
    assert {name: asked[name] for name in expected} == expected


def test_export_leaves_the_rest_to_the_engine(engine: Engine) -> None:
    assert main(["export", "timm:resnet50"]) == 0
    asked = engine.asked[1]
    assert asked["positional"][2] == Path("resnet50.onnx")
    assert (asked["target"], asked["repair"], asked["verify"]) == ("ort-cpu", "safe", True)
    assert (asked["opset_version"], asked["input_names"], asked["external_data"]) == (
        None,
        None,
        False,
    )


@pytest.mark.parametrize(("word", "meaning"), [("auto", "auto"), ("none", None)])
def test_dynamic_overrides_the_inputs(engine: Engine, word: str, meaning: str | None) -> None:
    assert main(["diagnose", "model.py:Net", "--dynamic", word]) == 0
    assert engine.asked[1]["dynamic_shapes"] == meaning


def test_eval_puts_the_model_in_its_mode(engine: Engine) -> None:
    calls: list[str] = []
    engine.prepared["model"] = SimpleNamespace(training=True, eval=lambda: calls.append("eval"))
    assert main(["export", "model.py:Net", "--eval"]) == 0
    assert calls == ["eval"]


def test_eval_of_what_has_no_mode_is_misuse(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "model.py:function", "--eval", "--quiet"]) == 2
    assert capsys.readouterr().err == (
        "error: --eval: model.py:function is a SimpleNamespace, which has no evaluation mode\n"
        "  = help: leave --eval out\n"
    )


def test_results_and_progress_go_their_own_ways(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "model.py:Net"]) == 0
    out, err = capsys.readouterr()
    assert out == "exported and proven: net.onnx\n"
    assert [line.split() for line in err.splitlines()][1:] == [["capture", "1.25s", "non-strict"]]
    assert err.splitlines()[0].startswith("read ")
    assert err.splitlines()[0].endswith("a note of the source")


def test_quiet_is_quiet(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "model.py:Net", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def _refuse() -> None:
    raise ExportError(BAD)


@pytest.mark.parametrize("words", [["export"], ["diagnose"]])
def test_findings_are_printed_and_exit_with_1(
    engine: Engine, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    engine.report = BAD
    if words == ["export"]:
        engine.act = _refuse
    assert main([*words, "model.py:Net"]) == 1
    assert capsys.readouterr().out == str(BAD) + "\n"


def test_json_is_alone_on_stdout(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    def talk() -> None:
        sys.stdout.write("the model talks\n")
        os.write(1, b"a C library talks\n")
        warnings.warn("torch talks", stacklevel=1)
        logging.getLogger("torch").warning("torch logs")

    engine.act, engine.report = talk, BAD
    assert main(["diagnose", "model.py:Net", "--json"]) == 1
    out, err = capfd.readouterr()
    assert Report.from_json(out) == BAD
    assert "the model talks" in err
    assert "a C library talks" in err
    assert "torch talks" not in err
    assert "torch logs" not in err


def test_the_process_is_left_as_it_was(engine: Engine) -> None:
    before = (logging.root.manager.disable, list(warnings.filters))
    assert main(["diagnose", "model.py:Net", "--json"]) == 0
    assert (logging.root.manager.disable, list(warnings.filters)) == before


def test_formats_of_a_diagnosis(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.report = BAD
    assert main(["diagnose", "m.py:N", "--format", "html", "-o", "why.html"]) == 1
    assert "no lowering of aten.x" in Path("why.html").read_text(encoding="utf-8")
    assert main(["diagnose", "m.py:N", "--format", "json", "-o", "why.json"]) == 1
    assert Report.from_json(Path("why.json").read_text(encoding="utf-8")) == BAD
    assert main(["diagnose", "m.py:N", "-o", "why.txt"]) == 1
    assert Path("why.txt").read_text(encoding="utf-8") == str(BAD) + "\n"
    assert capsys.readouterr().out == ""
    assert main(["diagnose", "m.py:N", "--format", "html"]) == 1
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert main(["diagnose", "m.py:N", "--format", "html", "--json"]) == 2


@pytest.mark.parametrize("words", [["export", "m.py:N"], ["diagnose", "m.py:N"]])
def test_reports_are_written_beside_the_result(
    engine: Engine, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    engine.report = BAD
    files = ["a.html", "a.sarif", "a.xml", "a.md", "a.json", "a.txt"]
    given = [word for file in files for word in ("--report", file)]
    assert main([*words, *given]) == 1
    assert capsys.readouterr().out == str(BAD) + "\n"
    for file, name in zip(
        files, ("html", "sarif", "junit", "markdown", "json", "text"), strict=True
    ):
        text = Path(file).read_text(encoding="utf-8")
        assert text.strip() == BAD.render(name).strip()


@pytest.mark.parametrize("format", ["text", "json", "sarif", "junit", "github", "markdown", "html"])
@pytest.mark.parametrize("words", [["export", "m.py:N"], ["diagnose", "m.py:N"], ["verify"]])
def test_every_format_is_printed(
    engine: Engine, capsys: pytest.CaptureFixture[str], words: list[str], format: str
) -> None:
    engine.report = BAD
    Path("net.onnx").write_bytes(b"")
    if words == ["verify"]:
        words = ["verify", "net.onnx", "--against", "m.py:N"]
    assert main([*words, "--format", format]) == 1
    assert capsys.readouterr().out.strip() == BAD.render(format).strip()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--report", "a.doc"], "the suffix of a.doc says no format"),
        (["--report", "missing/a.html"], "cannot write missing/a.html: missing does not exist"),
        (["--format", "sarif", "--json"], "--json and --format sarif contradict each other"),
        (["--format", "pdf"], "argument --format: invalid choice: 'pdf'"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_at_once(
    engine: Engine, capsys: pytest.CaptureFixture[str], given: list[str], message: str
) -> None:
    for words in (["export", "m.py:N"], ["diagnose", "m.py:N"]):
        assert main([*words, *given]) == 2
        assert f"error: {message}" in capsys.readouterr().err
    assert engine.asked == []


def test_the_graph_is_kept_on_request(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph((GraphNode(NodeKind.INPUT, "", "x"),))
    engine.report = dataclasses.replace(BAD, graph=graph)
    assert main(["diagnose", "m.py:N", "--format", "json", "--graph", "--report", "a.json"]) == 1
    assert Report.from_json(capsys.readouterr().out).graph == graph
    assert Report.from_json(Path("a.json").read_text(encoding="utf-8")).graph == graph
    assert main(["diagnose", "m.py:N", "--json"]) == 1
    assert Report.from_json(capsys.readouterr().out).graph is None


def test_verify_asks_for_the_file(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "net.onnx", "--against", "m.py:N"]) == 2
    assert "error: there is no file net.onnx" in capsys.readouterr().err
    Path("net.onnx").write_bytes(b"")
    assert main(["verify", "net.onnx", "--against", "m.py:N", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    assert engine.asked[-1] == {
        "positional": ("net.onnx", engine.prepared["model"], ("x",)),
        "kwargs": {"mask": None},
        "target": "ort-cpu",
        "kernel_library": [],
    }


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("model.py:Net", "Net.onnx"),
        ("package.module:make_it", "make_it.onnx"),
        ("timm:vit_small.augreg", "vit_small.augreg.onnx"),
        ("transformers:org/some-model", "some-model.onnx"),
        ("transformers:./folder/", "folder.onnx"),
        ("a/b/net.pt2", "net.onnx"),
        ("net.pt", "net.onnx"),
        ("C:\\models\\net.pt2", "net.pt2.onnx"),
        ("model.py:nets['a']", "nets_a.onnx"),
        (":", "model.onnx"),
    ],
)
def test_the_default_name(source: str, name: str) -> None:
    assert default_name(source) == name
