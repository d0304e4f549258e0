"""The live display: a line and a time per stage, and a mark where it stopped."""

import io

import pytest
from rich.console import Console

from onnxpert.cli.progress import Display, Plain, Silent, progress


def _drawn(display: Display) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=60).print(display._table())
    return [" ".join(line.split()[1:]) for line in file.getvalue().splitlines()]


def test_a_line_per_stage() -> None:
    display = Display()
    display("capture", "start", 0.0, "")
    display("capture", "note", 0.0, "strict")
    display("capture", "done", 1.5, "")
    display("repair", "done", 0.25, "cast-inputs")
    display("capture", "start", 0.0, "")
    display("capture", "done", 2.5, "non-strict")
    assert _drawn(display) == [
        "capture 1.50s strict",
        "repair 0.25s cast-inputs",
        "capture 2.50s non-strict",
    ]


def test_the_stage_that_broke_is_marked() -> None:
    display = Display()
    display("load", "start", 0.0, "")
    display("load", "done", 0.1, "")
    display("capture", "start", 0.0, "")
    display.__exit__(ValueError, ValueError(), None)
    assert [stage.broken for stage in display._stages] == [False, True]


def test_a_note_is_no_markup() -> None:
    display = Display()
    display("read", "done", 0.1, "x=float32[bold]")
    assert _drawn(display) == ["read 0.10s x=float32[bold]"]


def test_what_suits_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(progress(quiet=True), Silent)
    assert isinstance(progress(quiet=False), Plain)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert isinstance(progress(quiet=False), Display)


def test_a_reader_that_has_gone_does_not_stop_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    Plain()("capture", "done", 1.0, "")
