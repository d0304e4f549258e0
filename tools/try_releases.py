"""Write files for older releases of ONNX Runtime, and run them there: real wheels, own environments.

    python tools/try_releases.py 1.17 1.20 1.23 --work /tmp/releases

Each release gets a virtual environment below --work (kept for the next time), with the newest patch
release that the package index has. Models are exported with `runtime_version=`, run in that
environment on their example, and compared with torch; the last column is the installed release.
--opsets exports each of them at every opset from 13 on, and has the installed release prove it.
--write puts the tables into docs/versions.md."""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import onnxpert
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.tolerance import tolerance

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.tables import Table

F = nn.functional
PAGE = "versions.md"
OPSETS = range(13, 27)
_RUN = """
import json, sys
import numpy as np, onnxruntime as ort
path, feeds, answers = sys.argv[1:]
options = ort.SessionOptions()
options.log_severity_level = 4
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
given = np.load(feeds)
results = session.run(None, {i.name: given[i.name] for i in session.get_inputs()})
np.savez(answers, *results)
print(json.dumps(ort.__version__))
"""


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


class InHalf(nn.Module):
    """Half precision inside, float32 outside: numpy has no bfloat16 to feed."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GELU(), nn.LayerNorm(6), nn.Flatten())
        self.body.append(nn.Linear(144, 3))
        self.body.to(dtype)
        self.dtype = dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x.to(self.dtype)).float()


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(8, 8, 2, batch_first=True, bidirectional=True)
        self.last = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.cells(x)[0])


class Trial(NamedTuple):
    model: nn.Module
    example: torch.Tensor
    computed_in: str = "float32"
    quantize: str = ""


def models() -> dict[str, Trial]:
    image, rows, words = torch.randn(2, 3, 8, 8), torch.randn(3, 6), torch.randn(2, 5, 8)
    conv = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU6(), nn.MaxPool2d(2), nn.Hardswish()
    )
    group = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.Upsample(scale_factor=2)
    )
    narrow = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 4))
    return {
        "convolutions": Trial(conv, image),
        "group norm": Trial(group, image),
        "transformer": Trial(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), words),
        "attention": Trial(Calls(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)), words),
        "LSTM": Trial(Tagger(), words),
        "selection": Trial(Calls(lambda x: (x.topk(2), x[x > 0], x.argsort(), x.cumsum(1))), rows),
        "resize": Trial(Calls(lambda x: F.interpolate(x, (5, 5), mode="bilinear", antialias=True)), image),
        "norms": Trial(nn.Sequential(nn.LayerNorm(6), nn.GELU(), nn.RMSNorm(6), nn.Softmax(-1)), rows),
        "float16": Trial(InHalf(torch.float16), image, "float16"),
        "bfloat16": Trial(InHalf(torch.bfloat16), image, "bfloat16"),
        "quantised in torch, static": Trial(static(narrow, rows), rows),
        "quantised in torch, dynamic": Trial(dynamic(narrow), rows),
        "int8-dynamic": Trial(narrow, rows, quantize="int8-dynamic"),
        "int8-static": Trial(conv, image, quantize="int8-static"),
        "int4-weight": Trial(narrow, rows, quantize="int4-weight"),
    }  # fmt: skip


def static(model: nn.Module, example: torch.Tensor) -> nn.Module:
    """As eager mode quantises a model: observed, and converted."""
    from torch.ao import quantization

    with warnings.catch_warnings(action="ignore"):  # what torch says of torch.ao's future
        wrapped = quantization.QuantWrapper(copy.deepcopy(model).eval())
        wrapped.qconfig = quantization.get_default_qconfig("x86")
        watched = quantization.prepare(wrapped)
        watched(example)
        return quantization.convert(watched)


def dynamic(model: nn.Module) -> nn.Module:
    from torch.ao import quantization

    with warnings.catch_warnings(action="ignore"):
        return quantization.quantize_dynamic(model.eval(), {nn.Linear}, dtype=torch.qint8)


def environment(release: str, work: Path) -> Path:
    """The Python of an environment that has this release."""
    place = work / release
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        # The first releases were built before numpy 2, and say no upper bound.
        numpy = ["numpy<2"] if tuple(map(int, release.split(".")[:2])) < (1, 19) else []
        wish = [
            f"onnxruntime=={release}.*" if release.count(".") == 1 else f"onnxruntime=={release}"
        ]
        subprocess.run([python, "-m", "pip", "install", "-q", *wish, *numpy], check=True)
    return python


def tried(python: Path, release: str, name: str, work: Path) -> str:
    """`ok` with the largest difference, or what went wrong, in a few words."""
    trial = models()[name]
    trial.model.eval()
    path, feeds, answers = (work / f"m.{kind}" for kind in ("onnx", "npz", "out.npz"))
    report = onnxpert.export(
        trial.model, (trial.example,), path, input_names=["x"], **_options(trial, release)
    )
    np.savez(feeds, x=trial.example.numpy())
    done = subprocess.run(
        [python, "-c", _RUN, path, feeds, answers], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return "refused: " + done.stderr.strip().splitlines()[-1][:120]
    with torch.no_grad():
        wanted = [leaf for _, leaf in flatten_outputs(trial.model(trial.example))]
    got = [torch.from_numpy(one) for one in np.load(answers).values()]
    furthest = max(
        float((a.double() - b.double()).abs().max()) for a, b in zip(got, wanted, strict=True)
    )
    word = "ok" if _agree(trial, got, wanted, furthest) else "differs"
    return f"{word}, {furthest:.0e} (opset {report.opset}, {json.loads(done.stdout)})"


def _options(trial: Trial, release: str) -> dict[str, Any]:
    wish: dict[str, Any] = {"quantize": trial.quantize} if trial.quantize else {}
    return {**wish, "runtime_version": release} if release else wish


def _agree(trial: Trial, got: Any, wanted: Any, furthest: float) -> bool:
    if trial.quantize:  # the bound of the option, a share of the norm
        bound = 0.25 if trial.quantize == "int4-weight" else 0.1
        return all(
            float((a - b).norm() / b.norm()) <= bound for a, b in zip(got, wanted, strict=True)
        )
    relative, absolute = tolerance(trial.computed_in)
    largest = max(float(one.abs().max()) for one in wanted)
    return furthest <= (relative + absolute) * max(largest, 1)


def by_release(releases: list[str], work: Path) -> tuple[Table, int]:
    """The table, and how many of its cells are not as they should be."""
    table = Table("model", *releases, "installed")
    pythons = {release: environment(release, work) for release in releases}
    pythons[""] = Path(sys.executable)
    bad = 0
    for name in models():
        cells = [tried(python, release, name, work) for release, python in pythons.items()]
        bad += sum(not cell.startswith("ok") for cell in cells)
        table.add(name, *cells)
    return table, bad


def by_opset(work: Path) -> tuple[Table, int]:
    """At which opsets a model is exported and proven, and what it says at the others.

    Beside it how often something else was said than that the opset is too low."""
    table = Table("model", "proven at opsets", "refused at")
    bad = 0
    for name, trial in models().items():
        proven: list[int] = []
        refused: dict[str, list[int]] = {}
        for opset in OPSETS:
            try:
                onnxpert.export(
                    trial.model.eval(), (trial.example,), work / "m.onnx",
                    opset_version=opset, **_options(trial, ""),
                )  # fmt: skip
                proven.append(opset)
            except onnxpert.ExportError as error:
                blocking = [f for f in error.report.findings if f.blocks]
                bad += any(finding.rule != "OPS502" for finding in blocking)
                said = "; ".join(dict.fromkeys(finding.message for finding in blocking))
                refused.setdefault(said.replace(f"opset {opset}", "it"), []).append(opset)
        told = "; ".join(f"{_span(opsets)}: {said}" for said, opsets in refused.items())
        table.add(name, _span(proven), told)
    return table, bad


def _span(opsets: list[int]) -> str:
    if not opsets:
        return "none"
    whole = opsets == list(range(opsets[0], opsets[-1] + 1)) and len(opsets) > 1
    return f"{opsets[0]} to {opsets[-1]}" if whole else ", ".join(map(str, opsets))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "releases")
    parser.add_argument("--opsets", action="store_true", help="try every opset as well")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/versions.md")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    table, bad = by_release(asked.releases, asked.work)
    if asked.write:
        table.put(PAGE, "releases")
    if asked.opsets:
        table, worse = by_opset(asked.work)
        bad += worse
        if asked.write:
            table.put(PAGE, "opsets")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
