"""`onnxpert diagnose`: every blocker in one run, and no file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from onnxpert.cli import options, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import progress
from onnxpert.core.errors import UsageError


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="the model, see below")
    options.source_options(parser)
    options.model_options(parser)
    parser.add_argument("--format", choices=("text", "json", "html"), default="text")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report there")
    options.screen_options(parser)
    parser.epilog = f"{options.SOURCES}\n\n{options.INPUTS}"


@command(
    "diagnose", summary="every reason why a model cannot be exported", order=2, options=_options
)
def diagnose(asked: Namespace) -> int:
    """Say every reason why a model cannot be exported as it stands. Writes no model."""
    wanted = _format(asked)
    with results.kept_clean(), progress(quiet=asked.quiet) as told:
        prepared = options.prepare(asked, asked.source, told)
        from onnxpert.engine import api

        report = api.diagnose(
            prepared.model, prepared.args, progress=told, **options.request(asked, prepared)
        )
    if asked.output and wanted == "html":
        report.to_html(asked.output)
    elif asked.output:
        text = report.to_json() if wanted == "json" else str(report)
        _write(text, Path(asked.output))
    elif wanted == "text":
        results.show(report)
    else:
        results.write(report.to_json() if wanted == "json" else report.as_html())
    return report.exit_code


def _write(text: str, path: Path) -> None:
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def _format(asked: Namespace) -> str:
    if asked.json and asked.format == "html":
        raise UsageError("--json and --format html contradict each other", "leave one of them out")
    if asked.output and not Path(asked.output).parent.is_dir():
        folder = Path(asked.output).parent
        raise UsageError(
            f"cannot write {asked.output}: {folder} does not exist", f"mkdir -p {folder}"
        )
    return "json" if asked.json else str(asked.format)
