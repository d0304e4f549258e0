"""The page of a run: docs/benchmarks.md as Markdown, from the results alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from benchmarks.results import Cost, Latency, Results, Subject

YARDSTICK, DYNAMO, LEGACY, OURS = "torch.export", "dynamo", "legacy", "onnxpert"
TITLES = {
    YARDSTICK: "torch.export",
    DYNAMO: "torch.onnx",
    LEGACY: "old torch.onnx",
    OURS: "onnxpert",
    "eager": "eager torch",
}
WRITERS = (DYNAMO, LEGACY, OURS)
NOTHING = "-"
SLACK = 1.03  # two runs of one file differ by so much

Row: TypeAlias = Sequence[str]


@dataclass(slots=True)
class Notes:
    """The footnotes so far; the same words are one note."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"[^{self.texts.index(text) + 1}]"

    def lines(self) -> list[str]:
        return [f"[^{number}]: {text}" for number, text in enumerate(self.texts, start=1)]


def page(results: Results) -> str:
    notes = Notes()
    sections = (
        _opening(results),
        _cost(results, notes),
        _speed(results, notes),
        _memory(results, notes),
        _growth(results),
        _absent(results),
        notes.lines(),
    )
    return "\n\n".join("\n".join(section).rstrip() for section in sections if section) + "\n"


def _opening(results: Results) -> list[str]:
    setting = results.setting
    versions = ", ".join(f"{name} {version}" for name, version in setting.versions)
    lines = [
        "<!-- Written by `make bench`: change benchmarks/ and run that. -->",
        "# Benchmarks",
        "",
        "What an export costs and how fast its file runs, beside torch's own exporters.",
        "`torch.onnx` is `torch.onnx.export(dynamo=True)`, the old one `dynamo=False`. Models have random",
        "weights; the batch is dynamic, and the sequence where the model has one.",
        "",
        f"Measured on {setting.day}: {setting.machine}; {versions}.",
    ]
    if not setting.whole:
        lines.append("**A part of the set only.**")
    paces = [cost.pace_s for cost in results.costs if cost.pace_s]
    if paces:
        lines.append(
            f"A fixed piece of Python took between {min(paces):.3f} and {max(paces):.3f} s in the "
            f"{len(paces)} processes: so steady was the machine."
        )
    return lines


# ---- export


def _cost(results: Results, notes: Notes) -> list[str]:
    others = (DYNAMO, LEGACY, OURS)
    header = ("model", TITLES[YARDSTICK], *(TITLES[name] for name in others), "proof by onnxpert")
    rows = [
        (
            subject.about,
            _seconds(results.cost(subject.name, YARDSTICK), None, notes),
            *(
                _seconds(
                    results.cost(subject.name, name), results.cost(subject.name, YARDSTICK), notes
                )
                for name in others
            ),
            _proof(results.cost(subject.name, OURS), notes),
        )
        for subject in _present(results)
    ]
    means = [_mean(results, name, YARDSTICK) for name in others]
    rows.append(("geometric mean", "1.00x", *(_times(mean) for mean, _ in means), ""))
    return [
        "## Cost of an export",
        "",
        "CPU seconds on one thread, each exporter in a process of its own: the second export of the",
        "model in that process, and in brackets how many times `torch.export.export(strict=False)`",
        "alone that is. The proof is not in onnxpert's seconds; it has its own column.",
        "",
        *_table(header, rows),
        "",
        *_cost_in_words(results),
    ]


def _cost_in_words(results: Results) -> list[str]:
    above, models = _mean(results, OURS, YARDSTICK)
    faster, both = _mean(results, DYNAMO, OURS)
    left_out = [s.about for s in _present(results) if not s.counted]
    lines = []
    if above is not None:
        lines.append(
            f"onnxpert takes {above:.2f} times the CPU time of torch.export alone "
            f"(geometric mean of {_counted(models)})."
        )
    if faster is not None:
        lines.append(
            f"torch.onnx takes {faster:.2f} times that of onnxpert "
            f"(geometric mean of {_counted(both)})."
        )
    if left_out:
        lines.append(f"Not in the means, but there for the growth: {'; '.join(left_out)}.")
    lines += _unfit(results)
    return lines


def _unfit(results: Results) -> list[str]:
    """Where onnxpert was tried and gave no file, or one that it could not prove."""
    tried = [(s.about, c) for s in _present(results) if (c := results.cost(s.name, OURS))]
    failed = [about for about, cost in tried if cost.seconds is None]
    unproven = [about for about, cost in tried if cost.seconds is not None and not cost.proven]
    lines = [f"**onnxpert exports no file of: {'; '.join(failed)}.**"] if failed else []
    return lines + ([f"**onnxpert does not prove: {'; '.join(unproven)}.**"] if unproven else [])


def _seconds(cost: Cost | None, yardstick: Cost | None, notes: Notes) -> str:
    if cost is None:
        return NOTHING
    if cost.seconds is None:
        return _failed(cost.error, notes)
    text = f"{cost.seconds:.2f}"
    if yardstick is not None and yardstick.seconds:
        text += f" ({cost.seconds / yardstick.seconds:.2f}x)"
    if cost.warm_error:
        text += notes.mark(f"The first export: a second one fails. {_code(cost.warm_error)}")
    return text


def _proof(cost: Cost | None, notes: Notes) -> str:
    if cost is None or (cost.proof_s is None and not cost.proof_error):
        return NOTHING
    if cost.proof_s is None:
        return _failed(cost.proof_error, notes)
    return f"{cost.proof_s:.2f}" if cost.proven else f"**not proven**, {cost.proof_s:.2f}"


def _mean(results: Results, upper: str, lower: str) -> tuple[float | None, int]:
    """The geometric mean of seconds over seconds, and of how many models that is."""
    ratios = []
    for subject in _present(results):
        above, below = (results.cost(subject.name, name) for name in (upper, lower))
        if subject.counted and above and below and above.seconds and below.seconds:
            ratios.append(above.seconds / below.seconds)
    return geometric_mean(ratios), len(ratios)


def geometric_mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    return math.exp(sum(map(math.log, values)) / len(values))


# ---- runtime


def _speed(results: Results, notes: Notes) -> list[str]:
    if not results.latencies:
        return []
    header = (
        "model",
        TITLES["eager"],
        *(TITLES[name] for name in WRITERS),
        "onnxpert to torch's faster",
        "a file to itself",
        *(f"difference: {TITLES[name]}" for name in WRITERS),
    )
    subjects = [s for s in _present(results) if _any_latency(results, s)]
    rows = [
        (
            subject.about,
            _milliseconds(results.latency(subject.name, "eager"), notes),
            *(_milliseconds(results.latency(subject.name, name), notes) for name in WRITERS),
            _times(ratio(results, subject.name)),
            _times(noise(results, subject.name)),
            *(_difference(results.latency(subject.name, name), notes) for name in WRITERS),
        )
        for subject in subjects
    ]
    ratios = {s.about: r for s in subjects if (r := ratio(results, s.name)) is not None}
    counted = [ratios[s.about] for s in subjects if s.counted and s.about in ratios]
    mean = _times(geometric_mean(counted))
    rows.append(("geometric mean", *(("",) * (len(WRITERS) + 1)), mean, *(("",) * 4)))
    return [
        "## Speed of the file in ONNX Runtime",
        "",
        "Milliseconds of CPU time of the one thread that runs it, median / 10th percentile; all files",
        "of a model in one process, in turns. The comparison is of 10th percentiles, with the faster of",
        "torch's two files that compute what the model computes; beside it stands what comes out when one",
        "file is loaded twice and compared with itself. Differences are the largest to eager torch at two",
        "sizes other than the exported one, as a part of the largest value of that output.",
        "",
        *_table(header, rows),
        "",
        *_speed_in_words(ratios),
    ]


def _speed_in_words(ratios: dict[str, float]) -> list[str]:
    if not ratios:
        return []
    slower = {name: value for name, value in ratios.items() if value > SLACK}
    line = (
        f"Within {SLACK - 1:.0%} of the faster of torch's files, or before it: "
        f"{len(ratios) - len(slower)} of {_counted(len(ratios))}."
    )
    names = ", ".join(f"{name} ({value:.2f}x)" for name, value in slower.items())
    return [line, f"Slower: {names}."] if slower else [line]


def ratio(results: Results, model: str) -> float | None:
    """The time of onnxpert's file over that of the faster right one of torch's."""
    ours = results.latency(model, OURS)
    rivals = [results.latency(model, name) for name in (DYNAMO, LEGACY)]
    times = [row.p10_ms for row in rivals if row is not None and row.p10_ms and not row.wrong]
    if ours is None or ours.p10_ms is None or ours.wrong or not times:
        return None
    return ours.p10_ms / min(times)


def noise(results: Results, model: str) -> float | None:
    """The larger over the smaller of two times of one file."""
    for name in WRITERS:
        once, again = (results.latency(model, each) for each in (name, f"{name} again"))
        if once and again and once.p10_ms and again.p10_ms:
            return max(once.p10_ms, again.p10_ms) / min(once.p10_ms, again.p10_ms)
    return None


def _milliseconds(row: Latency | None, notes: Notes) -> str:
    if row is None:
        return NOTHING
    if row.median_ms is None or row.p10_ms is None:
        return _failed(row.error, notes)
    return f"{row.median_ms:.2f} / {row.p10_ms:.2f}"


def _difference(row: Latency | None, notes: Notes) -> str:
    if row is None or row.relative is None:
        return NOTHING
    text = f"{row.relative:.0e}"
    return f"**{text}**{notes.mark('Not what the model computes.')}" if row.wrong else text


def _any_latency(results: Results, subject: Subject) -> bool:
    return any(row.model == subject.name for row in results.latencies)


# ---- memory, nodes, size


def _memory(results: Results, notes: Notes) -> list[str]:
    header = (
        "model",
        *(f"peak: {TITLES[name]}" for name in (YARDSTICK, *WRITERS)),
        *(f"nodes: {TITLES[name]}" for name in WRITERS),
        *(f"file: {TITLES[name]}" for name in WRITERS),
    )

    def cells(model: str, names: Iterable[str], cell: Callable[[Cost], str]) -> list[str]:
        costs = (results.cost(model, name) for name in names)
        return [NOTHING if cost is None else cell(cost) for cost in costs]

    rows = [
        (
            subject.about,
            *cells(subject.name, (YARDSTICK, *WRITERS), lambda cost: _peak(cost, notes)),
            *cells(subject.name, WRITERS, lambda cost: str(cost.nodes or NOTHING)),
            *cells(subject.name, WRITERS, _file),
        )
        for subject in _present(results)
    ]
    return [
        "## Memory, nodes and files",
        "",
        "The peak of resident memory during the first export in MiB, and in brackets by how much it is",
        "above what was resident before; ONNX nodes, those in subgraphs and functions too; the file and",
        "its external data in MiB.",
        "",
        *_table(header, rows),
    ]


def _peak(cost: Cost, notes: Notes) -> str:
    if cost.peak_mib is None:
        return NOTHING
    text = f"{cost.peak_mib:.0f}"
    if cost.start_mib is not None:
        text += f" (+{max(cost.peak_mib - cost.start_mib, 0):.0f})"
    if cost.peak_is_of_process:
        text += notes.mark("Of the whole process: the peak could not be reset before the export.")
    return text


def _file(cost: Cost) -> str:
    return NOTHING if cost.file_bytes is None else f"{cost.file_bytes / 2**20:.1f}"


# ---- growth with depth


def _growth(results: Results) -> list[str]:
    deep = sorted((s.layers, s) for s in _present(results) if s.layers is not None)
    if len(deep) < 2:
        return []
    names = (YARDSTICK, *WRITERS)
    header = ("layers", *(TITLES[name] for name in names))
    rows = [
        (str(layers), *(_per_layer(results.cost(subject.name, name), layers) for name in names))
        for layers, subject in deep
    ]
    (few, shallow), (many, deepest) = deep[-2:]
    rows.append(
        (
            f"{few} to {many}",
            *(
                _added(
                    results.cost(shallow.name, name), results.cost(deepest.name, name), many - few
                )
                for name in names
            ),
        )
    )
    return [
        "## Growth with depth",
        "",
        "One Llama at several depths: CPU seconds per layer (and in all). The last line is what each",
        "further layer costs, which is free of what an export costs at any depth.",
        "",
        *_table(header, rows),
    ]


def _per_layer(cost: Cost | None, layers: int) -> str:
    if cost is None or cost.seconds is None:
        return NOTHING
    return f"{cost.seconds / layers:.3f} ({cost.seconds:.2f})"


def _added(shallow: Cost | None, deep: Cost | None, layers: int) -> str:
    if not shallow or not deep or shallow.seconds is None or deep.seconds is None:
        return NOTHING
    return f"{(deep.seconds - shallow.seconds) / layers:.3f}"


# ---- what is not there


def _absent(results: Results) -> list[str]:
    absent = [subject for subject in results.subjects if subject.absent]
    if not absent:
        return []
    why: dict[str, list[str]] = {}
    for subject in absent:
        why.setdefault(subject.absent, []).append(subject.about)
    return [
        "## Not measured",
        "",
        *(f"- {'; '.join(names)}: {_code(reason)}" for reason, names in why.items()),
    ]


def _present(results: Results) -> list[Subject]:
    return [subject for subject in results.subjects if not subject.absent]


# ---- Markdown


def _failed(error: str, notes: Notes) -> str:
    return f"fails{notes.mark(_code(error or 'no reason given'))}"


def _code(text: str) -> str:
    """Foreign words, kept from being read as Markdown."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _times(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}x"


def _counted(number: int) -> str:
    return f"{number} model" if number == 1 else f"{number} models"


def _table(header: Row, rows: Iterable[Row]) -> list[str]:
    rule = ["---", *("--:" for _ in header[1:])]
    return [_line(row) for row in (header, rule, *rows)]


def _line(cells: Row) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
