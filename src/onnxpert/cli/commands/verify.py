"""`onnxpert verify`: whether a file computes what the model computes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from onnxpert.cli import options, reports, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import progress
from onnxpert.core.errors import UsageError


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL.onnx", help="the file to be proven")
    parser.add_argument("--against", metavar="SOURCE", required=True, help="the model, see below")
    options.source_options(parser)
    options.target_option(parser)
    options.kernel_option(parser)
    reports.options(parser)
    options.screen_options(parser)
    parser.epilog = f"{options.SOURCES}\n\n{options.INPUTS}"


@command("verify", summary="prove an existing file against a model", order=3, options=_options)
def verify(asked: Namespace) -> int:
    """Run an ONNX file, whoever wrote it, against a model: at the example input, at other sizes
    of its dynamic dimensions and at other values."""
    if not Path(asked.file).is_file():
        raise UsageError(f"there is no file {asked.file}", "the first argument is the .onnx file")
    reports.check(asked)
    with results.kept_clean(), progress(quiet=asked.quiet) as told:
        prepared = options.prepare(asked, asked.against, told)
        from onnxpert.engine import api

        report = api.verify(
            asked.file,
            prepared.model,
            prepared.args,
            kwargs=prepared.kwargs,
            target=asked.target,
            kernel_library=asked.kernel_library,
            progress=told,
        )
    return reports.deliver(report, asked)
