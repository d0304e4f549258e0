"""The page of a run: docs/benchmarks.md as Markdown, from the results alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from benchmarks.markdown import NOTHING, Notes, code, counted, failed, table, times
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
SLACK = 1.03  # two runs of one file differ by so much
BUSY = 1.3  # CPU seconds are longer ones beside busy neighbours


def page(results: Results) -> str:
    notes = Notes()
    sections = (
        _opening(results),
        _absent(results),
        _cost(results, notes),
        _speed(results, notes),
        _memory(results, notes),
        _growth(results),
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
    paces = _paces(results)
    if paces:
        lines.append(
            f"A fixed piece of Python took {min(paces):.3f} to {max(paces):.3f} s in the processes that "
            f"exported; what is from one where it took over {BUSY} times the least is marked."
        )
    return lines


def _paces(results: Results) -> list[float]:
    return [cost.pace_s for cost in results.costs if cost.pace_s]


# ---- export


def _cost(results: Results, notes: Notes) -> list[str]:
    others = (DYNAMO, LEGACY, OURS)
    header = ("model", TITLES[YARDSTICK], *(TITLES[name] for name in others), "proof by onnxpert")
    rows = [
        (
            subject.about,
            *(_seconds(results, subject, name, notes) for name in (YARDSTICK, *others)),
            _proof(results.cost(subject.name, OURS), notes),
        )
        for subject in _present(results)
    ]
    for title, cold in (("geometric mean", False), ("... of first exports", True)):
        means = [_mean(results, name, YARDSTICK, cold=cold)[0] for name in others]
        rows.append((title, "1.00x", *map(times, means), ""))
    return [
        "## Cost of an export",
        "",
        "CPU seconds on one thread, each exporter in a process of its own: the second export of the",
        "model in that process, and in brackets how many times `torch.export.export(strict=False)`",
        "alone that is. The first export, with cold caches, is in the last line. The proof is not in",
        "onnxpert's seconds; it has its own column. Of an LSTM, torch.export is measured with the patch by",
        "which torch.onnx keeps the time axis dynamic: without it, it unrolls the example's length.",
        "",
        *table(header, rows),
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
            f"(geometric mean of {counted(models)})."
        )
    if faster is not None:
        lines.append(
            f"torch.onnx takes {faster:.2f} times that of onnxpert "
            f"(geometric mean of {counted(both)})."
        )
    if left_out:
        lines.append(f"Not in the means, but there for the growth: {'; '.join(left_out)}.")
    lines += _unfit(results)
    return lines


def _unfit(results: Results) -> list[str]:
    """Where onnxpert was tried and gave no file, or one that it could not prove."""
    tried = [(s.about, c) for s in _present(results) if (c := results.cost(s.name, OURS))]
    lost = [about for about, cost in tried if cost.seconds is None]
    unproven = [about for about, cost in tried if cost.seconds is not None and not cost.proven]
    lines = [f"**onnxpert exports no file of: {'; '.join(lost)}.**"] if lost else []
    return lines + ([f"**onnxpert does not prove: {'; '.join(unproven)}.**"] if unproven else [])


def _seconds(results: Results, subject: Subject, name: str, notes: Notes) -> str:
    cost, yardstick = results.cost(subject.name, name), results.cost(subject.name, YARDSTICK)
    if cost is None:
        return NOTHING
    if cost.seconds is None:
        return failed(cost.error, notes)
    text = f"{cost.seconds:.2f}"
    ratio = cost.over(yardstick)
    if ratio is not None and cost is not yardstick:
        text += f" ({times(ratio)})"
    if cost.warm_error:
        text += notes.mark(f"The first export: a second one fails. {code(cost.warm_error)}")
    if cost.pace_s and cost.pace_s > BUSY * min(_paces(results)):
        text += notes.mark("The machine was busy with something else.")
    return text


def _proof(cost: Cost | None, notes: Notes) -> str:
    if cost is None or (cost.proof_s is None and not cost.proof_error):
        return NOTHING
    if cost.proof_s is None:
        return failed(cost.proof_error, notes)
    return f"{cost.proof_s:.2f}" if cost.proven else f"**not proven**, {cost.proof_s:.2f}"


def _mean(
    results: Results, upper: str, lower: str, *, cold: bool = False
) -> tuple[float | None, int]:
    """The geometric mean of seconds over seconds, and of how many models that is."""
    ratios = []
    for subject in _present(results):
        above, below = (results.cost(subject.name, name) for name in (upper, lower))
        ratio = above.over(below, cold=cold) if above and subject.counted else None
        if ratio is not None:
            ratios.append(ratio)
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
            times(ratio(results, subject.name)),
            times(noise(results, subject.name)),
            *(_difference(results.latency(subject.name, name), notes) for name in WRITERS),
        )
        for subject in subjects
    ]
    ratios = {s.about: r for s in subjects if (r := ratio(results, s.name)) is not None}
    in_mean = [ratios[s.about] for s in subjects if s.counted and s.about in ratios]
    mean = times(geometric_mean(in_mean))
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
        *table(header, rows),
        "",
        *_speed_in_words(ratios),
    ]


def _speed_in_words(ratios: dict[str, float]) -> list[str]:
    if not ratios:
        return []
    slower = {name: value for name, value in ratios.items() if value > SLACK}
    line = (
        f"Within {SLACK - 1:.0%} of the faster of torch's files, or faster: "
        f"{len(ratios) - len(slower)} of {counted(len(ratios))}."
    )
    names = ", ".join(f"{name} ({value:.2f}x)" for name, value in slower.items())
    return [line, f"Slower: {names}."] if slower else [line]


def ratio(results: Results, model: str) -> float | None:
    """The time of onnxpert's file over that of the faster right one of torch's."""
    ours = results.latency(model, OURS)
    rivals = [results.latency(model, name) for name in (DYNAMO, LEGACY)]
    theirs = [row.p10_ms for row in rivals if row is not None and row.p10_ms and not row.wrong]
    if ours is None or ours.p10_ms is None or ours.wrong or not theirs:
        return None
    return ours.p10_ms / min(theirs)


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
        return failed(row.error, notes)
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
        *table(header, rows),
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
        *table(header, rows),
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
        *(f"- {'; '.join(names)}: {code(reason)}" for reason, names in why.items()),
    ]


def _present(results: Results) -> list[Subject]:
    return [subject for subject in results.subjects if not subject.absent]
