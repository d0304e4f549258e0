"""Measures every model with every exporter and writes docs/benchmarks.md; `make bench` calls it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.exporters import EXPORTERS
from benchmarks.machine import setting
from benchmarks.models import MODELS
from benchmarks.processes import ROOT, NoAnswerError, ask
from benchmarks.results import Cost, Latency, Results, Subject, write
from benchmarks.table import page

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.render:
        results = Results.from_json(options.render.read_text(encoding="utf-8"))
    else:
        results = _run(options)
    out = options.out or (PAGE if results.setting.whole else None)
    if out is None:
        print(page(results), end="")
    else:
        write(out, page(results))
        _tell(f"wrote {out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--only", type=_some(MODELS), default=tuple(MODELS), metavar="MODEL,...",
        help=f"of {', '.join(MODELS)}")  # fmt: skip
    add("--exporters", type=_some(EXPORTERS), default=tuple(EXPORTERS), metavar="NAME,...",
        help=f"of {', '.join(EXPORTERS)}")  # fmt: skip
    add("--rounds", type=_positive, default=40, help="samples of each file's speed")
    add("--repeats", type=_positive, default=1, help="warm exports, of which the least counts")
    add("--timeout", type=_positive, default=900, help="seconds for each process")
    add("--out", type=Path, help="the page: docs/benchmarks.md, or standard output where --only or"
        " --exporters leave something out")  # fmt: skip
    add("--json", type=Path, help="the numbers, written after every model")
    add("--render", type=Path, metavar="JSON", help="the page of those numbers, measuring nothing")
    return parser


def _some(known: Mapping[str, object]) -> Callable[[str], tuple[str, ...]]:
    def chosen(text: str) -> tuple[str, ...]:
        names = text.split(",")
        unknown = ", ".join(name for name in names if name not in known)
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown}: not of {', '.join(known)}")
        return tuple(name for name in known if name in names)

    return chosen


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _run(options: argparse.Namespace) -> Results:
    whole = (options.only, options.exporters) == (tuple(MODELS), tuple(EXPORTERS))
    results = Results(setting(whole=whole), (), (), ())
    for name in options.only:
        with tempfile.TemporaryDirectory(prefix="onnxpert-bench-") as directory:
            subject, costs, latencies = _model(name, options, Path(directory))
        results = replace(
            results,
            subjects=(*results.subjects, subject),
            costs=(*results.costs, *costs),
            latencies=(*results.latencies, *latencies),
        )
        if options.json:
            write(options.json, results.to_json())
    return results


def _model(
    name: str, options: argparse.Namespace, directory: Path
) -> tuple[Subject, list[Cost], list[Latency]]:
    model = MODELS[name]
    subject = Subject(name, model.about, model.counted, model.layers)
    costs: list[Cost] = []
    for exporter in options.exporters:
        found = _cost(name, exporter, options, directory)
        if isinstance(found, str):
            _tell(f"{name}: not measured: {found}")
            return replace(subject, absent=found), [], []
        _tell(f"{name}, {exporter}: {_briefly(found)}")
        costs.append(found)
    return subject, costs, list(_latencies(name, costs, options, directory))


def _cost(name: str, exporter: str, options: argparse.Namespace, directory: Path) -> Cost | str:
    """The row, or why the model cannot be built here at all."""
    place = directory / exporter
    place.mkdir()
    command = (name, exporter, str(place), f"--repeats={options.repeats}")
    try:
        answer = ask("measure", command, directory, options.timeout)
    except NoAnswerError as error:
        return Cost(name, exporter, error=str(error))
    return str(answer["absent"]) if "absent" in answer else Cost(**answer["cost"])


def _latencies(
    name: str, costs: Sequence[Cost], options: argparse.Namespace, directory: Path
) -> Iterator[Latency]:
    files = [
        f"{cost.exporter}={directory / cost.exporter / 'model.onnx'}"
        for cost in costs
        if cost.file_bytes is not None
    ]
    if not files:
        return
    command = (name, *files, f"--rounds={options.rounds}")
    try:
        rows = [Latency(**row) for row in ask("latency", command, directory, options.timeout)]
    except NoAnswerError as error:
        rows = [Latency(name, cost.exporter, error=str(error)) for cost in costs if cost.nodes]
    for row in rows:
        speed = row.error if row.median_ms is None else f"{row.median_ms:.2f} ms"
        _tell(f"{name}, {row.exporter}: {speed}")
        yield row


def _briefly(cost: Cost) -> str:
    if cost.seconds is None:
        return f"fails: {cost.error}"
    proof = {True: ", proven", False: ", NOT PROVEN", None: ""}[cost.proven]
    return f"{cost.seconds:.2f} s{proof}"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
