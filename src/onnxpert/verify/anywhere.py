"""A file with no model beside it: whether it is ONNX, whether it loads, whether it runs at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.errors import UsageError
from onnxpert.targets.target import Array, Run, Target
from onnxpert.verify.file import FileFacts, FileInput, facts, read
from onnxpert.verify.messages import runtime_line
from onnxpert.verify.sizes import evaluate, symbols

if TYPE_CHECKING:
    import onnx

# Of sizes that may vary: which ones a model takes, only its author knows.
_SIZES = (2, 1, 4, 8, 16, 32, 64, 128, 224)
_MOST_ELEMENTS = 2**24


def examine(path: Path) -> tuple[onnx.ModelProto | None, tuple[str, ...]]:
    """The model without its large weights and with every type that can be inferred; and what the
    standard holds against it."""
    import onnx

    try:
        proto = read(path)
    except Exception as error:  # whatever a parser says of bytes that are something else
        return None, (f"this is no ONNX file: {_amiss(path, error)}",)
    if not proto.graph.node and not proto.opset_import:
        return None, ("this is no ONNX file: it has neither nodes nor an opset",)
    negative = _negative_sizes(proto.graph)
    if negative:  # shape inference does not refuse them: it ends the process
        return proto, negative
    problems: tuple[str, ...] = ()
    if _opset(proto) <= onnx.defs.onnx_opset_version():  # else nothing is known of it here
        try:
            onnx.checker.check_model(path)
        except onnx.checker.ValidationError as error:
            problems = (_joined(str(error)),)
    try:
        return onnx.shape_inference.infer_shapes(proto, data_prop=True), problems
    except Exception as error:  # a type or a shape that contradicts itself
        return proto, problems or (_joined(str(error)),)


def _amiss(path: Path, error: Exception) -> str:
    if not path.stat().st_size:
        return "it is empty"
    if isinstance(error, IndexError):
        return "it ends in the middle of what it says of itself"
    return str(error)


def attempt(path: Path, target: Target, seed: int = 0) -> tuple[str, str]:
    """Why the target does not load the file, and why it does not run it; "" where it does.

    The inputs are made up. Sizes that may vary are tried from a list, and the first that run will
    do."""
    try:
        run = target.open(path)
    except UsageError:
        raise
    except Exception as error:  # each runtime has its own kinds, with no base class in common
        return runtime_line(error), ""
    return "", _attempted(facts(read(path)), run, seed)


def _attempted(file: FileFacts, run: Run, seed: int) -> str:
    reasons = []
    for size in _SIZES if _varies(file) else _SIZES[:1]:
        feeds = _feeds(file, size, seed)
        if feeds is None:
            continue
        reason = _reason(run, feeds)
        if not reason:
            return ""
        reasons.append(reason)
    return reasons[0] if reasons else "no sizes were found that fit together"


def _reason(run: Run, feeds: Mapping[str, Array]) -> str:
    try:
        run(feeds)
    except Exception as error:  # as above
        return runtime_line(error)
    return ""


def _varies(file: FileFacts) -> bool:
    return any(not isinstance(dim, int) for each in file.inputs for dim in each.dims)


def _feeds(file: FileFacts, size: int, seed: int) -> dict[str, Array] | None:
    import numpy as np

    names = {
        name: _within(size, file.ranges.get(name))
        for each in file.inputs
        for dim in each.dims
        if isinstance(dim, str)
        for name in symbols(dim)
    }
    generator = np.random.default_rng(seed)
    found = {}
    for each in file.inputs:
        try:
            shape = tuple(size if dim is None else evaluate(dim, names) for dim in each.dims)
        except (KeyError, ValueError):
            return None
        if int(np.prod(shape)) > _MOST_ELEMENTS:
            return None
        found[each.name] = _values(each, shape, generator)
    return found


def _within(size: int, allowed: tuple[int, int | None] | None) -> int:
    if allowed is None:
        return size
    low, high = allowed
    return max(low, size if high is None else min(size, high))


def _values(each: FileInput, shape: tuple[int, ...], generator: Array) -> Array:
    """Numbers around zero, and whole ones that are an index into anything."""
    import ml_dtypes
    import numpy as np

    dtype = np.dtype(getattr(ml_dtypes, each.dtype, each.dtype))
    if dtype.kind in "iub":
        return generator.integers(0, 2, shape).astype(dtype)
    return np.asarray(generator.standard_normal(shape)).astype(dtype)


def _opset(proto: onnx.ModelProto) -> int:
    own = [each.version for each in proto.opset_import if each.domain in ("", "ai.onnx")]
    return max(own, default=0)


def _negative_sizes(graph: onnx.GraphProto) -> tuple[str, ...]:
    found = []
    for value in (*graph.input, *graph.output, *graph.value_info):
        sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if any(size < 0 for size in sizes):
            found.append(f"{value.name} has a negative size: its shape is {sizes}")
    return tuple(found)


def _joined(text: str) -> str:
    """The message without its context, on one line."""
    lines = [line.strip() for line in text.partition("==> Context")[0].splitlines()]
    return " ".join(filter(None, lines)) or "no reason given"
