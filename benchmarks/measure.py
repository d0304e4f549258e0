"""The cost of one exporter on one model, measured in a process that does nothing else."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import resource
import shutil
import sys
import time
import warnings
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import nn

from benchmarks.exporters import EXPORTERS, Exporter
from benchmarks.models import EXAMPLE, MODELS, Built, Inputs, Model
from benchmarks.results import Cost, said, write

MIB = 2**20


class AbsentError(Exception):
    """The model cannot be built here."""


def measure(name: str, exporter_name: str, directory: Path, repeats: int = 1) -> Cost:
    """Exports the model `1 + repeats` times, each time built anew; the first file is kept.

    The first export is the cold one; the least of the others is the warm one."""
    path = directory / "model.onnx"
    model, exporter = MODELS[name], EXPORTERS[exporter_name]
    try:
        model.build()
    except Exception as error:
        raise AbsentError(said(error)) from error
    cost = Cost(name, exporter_name, pace_s=pace())
    try:
        _warm_up(exporter, _beside(path, "linear"))
        cost = _first(cost, model, exporter, path)
    except Exception as error:
        return replace(cost, error=said(error))
    try:
        again = [_timed(model, exporter, _beside(path, "again"))[0] for _ in range(repeats)]
        cost = replace(cost, warm_s=min(again, default=None))
    except Exception as error:
        cost = replace(cost, warm_error=said(error))
    cost = replace(cost, pace_s=((cost.pace_s or 0) + pace()) / 2)
    if not exporter.writes:
        return cost
    cost = replace(cost, nodes=nodes(path), file_bytes=size(path))
    return _proven(cost, model, exporter, path)


def _beside(path: Path, folder: str) -> Path:
    """A path in an emptied folder: an exporter's external data may not meet another's."""
    shutil.rmtree(path.parent / folder, ignore_errors=True)
    (path.parent / folder).mkdir()
    return path.parent / folder / path.name


def _warm_up(exporter: Exporter, path: Path) -> None:
    """What an exporter imports and sets up on its first call is paid once, not for each model."""
    linear = Built(
        nn.Linear(2, 2).eval(),
        lambda batch, _sequence: ((torch.randn(batch, 2),), {}),
        ({0: torch.export.Dim.DYNAMIC},),
    )
    exporter.export(linear, linear.inputs(*EXAMPLE), path)


def _first(cost: Cost, model: Model, exporter: Exporter, path: Path) -> Cost:
    spent, start, peak, exact = _timed(model, exporter, path)
    return replace(cost, cold_s=spent, start_mib=start, peak_mib=peak, peak_is_of_process=not exact)


def _timed(model: Model, exporter: Exporter, path: Path) -> tuple[float, float | None, float, bool]:
    """CPU seconds; resident memory before; its peak, and whether that is of this export alone."""
    built = model.build()
    example = model.example(built, EXAMPLE)
    with torch.no_grad():
        built.module(*example[0], **example[1])  # what eager torch sets up is not the export's
    _settle()
    exact = reset_peak()
    start = _status("VmRSS")
    before = time.process_time()
    exporter.export(built, example, path)
    return time.process_time() - before, start, peak_mib(), exact


def _proven(cost: Cost, model: Model, exporter: Exporter, path: Path) -> Cost:
    if exporter.prove is None:
        return cost
    built = model.build()
    example: Inputs = model.example(built, EXAMPLE)
    before = time.process_time()
    try:
        proven = exporter.prove(built, example, path)
    except Exception as error:
        return replace(cost, proof_error=said(error))
    return replace(cost, proof_s=time.process_time() - before, proven=proven)


def pace() -> float:
    """CPU seconds of a fixed piece of Python: how fast this machine is at the moment."""
    before = time.process_time()
    table: dict[int, int] = {}
    for number in range(300_000):
        table[number % 1009] = table.get(number % 997, 0) + number
    return time.process_time() - before


def nodes(path: Path) -> int:
    """All of them, those in branches, loop bodies and local functions too."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    return _nodes(model.graph.node) + sum(_nodes(function.node) for function in model.functions)


def _nodes(members: object) -> int:
    import onnx

    total = 0
    for node in members:  # type: ignore[attr-defined]
        inner = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        total += 1 + sum(_nodes(graph.node) for graph in inner)
    return total


def size(path: Path) -> int:
    """The file and its external data."""
    return sum(part.stat().st_size for part in path.parent.iterdir() if part.is_file())


def reset_peak() -> bool:
    """Has the kernel forget the peak of resident memory so far; false where it cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def peak_mib() -> float:
    peak = _status("VmHWM")
    if peak is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB


def _status(key: str) -> float | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(key)), None)


def _settle() -> None:
    """Hands freed memory back, so that the peak is the export's and not the garbage's."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
        if trim is not None:
            trim(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("exporter", choices=EXPORTERS)
    parser.add_argument("directory", type=Path, help="an empty one, for the file")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--answer", type=Path, required=True, help="the file to answer in")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    try:
        cost = measure(options.model, options.exporter, options.directory, options.repeats)
        answer: dict[str, object] = {"cost": asdict(cost)}
    except AbsentError as error:
        answer = {"absent": str(error)}
    write(options.answer, json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # the answer is written: what libraries do at exit can only spoil it


if __name__ == "__main__":
    main()
