"""`onnxpert explain`: the page of a rule, or the list of all of them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from onnxpert.cli import results
from onnxpert.cli.command import command


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "rule", metavar="ID", nargs="?", help="such as SHP201; none: list the rules"
    )


@command("explain", summary="the page of a rule", order=4, options=_options)
def explain(asked: Namespace) -> int:
    """Explain a finding: what the rule looks for, why it matters, an example and its cure."""
    with results.kept_clean():
        from onnxpert.engine import pages

        shown = pages.page(asked.rule) if asked.rule else pages.index()
    results.show(shown)
    return 0
