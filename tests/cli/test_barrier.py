"""Whatever goes wrong: one paragraph on stderr, the right exit code, never our traceback."""

import errno
import os
import re
from pathlib import Path
from typing import NoReturn

import pytest

from onnxpert.cli import main
from onnxpert.core.errors import BugError, UsageError

from .conftest import Engine

WORDS = ["export", "model.py:Net", "--quiet"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def _raising(engine: Engine, error: BaseException) -> None:
    def act() -> NoReturn:
        raise error

    engine.act = act


def test_misuse(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    _raising(engine, UsageError("there is no target 'x'", "the targets are: ort-cpu"))
    assert main(WORDS) == 2
    assert capsys.readouterr() == (
        "",
        "error: there is no target 'x'\n  = help: the targets are: ort-cpu\n",
    )


@pytest.mark.parametrize(
    ("number", "reason", "help"),
    [
        (errno.ENOSPC, "no space left on device", "free some space, or choose another place"),
        (errno.EROFS, "read-only file system", "choose another place with -o"),
    ],
)
def test_a_disk_that_refuses(
    engine: Engine, capsys: pytest.CaptureFixture[str], number: int, reason: str, help: str
) -> None:
    _raising(engine, OSError(number, os.strerror(number), "/tmp/.staging-1/net.onnx"))
    assert main([*WORDS, "-o", "net.onnx"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: cannot write net.onnx: {reason}; nothing was left behind\n")
    assert f"= help: {help}" in err


def test_an_interrupt(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    _raising(engine, KeyboardInterrupt())
    assert main(WORDS) == 130
    assert capsys.readouterr().err == "interrupted: nothing was written\n"


def test_memory(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    _raising(engine, MemoryError())
    assert main(WORDS) == 2
    assert capsys.readouterr().err.startswith("error: there is not enough memory\n")


@pytest.mark.parametrize("error", [BugError("a stub\nwas left"), KeyError("a stub was left")])
def test_a_bug_of_ours(
    engine: Engine, capsys: pytest.CaptureFixture[str], error: Exception, tmp_path: Path
) -> None:
    _raising(engine, error)
    assert main(WORDS) == 2
    err = capsys.readouterr().err
    first, second, third, fourth, fifth = err.splitlines()
    assert first == "this is a bug in onnxpert, not in your model or your command"
    assert second.startswith(f"  {type(error).__name__}: ")
    assert "a stub was left" in second
    assert re.fullmatch(r"  --> .*test_barrier\.py:\d+ in act", third)
    assert fourth.startswith("   = note: onnxpert ")
    assert " torch " in fourth
    (kept,) = tmp_path.glob("onnxpert-bug-*.txt")
    assert fifth == f"   = help: please report it, with {kept} attached"
    story = kept.read_text(encoding="utf-8")
    assert story.startswith("onnxpert export model.py:Net --quiet\n")
    assert "Traceback (most recent call last)" in story
    assert type(error).__name__ in story


def test_a_bug_with_no_room_to_write_it_down(
    engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    _raising(engine, BugError("a stub was left"))
    assert main(WORDS) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert "please report it, with the traceback above attached" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["exprt"], "argument COMMAND: invalid choice: 'exprt'"),
        (["export"], "the following arguments are required: SOURCE"),
        (["export", "m.py:N", "--opset", "many"], "argument --opset: 'many' is not an opset"),
        (["export", "m.py:N", "--opset", "0"], "argument --opset: '0' is not an opset"),
        (["export", "m.py:N", "--input-names", "a,,b"], "argument --input-names: 'a,,b' is not"),
        (["export", "m.py:N", "--repair", "most"], "argument --repair: invalid choice: 'most'"),
        (["export", "m.py:N", "--inp", "x"], "unrecognized arguments: --inp x"),
        (["verify", "net.onnx"], "the following arguments are required: --against"),
    ],
)
def test_words_that_mean_nothing(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.splitlines()[-1].startswith("  = help: onnxpert")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/net.onnx", "cannot write missing/net.onnx: missing does not exist"),
        ("file/net.onnx", "cannot write file/net.onnx: file is not a directory"),
        ("folder", "cannot write folder: it is a directory"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_the_work(
    engine: Engine, capsys: pytest.CaptureFixture[str], output: str, message: str
) -> None:
    Path("file").touch()
    Path("folder").mkdir()
    assert main([*WORDS, "-o", output]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}\n")
    assert engine.asked == []


def test_no_words_at_all_is_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "commands:" in err
