"""A walk that looks for more sizes than are proven and finds none, goes back to what it had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import onnxpert
from onnxpert.capture.__init__ import failure
from onnxpert.core.types import CaptureFailed, Loaded, Withdrawn, replace
from onnxpert.engine import pipeline
from onnxpert.engine.walk import Walk


def test_what_was_proven_is_not_captured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures: list[bool] = []
    plain = pipeline.capture

    def capture(loaded: Loaded) -> Any:
        captures.append(loaded.as_written)
        if loaded.as_written:
            return CaptureFailed(loaded, (("none", failure(ValueError("nothing better"))),))
        return plain(loaded)

    def after_a_proof(walk: Walk, loaded: Loaded, *_: Any, **__: Any) -> Loaded | None:
        if walk.contents_itself:
            return None
        walk.proven = walk.kept(loaded)
        walk.forget_file()
        return replace(loaded, as_written=True)  # type: ignore[no-any-return]

    monkeypatch.setattr(pipeline, "capture", capture)
    monkeypatch.setattr(pipeline, "after_a_proof", after_a_proof)
    report = onnxpert.export(torch.nn.ReLU(), (torch.ones(3),), tmp_path / "m.onnx")
    assert report.ok
    assert captures == [False, True]


def test_what_varies_less_is_no_better_nor_what_was_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def after_a_proof(walk: Walk, loaded: Loaded, *_: Any, **__: Any) -> Loaded | None:
        asked.append(sum(len(leaf.dims) for leaf in loaded.leaves))
        if len(asked) == 2:
            walk.learn(Withdrawn((("input", 0, 3),), "as was tried"))
        if len(asked) > 1:
            return None
        walk.proven = walk.kept(loaded)
        walk.forget_file()
        return replace(  # type: ignore[no-any-return]
            loaded, leaves=tuple(replace(leaf, dims=()) for leaf in loaded.leaves)
        )

    monkeypatch.setattr(pipeline, "after_a_proof", after_a_proof)
    path = tmp_path / "m.onnx"
    report = onnxpert.export(torch.nn.ReLU(), (torch.ones(3),), path, dynamic_shapes="auto")
    assert asked == [1, 0, 1]
    assert report.inputs == ("input: float32[batch]",)
    assert report.findings == ()
