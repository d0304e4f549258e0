"""The speed of all files of one model in ONNX Runtime, interleaved in one process and thread."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from benchmarks.models import MODELS, OTHER, TIMED, Built, Inputs, Model
from benchmarks.results import Latency, said, write

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
SAMPLE_S = 0.01  # shorter samples are mostly the clock's and the scheduler's


@dataclass(frozen=True, slots=True)
class Case:
    inputs: Inputs
    expected: tuple[Array, ...]


def latency(name: str, files: Mapping[str, Path], rounds: int) -> tuple[Latency, ...]:
    """A row for eager torch, one for each file by the exporter it is from, one file twice."""
    model = MODELS[name]
    built = model.build()
    timed, other = (_case(model, built, size) for size in (TIMED, OTHER))
    rows = {"eager": Latency(name, "eager", difference=0.0, relative=0.0)}
    runs: dict[str, Callable[[], object]] = {"eager": lambda: _eager(built, timed.inputs)}
    for exporter, path in files.items():
        rows[exporter] = Latency(name, exporter)
        try:
            session = _session(path)
            rows[exporter] = _compared(rows[exporter], session, (timed, other))
            runs[exporter] = _runner(session, timed.inputs)
        except Exception as error:
            rows[exporter] = replace(rows[exporter], error=said(error))
    *_, last = runs
    if last in files:
        again = f"{last} again"
        rows[again] = replace(rows[last], exporter=again)
        runs[again] = _runner(_session(files[last]), timed.inputs)
    for exporter, samples in interleaved(runs, rounds).items():
        rows[exporter] = replace(
            rows[exporter],
            median_ms=1000 * statistics.median(samples),
            p10_ms=1000 * p10(samples),
            samples=len(samples),
        )
    return tuple(rows.values())


def interleaved(
    runs: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, tuple[float, ...]]:
    """Thread CPU seconds per call. Each round has one sample of everybody, and another order."""
    names = list(runs)
    # as many calls in each one's sample, or the longer samples would have the warmer caches
    calls = max(1, round(SAMPLE_S / max(min(_once(run) for run in runs.values()), 1e-6)))
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            runs[name]()  # the one before had the caches
            samples[name].append(_sample(runs[name], calls))
    return {name: tuple(seconds) for name, seconds in samples.items()}


def _once(run: Callable[[], object]) -> float:
    """The second call's time: the first one allocates."""
    run()
    return _sample(run, 1)


def _sample(run: Callable[[], object], calls: int) -> float:
    before = time.thread_time()
    for _ in range(calls):
        run()
    return (time.thread_time() - before) / calls


def p10(samples: Sequence[float]) -> float:
    return sorted(samples)[(len(samples) - 1) // 10]


def _eager(built: Built, inputs: Inputs) -> Any:
    args, kwargs = inputs
    with torch.no_grad():
        return built.module(*args, **kwargs)


def _case(model: Model, built: Built, size: tuple[int, int]) -> Case:
    inputs = model.example(built, size)
    leaves = pytree.tree_leaves(_eager(built, inputs))
    return Case(inputs, tuple(leaf.numpy() for leaf in leaves if isinstance(leaf, Tensor)))


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _feeds(session: Any, inputs: Inputs) -> dict[str, Array]:
    """By name where the names are the model's own, else in order."""
    args, kwargs = inputs
    names = [value.name for value in session.get_inputs()]
    if set(names) <= set(kwargs):
        return {name: kwargs[name].numpy() for name in names}
    given = [*args, *kwargs.values()]
    if len(names) != len(given):
        raise ValueError(f"the file has {len(names)} inputs, the model takes {len(given)}")
    return {name: value.numpy() for name, value in zip(names, given, strict=True)}


def _runner(session: Any, inputs: Inputs) -> Callable[[], object]:
    feeds = _feeds(session, inputs)
    return lambda: session.run(None, feeds)


def _compared(row: Latency, session: Any, cases: Sequence[Case]) -> Latency:
    differences, parts = [], []
    for case in cases:
        found = session.run(None, _feeds(session, case.inputs))
        if len(found) != len(case.expected):
            raise ValueError(f"the file gives {len(found)} outputs, the model {len(case.expected)}")
        for ours, theirs in zip(found, case.expected, strict=True):
            differences.append(differ(ours, theirs))
            # random weights make some outputs tiny: a difference says little without their size
            parts.append(differences[-1] and differences[-1] / largest(theirs))
    return replace(row, difference=max(differences), relative=max(parts))


def differ(found: Array, expected: Array) -> float:
    """The largest difference; raises for another shape or a NaN of its own."""
    if found.shape != expected.shape:
        raise ValueError(f"the file gives the shape {found.shape}, the model {expected.shape}")
    if not np.array_equal(np.isnan(found), np.isnan(expected)):
        raise ValueError("the file and the model have NaN in different places")
    apart = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    return float(np.nan_to_num(apart, nan=0.0).max(initial=0))


def largest(array: Array) -> float:
    return float(np.abs(np.nan_to_num(array)).max(initial=0)) or float(np.finfo(np.float32).tiny)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("files", nargs="+", metavar="EXPORTER=PATH")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--answer", type=Path, required=True, help="the file to answer in")
    options = parser.parse_args()
    torch.set_num_threads(1)
    files = {name: Path(path) for name, path in (item.split("=", 1) for item in options.files)}
    rows = latency(options.model, files, options.rounds)
    write(options.answer, json.dumps([asdict(row) for row in rows]))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
