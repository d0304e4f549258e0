"""The calls that users make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from onnxpert.core.errors import ExportError, UsageError
from onnxpert.core.types import Request
from onnxpert.engine.clock import Progress
from onnxpert.report import Report

_REPAIR_LEVELS = ("off", "safe", "all")


def export(
    model: Any,
    args: Any = (),
    f: str | PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    target: str = "ort-cpu",
    repair: str = "safe",
    verify: bool = True,
    external_data: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Export `model` to the ONNX file `f`, proven to compute what `model` computes.

    The arguments mean what they mean to `torch.onnx.export`. Nothing is written to `f` unless the
    file is proven, or `verify=False` asked for it unproven; with `f=None` nothing is kept at all.
    Raises ExportError, with every reason in its text and in `.report`, when it cannot be done, and
    UsageError when the call itself cannot be right."""
    from onnxpert.engine import pipeline

    request = _request(
        model, args, f, kwargs, input_names, output_names, opset_version, dynamic_axes,
        dynamic_shapes, target, repair, verify, external_data,
    )  # fmt: skip
    report = pipeline.export(request, progress)
    if not report.ok:
        raise ExportError(report)
    return report


def diagnose(
    model: Any,
    args: Any = (),
    f: str | PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    target: str = "ort-cpu",
    repair: str = "safe",
    verify: bool = True,
    external_data: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Everything `export` would say, and no file. Never raises for what a model does."""
    from onnxpert.engine import pipeline

    request = _request(
        model, args, f, kwargs, input_names, output_names, opset_version, dynamic_axes,
        dynamic_shapes, target, repair, verify, external_data,
    )  # fmt: skip
    return pipeline.rehearse(request, progress)


def verify(
    path: str | PathLike[str],
    model: Any,
    args: Any = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    target: str = "ort-cpu",
    progress: Progress | None = None,
) -> Report:
    """Whether an ONNX file, from whatever exporter, computes what `model` computes."""
    from onnxpert.engine import pipeline

    file = Path(fspath(path))
    if not file.is_file():
        raise UsageError(f"there is no file {file}", "give the path of an ONNX file")
    request = Request(model, _tuple(args), dict(kwargs or {}), file, target=target)
    return pipeline.verify(request, file, progress)


def explain(rule: str) -> str:
    """The page of a rule: what it does, why it matters, an example, the cure."""
    from onnxpert.engine import pages

    return str(pages.page(rule))


def _request(  # noqa: PLR0917  the arguments of the calls above, in their order
    model: Any,
    args: Any,
    f: str | PathLike[str] | None,
    kwargs: Mapping[str, Any] | None,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    opset_version: int | None,
    dynamic_axes: Any,
    dynamic_shapes: Any,
    target: str,
    repair: str,
    verify: bool,
    external_data: bool,
) -> Request:
    if repair not in _REPAIR_LEVELS:
        levels = ", ".join(repr(level) for level in _REPAIR_LEVELS)
        raise UsageError(f"repair={repair!r} is not a level of repair", f"one of {levels}")
    return Request(
        model=model,
        args=_tuple(args),
        kwargs=dict(kwargs or {}),
        path=None if f is None else Path(fspath(f)),
        input_names=tuple(input_names or ()),
        output_names=tuple(output_names or ()),
        opset_version=opset_version,
        dynamic_axes=dynamic_axes,
        dynamic_shapes=dynamic_shapes,
        target=target,
        repair=repair,
        verify=verify,
        external_data=external_data,
    )


def _tuple(args: Any) -> tuple[Any, ...]:
    """The positional arguments; a single one may be given bare, as torch allows."""
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)
