"""`onnxpert diagnose`: every blocker in one run, and no file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from onnxpert.cli import budget, options, reports, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import Progress

if TYPE_CHECKING:
    from onnxpert.engine.formats import Report


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="the model, see below")
    options.source_options(parser)
    options.model_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report there instead")
    reports.options(parser)
    budget.options(parser)
    options.repro_option(parser)
    options.screen_options(parser)
    parser.set_defaults(action="diagnose")
    parser.epilog = f"{options.SOURCES}\n\n{options.INPUTS}"


@command(
    "diagnose", summary="every reason why a model cannot be exported", order=2, options=_options
)
def diagnose(asked: Namespace) -> int:
    """Say every reason why a model cannot be exported as it stands. Writes no model."""
    reports.check(asked, *filter(None, [asked.output]))
    with results.kept_clean():
        report = budget.run(asked, lambda told: _diagnosed(asked, told))
    return reports.deliver(report, asked, asked.output)


def _diagnosed(asked: Namespace, told: Progress) -> Report:
    prepared = options.prepare(asked, asked.source, told)
    from onnxpert.engine import api

    return api.diagnose(
        prepared.model, prepared.args, progress=told, **options.request(asked, prepared)
    )
