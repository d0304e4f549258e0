"""A model's own source, rewritten so that it exports without help, and proven before it is offered."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onnxpert.core.errors import UsageError
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import replace
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.fixing.offering import Fixed, best_proven, proven
from onnxpert.engine.fixing.plain import files_run, quiet
from onnxpert.engine.fixing.searching import Score, Search
from onnxpert.engine.fixing.trying import Job
from onnxpert.engine.sources import Prepared
from onnxpert.repair.source import text as files

# Seconds of this thread's: for the search of a change, for the export of the model as it is with which
# it begins.
_SEARCH, _FIRST = 40.0, 10.0
_NAN = re.compile("isnan|isfinite|isinf|nan_to_num|nanmean|nansum")
_LATE = (
    f"the search for changes was ended after {_SEARCH:.0f} s: a longer one might find a better one"
)


def fix(
    source: str,
    inputs: Sequence[str] = (),
    inputs_file: str | None = None,
    *,
    evaluate: bool = False,
    consent: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Fixed:
    """The diff that makes a model exportable, proven against the model as it is.

    `consent` lets in codemods that change what is computed. Raises UsageError for a source whose
    Python is not the user's own."""
    job = Job(source, tuple(inputs), inputs_file, evaluate, options)
    with quiet():
        return _fixed(job, consent, Clock(progress))


def _fixed(job: Job, consent: bool, clock: Clock) -> Fixed:
    until = time.thread_time() + _SEARCH
    with clock.stage("read"):
        found = _own_files(job.source, job.load())
        contents = {path: files.read(path).content for path in found}
    if not contents:
        raise UsageError(
            f"{job.source} has no Python of yours that could be mended",
            "name a model in a .py file",
        )
    job = dataclasses.replace(job, nan=any(map(_NAN.search, contents.values())))
    with clock.stage("diagnose"):
        as_it_is = job.tried(contents, within=_FIRST)
        goal = Score.of(job.load()).told(as_it_is.report)
        search = Search(job, contents, as_it_is, goal, consent, until)
    with clock.stage("rewrite") as notes:
        sound = search.sound()
        kept = search.useful(sound)
        notes.append(", ".join(each.name for each in kept))
    with clock.stage("prove"):
        fixed = best_proven(search, sound, kept)
    if as_it_is.cut and not fixed.diff:  # then the findings are all that there is to be had
        with clock.stage("diagnose"):
            whole = replace(search, as_it_is=job.tried(contents))
            fixed = replace(fixed, before=whole.before) if kept else proven(whole, [])
    # What torch takes by itself has nothing left to be found.
    late = (_LATE,) if search.is_late and not fixed.plain else ()
    return replace(fixed, notes=(*fixed.notes, *late))  # type: ignore[no-any-return]


def _own_files(source: str, prepared: Prepared) -> Iterator[Path]:
    """The user's files that the model runs through, the named one first."""
    named = Path(source.partition(".py")[0] + ".py")
    own = (
        file
        for file in files_run(prepared)
        if os.path.isfile(file) and ownership(file) == Owner.USER
    )
    found = [*([named] if named.is_file() else []), *map(Path, own)]
    yield from dict.fromkeys(path.resolve() for path in found)


def apply(fixed: Fixed) -> tuple[Path, ...]:
    """Write the files that change, each at once, as they were in mode, encoding and line ends."""
    changed = []
    for path, content in fixed.contents.items():
        text = files.read(path)
        if text.content != content:
            files.write(text, content)
            changed.append(path)
    return tuple(changed)
