"""Errors in one line."""

from __future__ import annotations

import pytest

from onnxpert.verify.messages import one_line, runtime_line

LOAD = "[ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from /tmp/x y.onnx failed:"
NODE = (
    "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Add node. "
    "Name:'add_1' Status Message: "
)
SOURCE = (
    "/onnxruntime_src/onnxruntime/core/graph/model.cc:256 onnxruntime::Model::Model(int&&, char*) "
)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("\n  first \n second"), "ValueError: first"),
        (KeyError("name"), "KeyError: 'name'"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_of_a_model(error: Exception, line: str) -> None:
    assert one_line(error) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (LOAD + "This is an invalid model. Type Error", "This is an invalid model. Type Error"),
        (LOAD + SOURCE + "Unsupported model IR version: 14", "Unsupported model IR version: 14"),
        (
            NODE + SOURCE + "axis == 1 was false. Attempting to broadcast",
            "Add node 'add_1': Attempting to broadcast",
        ),
        ("Required inputs (['z']) are missing", "Required inputs (['z']) are missing"),
        ("", "RuntimeError"),
    ],
)
def test_of_a_runtime(text: str, line: str) -> None:
    assert runtime_line(RuntimeError(text)) == line
