"""`onnxpert doctor`: whether this installation can export, and run, what it should."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from onnxpert.cli import options, results
from onnxpert.cli.command import command
from onnxpert.cli.progress import progress


def _options(parser: ArgumentParser) -> None:
    options.target_option(parser)
    options.release_option(parser)
    options.screen_options(parser)


@command("doctor", summary="does this installation fit together?", order=5, options=_options)
def doctor(asked: Namespace) -> int:
    """Look at the installed versions, whether they fit each other, and what the runtime takes."""
    with results.kept_clean(), progress(quiet=asked.quiet) as told:
        start = time.monotonic()
        told("imports", "start", 0.0, "every library once, in a process of its own")
        from onnxpert.engine.doctor import examine

        diagnosis = examine(asked.target, asked.runtime_version)
        told("imports", "done", time.monotonic() - start, "")
    if asked.json:
        results.write(diagnosis.to_json())
    else:
        results.show(diagnosis)
    return diagnosis.exit_code
