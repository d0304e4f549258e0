"""Export the everyday models in half precision, six ways each, and write the table.

    python tools/try_precisions.py --write

The weights in float16 and bfloat16, `torch.autocast` in both, and `precision=` in both. Each file is
proven by the export, then loaded by ONNX Runtime once more and run at the example: the cell has the
largest difference from the model in torch there, as a share of the largest value of the output.
--write puts the table into docs/precision.md, --only takes some of the models and leaves the rows of
the others as they are."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

import onnxpert
from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.tolerance import tolerance
from onnxpert.core.types import Severity, Verdict
from onnxpert.report import Report
from onnxpert.targets import catalogue
from onnxpert.verify.arrays import to_array, to_tensor

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import models as zoo
from benchmarks.models import Built, Model
from tools.tables import Table

PAGE, MARK = "precision.md", "precisions"
HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16}
EXAMPLE = (2, 8)  # a batch, and the length of a sequence


def timm(name: str, size: int = 32, **options: Any) -> Built:
    from timm import create_model

    return zoo.image(create_model(name, pretrained=False, **options), 3, size, size)


def torchvision(name: str) -> Built:
    from torchvision import models

    return zoo.image(getattr(models, name)(weights=None), 3, 32, 32)


MODELS: dict[str, Callable[[], Built]] = {
    "resnet18 (torchvision)": partial(torchvision, "resnet18"),
    "resnet50 (timm)": partial(timm, "resnet50"),
    "mobilenet_v2 (torchvision)": partial(torchvision, "mobilenet_v2"),
    "mobilenetv3_large_100 (timm)": partial(timm, "mobilenetv3_large_100"),
    "efficientnet_b0 (timm)": partial(timm, "efficientnet_b0"),
    "convnext_atto (timm)": partial(timm, "convnext_atto"),
    "vit_tiny_patch16_224 (timm)": partial(timm, "vit_tiny_patch16_224", img_size=32),
    "swin_tiny_patch4_window7_224 (timm)": partial(
        timm, "swin_tiny_patch4_window7_224", 56, img_size=56
    ),
    "densenet121 (timm)": partial(timm, "densenet121"),
    "Bert": partial(zoo.bert, 2),
    "GPT-2": partial(zoo.gpt2, 2),
    "Llama": partial(zoo.llama, 2),
    "Qwen3": partial(zoo.qwen3, 2),
    "T5": partial(zoo.t5, 2),
    "Mixtral": partial(zoo.mixtral, 2),
    "Whisper": partial(zoo.whisper, 1),
    "LSTM": partial(zoo.lstm, 2),
    "UNet": lambda: zoo.image(zoo.UNet(16, 32, 64), 3, 32, 32),
}


def narrowed(value: Any, dtype: torch.dtype) -> Any:
    return tree_map_only(Tensor, lambda x: x.to(dtype) if x.is_floating_point() else x, value)


def variants() -> dict[str, tuple[str, str]]:
    """Column -> the way, and the dtype."""
    return {
        **{f"in {name}": ("weights", name) for name in HALF},
        **{f"autocast, {name}": ("autocast", name) for name in HALF},
        **{f'`precision="{name}"`': ("precision", name) for name in HALF},
    }


def tried(name: str, way: str, half: str, path: Path) -> tuple[str, bool]:
    """The cell of one model in one column, and whether it is as it should be."""
    about = Model(name, MODELS[name])
    built = about.build()
    module, (args, kwargs) = built.module, about.example(built, EXAMPLE)
    options: dict[str, Any] = {}
    if way == "weights":
        module = module.to(HALF[half])
        args, kwargs = narrowed((args, kwargs), HALF[half])
    elif way == "autocast":
        module.forward = torch.autocast("cpu", dtype=HALF[half])(module.forward)
    else:
        options["precision"] = half
    try:
        report = onnxpert.export(
            module, args, path, kwargs=kwargs, dynamic_shapes=built.dynamic_shapes, **options
        )
    except onnxpert.ExportError as error:
        # What torch itself raises at is no trial of ours.
        own = any(finding.rule == "INP112" for finding in error.report.findings)
        return ("torch raises" if own else refused(error.report)), own
    furthest = difference(path, module, args, kwargs, torch.finfo(HALF[half]).tiny)
    passed = furthest <= sum(tolerance(half)) or by_float32(report) > 0
    return f"{furthest:.0e}{told(report)}", passed


def by_float32(report: Report) -> int:
    """Rows of the proof that passed because the file is nearer to float32 than the model is."""
    return sum(row.verdict is Verdict.PASS and "float32" in row.detail for row in report.verified)


def told(report: Report) -> str:
    """What a reader of the number should know."""
    kept = sum(finding.rule == "DTY903" for finding in report.findings)
    said = [f"{kept} in float32"] if kept else []
    if rows := by_float32(report):
        said.append(f"{rows} of {len(report.verified)} rows nearer to float32 than torch")
    return f" ({', '.join(said)})" if said else ""


def refused(report: Report) -> str:
    said = dict.fromkeys(f.message for f in report.findings if f.severity is Severity.ERROR)
    return "no file: " + ("; ".join(said)[:150] or "not proven")


def difference(path: Path, module: nn.Module, args: Any, kwargs: Any, least: float) -> float:
    """The largest difference of any output from torch's, as a share of its largest value.

    With random weights that may be below the smallest number that a type has all its digits for:
    then it is a share of that."""
    with torch.no_grad():
        wanted = [leaf.double() for _, leaf in flatten_outputs(module(*args, **kwargs))]
    given = [to_array(leaf) for leaf in (*args, *kwargs.values())]
    names = [value.name for value in onnx.load(path, load_external_data=False).graph.input]
    got = catalogue()["ort-cpu"].open(path)(dict(zip(names, given, strict=True)))
    apart = [
        (float((to_tensor(a).double() - b).abs().max()), float(b.abs().max()))
        for a, b in zip(got, wanted, strict=True)
    ]
    return max(distance / max(largest, least) for distance, largest in apart)


def trials(names: Iterable[str]) -> tuple[Table, int]:
    """The table, and how many of its cells are not as they should be."""
    columns = variants()
    table = Table("model", *columns)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            cells = [tried(name, *column, Path(folder) / "m.onnx") for column in columns.values()]
            failed += sum(not passed for _, passed in cells)
            table.add(name, *(cell for cell, _ in cells))
    return table, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/precision.md")
    parser.add_argument("--only", nargs="+", default=list(MODELS), choices=MODELS, metavar="MODEL")
    asked = parser.parse_args()
    table, failed = trials(asked.only)
    if asked.write:
        table.put(PAGE, MARK, update=asked.only != list(MODELS))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
