"""`onnxpert fix`: the change of the user's own source that makes a model exportable."""

from __future__ import annotations

import importlib.util
import sys
from argparse import ArgumentParser, Namespace

from onnxpert.cli import options, reports, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import progress
from onnxpert.core.errors import UsageError


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="the model, in a file of yours")
    options.source_options(parser)
    parser.add_argument("--apply", action="store_true", help="write the change into the files")
    parser.add_argument(
        "--unsafe",
        action="store_true",
        help="also changes of what is computed, where it is random or does not run now",
    )
    options.target_option(parser)
    reports.options(parser)
    options.screen_options(parser)
    parser.epilog = f"{options.SOURCES}\n\n{options.INPUTS}"


@command(
    "fix", summary="the change of your source that makes it exportable", order=3, options=_options
)
def fix(asked: Namespace) -> int:
    """Print the change of your own source, as a diff, with which the model exports without help.

    The changed source is loaded, exported and proven against the model as it is now before it is
    shown; what does not help is not in it. Comments and layout stay as they are."""
    reports.check(asked)
    if importlib.util.find_spec("libcst") is None:
        raise UsageError("fix needs libcst, which is not installed", "pip install libcst")
    with results.kept_clean(), progress(quiet=asked.quiet) as told:
        from onnxpert.engine.fixing import fix as engine

        fixed = engine.fix(
            asked.source,
            asked.input,
            asked.inputs,
            evaluate=asked.eval,
            consent=asked.unsafe,
            progress=told,
            target=asked.target,
        )
        written = engine.apply(fixed) if asked.apply else ()
    for line in _told(fixed, written):
        print(line, file=sys.stderr)
    if fixed.diff and not (asked.json or asked.format):
        reports.files(fixed.before, asked)
        results.settle(fixed.diff)
        return 0
    reports.deliver(fixed.before, asked)
    return int(fixed.exit_code)


def _told(fixed: object, written: object) -> list[str]:
    from onnxpert.engine.fixing.offering import Fixed

    assert isinstance(fixed, Fixed)
    lines = [f"note: {note}" for note in fixed.notes]
    lines += [f"{name}: {about}" for name, about in fixed.codemods]
    if fixed.consented:
        names = ", ".join(fixed.consented)
        lines.append(f"note: compared with the model after {names}, which changes what it computes")
    if fixed.diff:
        how = (
            "torch.onnx.export takes it by itself"
            if fixed.plain
            else "onnxpert takes it without repairs"
        )
        lines.append(f"proven against the model as it is; {how}")
    assert isinstance(written, tuple)
    lines += [f"changed {path}" for path in written]
    return lines
