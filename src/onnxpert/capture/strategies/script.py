"""TorchScript, alone or inside a model: read node by node under the recorder, else run by torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch

from onnxpert.capture.recorder import Recorder
from onnxpert.capture.strategies.recorded import record
from onnxpert.capture.strategy import strategy
from onnxpert.capture.torchscript import Interpreter, interpreting, script_parts
from onnxpert.capture.torchscript_builtins import NotUnderstoodError
from onnxpert.core.types import Captured, Loaded


def _has_script(loaded: Loaded) -> bool:
    return bool(script_parts(loaded.module))


@strategy("torchscript", rung=8, takes=_has_script)
def script(loaded: Loaded) -> Captured:
    try:
        return record(loaded, "torchscript", lambda recorder: _read(recorder, loaded.module))
    except NotUnderstoodError:
        # torch's own interpreter knows all of it, and makes a number of every size it meets.
        return record(loaded, "torchscript", lambda recorder: _run())


def _read(recorder: Recorder, model: Any) -> AbstractContextManager[None]:
    paths = {}
    if isinstance(model, torch.nn.Module):
        paths = {id(part): name for name, part in model.named_modules()}

    @contextmanager
    def enter(module: Any) -> Iterator[None]:
        recorder.modules.append(paths.get(id(module), recorder.modules[-1]))
        yield  # after an exception the path stays: it says where
        recorder.modules.pop()

    return interpreting(Interpreter(enter))


@contextmanager
def _run() -> Iterator[None]:
    # With a tensor of a class of its own, torch hands a scripted method its module twice.
    with torch._C.DisableTorchFunctionSubclass():
        yield
