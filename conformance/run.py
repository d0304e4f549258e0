"""Runs torch's operator database through onnxpert; `make conformance` writes docs/operators.md."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from conformance import pool
from conformance.page import page, summary
from conformance.results import Entry, Form, Row, read, written
from conformance.scope import OUT_OF_SCOPE
from conformance.worker import Task

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operators.md"
OWN = "own"  # stands for the first dtype that an operator takes
FORMS = {
    "static": Form(OWN),
    "dynamic": Form(OWN, dynamic=True),
    **{name: Form(name) for name in ("float16", "float64", "int64", "int32", "uint8", "bool")},
}
SAMPLES = {"static": 10, "dynamic": 6}  # of each operator at most; of the other dtypes:
SAMPLES_OF_A_DTYPE = 4


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    journal: Path = options.journal
    journal.parent.mkdir(parents=True, exist_ok=True)
    again = options.resume or options.render
    kept = list(read(journal)) if again and journal.exists() else []
    if not kept:
        journal.write_text("", encoding="utf-8")
    tasks = [] if options.render else list(plan(options, kept))
    entries = kept + _performed(tasks, options, journal)
    print(summary(entries))
    if options.out or not (options.only or options.forms != list(FORMS)):
        (options.out or PAGE).write_text(page(entries, _in_scope()), encoding="utf-8")
    return 0


def _in_scope() -> int:
    from conformance.database import operators

    return sum(
        name not in OUT_OF_SCOPE and operator.own_dtype is not None
        for name, operator in operators().items()
    )


def plan(options: argparse.Namespace, kept: Iterable[Entry] = ()) -> Iterator[Task]:
    """What is to be done, operator by operator; `kept` is done already."""
    from conformance.database import operators

    done = {(entry.operator, entry.form) for entry in kept if isinstance(entry, Row)}
    for name, operator in operators().items():
        if name in OUT_OF_SCOPE or not re.search(options.only, name):
            continue
        for key in options.forms:
            dtype = operator.own_dtype if FORMS[key].dtype == OWN else FORMS[key].dtype
            if dtype is None or dtype not in operator.dtypes:
                continue
            if key not in SAMPLES and dtype == operator.own_dtype:
                continue  # that is the form "static"
            form = Form(dtype, FORMS[key].dynamic)
            if (name, form) in done:
                continue
            most = options.samples
            limit = SAMPLES.get(key, SAMPLES_OF_A_DTYPE) if most is None else most
            yield Task(name, dtype, form.dynamic, limit, survey=key == "static")


def _performed(tasks: Sequence[Task], options: argparse.Namespace, journal: Path) -> list[Entry]:
    entries: list[Entry] = []
    started, count = time.monotonic(), 0
    with journal.open("a", encoding="utf-8") as file:

        def take(task: Task, found: Sequence[Entry]) -> None:
            nonlocal count
            count += 1
            entries.extend(found)
            file.writelines(f"{written(entry)}\n" for entry in found)
            file.flush()
            if count % 100 == 0 or count == len(tasks):
                seconds = time.monotonic() - started
                print(f"{seconds:6.0f} s  {count}/{len(tasks)}  {task.operator}", file=sys.stderr)

        pool.run(tasks, options.jobs, options.timeout, take)
    return entries


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="REGEX", help="operators whose name has a match of it")
    add("--forms", type=_forms, default=list(FORMS), metavar="FORM,...",
        help=f"of {', '.join(FORMS)}")  # fmt: skip
    add("--samples", type=int, help="of each operator and form at most; 0: all there are")
    add("--jobs", type=int, default=2, help="child processes at a time")
    add("--timeout", type=float, default=60.0, help="seconds for one sample")
    add("--resume", action="store_true", help="go on where the journal ends")
    add("--render", action="store_true", help="try nothing: the page of what the journal has")
    add("--journal", type=Path, default=ROOT / "build" / "conformance.jsonl")
    add("--out", type=Path, help="the page; docs/operators.md when everything is run")
    return parser


def _forms(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in FORMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not of {', '.join(FORMS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
