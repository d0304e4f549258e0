"""`onnxpert check`: whether a file, whoever wrote it, fits a runtime."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from onnxpert.cli import options, reports, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import progress
from onnxpert.core.errors import UsageError


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL.onnx", help="the file")
    options.target_option(parser)
    parser.add_argument(
        "--no-run", dest="tried", action="store_false", help="look it up in the tables only"
    )
    reports.options(parser)
    options.screen_options(parser)


@command("check", summary="whether a file fits a runtime", order=3, options=_options)
def check(asked: Namespace) -> int:
    """Look up an ONNX file, whoever wrote it, in what a runtime takes: its opset and IR version,
    its operators and their types, its sizes. Where the runtime is on this machine, load the file
    there and run it with made-up inputs."""
    if not Path(asked.file).is_file():
        raise UsageError(f"there is no file {asked.file}", "the first argument is the .onnx file")
    reports.check(asked)
    with results.kept_clean(), progress(quiet=asked.quiet) as told:
        from onnxpert.engine import api

        report = api.check(asked.file, asked.target, run=asked.tried, progress=told)
    return reports.deliver(report, asked)
