"""The calls that users make."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Unpack

from onnxpert.core.errors import ExportError, UsageError
from onnxpert.core.types import Request
from onnxpert.engine.budget import limited, within
from onnxpert.engine.clock import Progress
from onnxpert.engine.kinds import read_path
from onnxpert.engine.options import Options, positional, request, several, spelled_out
from onnxpert.report import Action, Report


@spelled_out
def export(
    model: Any,
    args: Any = (),
    f: str | PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Report:
    """Export `model` to the ONNX file `f`, proven to compute what `model` computes.

    The arguments mean what they mean to `torch.onnx.export`. Nothing is written to `f` unless the
    file is proven, or `verify=False` asked for it unproven; with `f=None` nothing is kept at all.
    Raises ExportError, with every reason in its text and in `.report`, when it cannot be done, and
    UsageError when the call itself cannot be right."""
    report = _walk(request(model, args, f, options), progress, Action.EXPORT)
    if not report.ok:
        raise ExportError(report)
    return report


@spelled_out
def diagnose(
    model: Any,
    args: Any = (),
    f: str | PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Report:
    """Everything `export` would say, and no file. Never raises for what a model does."""
    return _walk(request(model, args, f, options), progress, Action.DIAGNOSE)


def _walk(asked: Request, progress: Progress | None, action: Action) -> Report:
    """Here, or in a child process where there are limits to keep."""
    from onnxpert.engine import pipeline

    budget, asked = limited(asked)
    walk = pipeline.export if action is Action.EXPORT else pipeline.rehearse
    if not budget:
        return walk(asked, progress)
    return within(
        budget,
        lambda told: walk(asked, told),
        progress,
        action=action,
        model=type(asked.model).__name__,
        target=asked.target,
        path=asked.path if action is Action.EXPORT else None,
    )


def verify(
    path: str | PathLike[str],
    model: Any,
    args: Any = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    target: str = "ort-cpu",
    kernel_library: Any = (),
    progress: Progress | None = None,
) -> Report:
    """Whether an ONNX file, from whatever exporter, computes what `model` computes.

    `kernel_library` is the path, or paths, of what runs nodes of custom domains."""
    from onnxpert.engine import pipeline

    file = read_path(path, "path")
    if not file.is_file():
        raise UsageError(f"there is no file {file}", "give the path of an ONNX file")
    request = Request(
        model,
        positional(args),
        dict(kwargs or {}),
        file,
        target=target,
        kernel_library=several(kernel_library),
    )
    return pipeline.verify(request, file, progress)


def check(
    path: str | PathLike[str],
    target: str = "ort-cpu",
    *,
    run: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Whether an ONNX file, from whatever exporter, fits a target: by the standard, by the target's
    tables, and, unless `run` is False, by running it there with made-up inputs.

    Never raises for what a file holds. It proves nothing about results: `verify` does."""
    from onnxpert.engine import check as checking

    file = read_path(path, "path")
    if not file.is_file():
        raise UsageError(f"there is no file {file}", "give the path of an ONNX file")
    return checking.check(file, target, run=run, progress=progress)


def explain(rule: str) -> str:
    """The page of a rule: what it does, why it matters, an example, the cure."""
    from onnxpert.engine import pages

    return str(pages.page(rule))
