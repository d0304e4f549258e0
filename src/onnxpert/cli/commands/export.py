"""`onnxpert export`: a proven file, or every reason why not."""

from __future__ import annotations

import errno
import os
import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.cli import budget, options, reports, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import Progress
from onnxpert.core.errors import ExportError, UsageError

if TYPE_CHECKING:
    from onnxpert.engine.formats import Report

_ELSEWHERE = "choose another place with -o"


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="the model, see below")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: NAME.onnx, right here")
    options.source_options(parser)
    options.model_options(parser)
    options.external_data_option(parser)
    parser.add_argument(
        "--weights",
        action="append",
        metavar="FILE",
        help="a .safetensors checkpoint beside the output, at which the file points; repeatable. "
        "later: leave them out, for `onnxpert fill`",
    )
    reports.options(parser)
    budget.options(parser)
    options.repro_option(parser)
    options.screen_options(parser)
    parser.set_defaults(action="export")
    parser.epilog = f"{options.SOURCES}\n\n{options.INPUTS}"


@command("export", summary="write a proven ONNX file", order=1, options=_options)
def export(asked: Namespace) -> int:
    """Export a model to ONNX and prove that the file computes what the model computes.

    No file appears before the proof has passed."""
    output = Path(asked.output) if asked.output else Path(default_name(asked.source))
    _check(output)
    reports.check(asked)
    with results.kept_clean():
        try:
            report = budget.run(asked, lambda told: _exported(asked, output, told), output)
        except OSError as error:
            raise _unwritable(output, error) from error
    return reports.deliver(report, asked)


def _exported(asked: Namespace, output: Path, told: Progress) -> Report:
    prepared = options.prepare(asked, asked.source, told)
    from onnxpert.engine import api

    try:
        return api.export(
            prepared.model,
            prepared.args,
            output,
            progress=told,
            **options.request(asked, prepared),
        )
    except ExportError as error:
        return error.report


def default_name(source: str) -> str:
    """`Net.onnx` for model.py:Net, `resnet50.onnx` for timm:resnet50, `net.onnx` for a/net.pt2."""
    path, _, name = source.rpartition(":")
    name = name if path else Path(source).stem
    last = name.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    return (re.sub(r"[^\w.-]+", "_", last).strip("_.") or "model") + ".onnx"


def _check(output: Path) -> None:
    """Refuse a place that cannot be written to before minutes are spent on the model."""
    folder = output.parent
    if output.is_dir():
        raise UsageError(f"cannot write {output}: it is a directory", f"-o {output / 'model.onnx'}")
    if not folder.is_dir():
        missing = "is not a directory" if folder.exists() else "does not exist"
        raise UsageError(f"cannot write {output}: {folder} {missing}", f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {output}: no permission for {folder}", _ELSEWHERE)


def _unwritable(output: Path, error: OSError) -> UsageError:
    reason = (error.strerror or str(error)).lower()
    help = "free some space, or " + _ELSEWHERE if error.errno == errno.ENOSPC else _ELSEWHERE
    return UsageError(f"cannot write {output}: {reason}; nothing was left behind", help)
