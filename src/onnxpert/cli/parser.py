"""The parser of the command line, made of the commands that are there."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import NoReturn

from onnxpert import __version__
from onnxpert.cli import commands
from onnxpert.cli.command import Command
from onnxpert.core.collect import collect
from onnxpert.core.errors import UsageError

ABOUT = "Export any PyTorch model to a proven ONNX file, or say every reason why not."
ENDING = """\
a first try:
  onnxpert export model.py:Net --input "x=float32[batch=2,3,224,224]" -o net.onnx

exit codes: 0 fine, 1 findings or a failed proof, 2 misuse or crash"""


class Parser(ArgumentParser):
    """An ArgumentParser whose complaints are UsageErrors, printed like all the others."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help")


class Layout(RawDescriptionHelpFormatter):
    """Keeps the line breaks of descriptions, and gives options room for their names."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)


def catalogue() -> Mapping[str, Command]:
    """Every command by its name."""
    return collect(commands, Command, lambda each: (each.name,))


def parser() -> Parser:
    top = Parser(
        prog="onnxpert",
        description=ABOUT,
        epilog=ENDING,
        formatter_class=Layout,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"onnxpert {__version__}")
    words = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for each in sorted(catalogue().values(), key=lambda known: known.order):
        # `allow_abbrev=False`: an option added later must not change what a script means.
        added = words.add_parser(
            each.name,
            help=each.summary,
            description=each.about,
            formatter_class=Layout,
            allow_abbrev=False,
        )
        each.options(added)
        added.set_defaults(run=each.run)
    return top
