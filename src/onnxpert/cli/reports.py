"""Where a report goes: to stdout in one format, and to as many files as were asked for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.cli import results
from onnxpert.core.errors import UsageError
from onnxpert.engine import formats

if TYPE_CHECKING:
    from onnxpert.engine.formats import Report


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=formats.names(),
        help="how the result is printed (default: text)",
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FILE",
        help="write it to a file as well, in the format of its suffix: .html .md .json .sarif "
        ".xml .txt; repeatable",
    )
    parser.add_argument(
        "--graph", action="store_true", help="keep the whole graph in a JSON report"
    )


def check(asked: Namespace, *files: str) -> None:
    """Refuse what cannot be written before minutes are spent on the model."""
    if asked.json and asked.format not in (None, "json"):
        raise UsageError(
            f"--json and --format {asked.format} contradict each other", "leave one of them out"
        )
    for name in asked.report:
        formats.format_of(Path(name))
    for name in (*asked.report, *files):
        folder = Path(name).parent
        if not folder.is_dir():
            raise UsageError(f"cannot write {name}: {folder} does not exist", f"mkdir -p {folder}")


def files(report: Report, asked: Namespace) -> None:
    for name in asked.report:
        _write(report, Path(name), formats.format_of(Path(name)), asked)


def deliver(report: Report, asked: Namespace, output: str | None = None) -> int:
    """Write the files, print the rest, and give the exit code; `output` takes stdout's place."""
    files(report, asked)
    wanted = "json" if asked.json else asked.format or "text"
    if output is not None:
        _write(report, Path(output), wanted, asked)
    elif wanted == "text":
        results.show(report)
    elif wanted == "json":
        results.write(report.to_json(graph=asked.graph))
    else:
        results.write(report.render(wanted).rstrip("\n"))
    return report.exit_code


def _write(report: Report, path: Path, format: str, asked: Namespace) -> None:
    if format == "json" and asked.graph:
        path.write_text(report.to_json(graph=True) + "\n", encoding="utf-8")
    else:
        report.write(path, format)
