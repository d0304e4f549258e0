"""Write files for older releases of ONNX Runtime, and run them there: real wheels, own environments.

    python tools/try_releases.py 1.17 1.20 1.23 --work /tmp/releases

Each release gets a virtual environment below --work (kept for the next time), with the newest patch
release that the package index has. Ten models are exported with `runtime_version=`, run in that
environment on their example, and compared with torch. --write puts the table into
docs/versions.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import onnxpert
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.tolerance import tolerance

F = nn.functional
PAGE = Path(__file__).parent.parent / "docs" / "versions.md"
BEGIN, END = "<!-- releases -->", "<!-- end of releases -->"
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


def models() -> dict[str, tuple[nn.Module, torch.Tensor, str]]:
    """Name -> model, example, the dtype it computes in."""
    image, rows, words = torch.randn(2, 3, 8, 8), torch.randn(3, 6), torch.randn(2, 5, 8)
    conv = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU6(), nn.MaxPool2d(2), nn.Hardswish()
    )
    group = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.Upsample(scale_factor=2)
    )
    return {
        "convolutions": (conv, image, "float32"),
        "group norm": (group, image, "float32"),
        "transformer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), words, "float32"),
        "attention": (Calls(lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)), words, "float32"),
        "LSTM": (Tagger(), words, "float32"),
        "selection": (Calls(lambda x: (x.topk(2), x[x > 0], x.argsort(), x.cumsum(1))), rows, "float32"),
        "resize": (Calls(lambda x: F.interpolate(x, (5, 5), mode="bilinear", antialias=True)), image, "float32"),
        "norms": (nn.Sequential(nn.LayerNorm(6), nn.GELU(), nn.RMSNorm(6), nn.Softmax(-1)), rows, "float32"),
        "float16": (InHalf(torch.float16), image, "float16"),
        "bfloat16": (InHalf(torch.bfloat16), image, "bfloat16"),
    }  # fmt: skip


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
    model, x, computed_in = models()[name]
    model.eval()
    path, feeds, answers = (work / f"m.{kind}" for kind in ("onnx", "npz", "out.npz"))
    report = onnxpert.export(model, (x,), path, input_names=["x"], runtime_version=release)
    np.savez(feeds, x=x.numpy())
    done = subprocess.run(
        [python, "-c", _RUN, path, feeds, answers], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return "refused: " + done.stderr.strip().splitlines()[-1][:120]
    with torch.no_grad():
        wanted = [leaf for _, leaf in flatten_outputs(model(x))]
    got = list(np.load(answers).values())
    furthest = max(
        float((torch.from_numpy(a).double() - b.double()).abs().max())
        for a, b in zip(got, wanted, strict=True)
    )
    relative, absolute = tolerance(computed_in)
    largest = max(float(one.abs().max()) for one in wanted)
    word = "ok" if furthest <= (relative + absolute) * max(largest, 1) else "differs"
    return f"{word}, {furthest:.0e} (opset {report.opset}, {json.loads(done.stdout)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "releases")
    parser.add_argument("--write", action="store_true", help="put the table into docs/versions.md")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    lines = [
        f"| model | {' | '.join(asked.releases)} |",
        "| --- |" + " --- |" * len(asked.releases),
    ]
    bad = 0
    pythons = {release: environment(release, asked.work) for release in asked.releases}
    for name in models():
        cells = [tried(pythons[release], release, name, asked.work) for release in asked.releases]
        bad += sum(not cell.startswith("ok") for cell in cells)
        lines.append(f"| {name} | {' | '.join(cells)} |")
        sys.stdout.write(lines[-1] + "\n")
    if asked.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
