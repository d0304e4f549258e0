"""`onnxpert fill`: weights for a file that was exported without them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from onnxpert.cli import options, reports, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import progress
from onnxpert.core.errors import ExportError, UsageError


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL.onnx", help="exported with --weights later")
    parser.add_argument(
        "weights",
        metavar="CHECKPOINT",
        nargs="+",
        help="a .safetensors or .pt file, or a folder of .safetensors files",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="default: the file itself")
    options.external_data_option(parser)
    parser.add_argument(
        "--no-copy",
        dest="copy",
        action="store_false",
        help="let the file point into the .safetensors files, which lie in its folder",
    )
    parser.add_argument(
        "--against",
        metavar="SOURCE",
        help="prove the filled file against this model, see below, before it is written; on the "
        "meta device it is given the weights, and uses its own elsewhere",
    )
    options.source_options(parser)
    reports.options(parser)
    options.screen_options(parser)
    parser.epilog = f"{options.SOURCES}\n\n{options.INPUTS}"


@command("fill", summary="put weights into a file exported without", order=4, options=_options)
def fill(asked: Namespace) -> int:
    """Put the weights of a checkpoint into an ONNX file that was exported from a model without
    values. They are read and written one at a time; nothing is changed unless all of them fit."""
    reports.check(asked)
    if asked.against is None and (asked.input or asked.inputs or asked.eval):
        raise UsageError(
            "--input, --inputs and --eval are about the model of --against, which is not given",
            "add --against SOURCE, or leave them out",
        )
    with results.kept_clean(), progress(quiet=asked.quiet) as told:
        model = options.prepare(asked, asked.against, told) if asked.against else None
        call = {"model": model.model, "args": model.args, "kwargs": model.kwargs} if model else {}
        from onnxpert.engine import filling

        try:
            report = filling.fill(
                asked.file,
                asked.weights,
                asked.output,
                external_data=asked.external_data,
                copy=asked.copy,
                progress=told,
                **call,
            )
        except ExportError as error:
            report = error.report
    return reports.deliver(report, asked)
