"""TorchScript, alone or inside a model: read node by node under the recorder, else run by torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

import torch

from onnxpert.capture.recorder import Recorder
from onnxpert.capture.scripting.torchscript import Interpreter, interpreting, script_parts
from onnxpert.capture.scripting.torchscript_builtins import NotUnderstoodError
from onnxpert.capture.strategies.recorded import Walker, record
from onnxpert.capture.strategy import strategy
from onnxpert.core.types import Captured, Loaded, replace


def _has_script(loaded: Loaded) -> bool:
    return bool(script_parts(loaded.module))


@strategy("torchscript", rung=8, takes=_has_script, lines=True)
def script(loaded: Loaded) -> Captured:
    try:
        return _read(loaded)
    except NotUnderstoodError:
        # torch's own interpreter knows all of it, and makes a number of every size it meets.
        return record(loaded, "torchscript", lambda _: _run())


def _read(loaded: Loaded) -> Captured:
    model = loaded.module
    parts = model.named_modules() if isinstance(model, torch.nn.Module) else ()
    paths = {id(part): name for name, part in parts}
    interpreters: list[Interpreter] = []

    def around(recorder: Recorder) -> AbstractContextManager[None]:
        @contextmanager
        def enter(module: Any) -> Iterator[None]:
            recorder.modules.append(paths.get(id(module), recorder.modules[-1]))
            yield  # after an exception the path stays: it says where
            recorder.modules.pop()

        interpreters.append(Interpreter(enter))
        return interpreting(interpreters[-1])

    captured = Walker("torchscript", around).captured(loaded)
    written = [
        f"{paths.get(id(owner), '')}.{name}".lstrip(".")
        for interpreter in interpreters
        for owner, name in interpreter.written
    ]
    return replace(captured, written=(*captured.written, *dict.fromkeys(written)))  # type: ignore[no-any-return]


@contextmanager
def _run() -> Iterator[None]:
    # While torch says that it is exporting, it hands a scripted method its module twice.
    with patch.object(torch.compiler, "_is_exporting_flag", False):
        yield
