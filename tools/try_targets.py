"""Export ten everyday models for every target, run them where it is here, and write the table.

    python tools/try_targets.py --write

For targets that run on this machine the proof of the export is the trial: the file runs there, at the
example, at other sizes and with other values, against the model in torch. For the others the file is
looked up in their tables. --write puts both tables into docs/targets.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import torch

import onnxpert
from onnxpert.core.types import Finding, Severity, Verdict
from onnxpert.report import Report
from onnxpert.targets import Target, catalogue

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.tables import Table

PAGE = "targets.md"
Model: TypeAlias = tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any], Any]

RUNNING = ("ort-cpu", "ort-web", "openvino")  # the reference evaluator takes minutes for these


def timm(name: str, size: int) -> Model:
    from timm import create_model

    module = create_model(name, pretrained=False).eval()
    return module, (torch.randn(2, 3, size, size),), {}, ({0: "batch"},)


def torchvision(name: str) -> Model:
    from torchvision import models

    module = getattr(models, name)(weights=None).eval()
    return module, (torch.randn(2, 3, 64, 64),), {}, ({0: "batch"},)


def text(config: str, model: str, **options: Any) -> Model:
    import transformers

    made = getattr(transformers, config)(vocab_size=100, **options)
    made.use_cache = False
    module = getattr(transformers, model)(made).eval()
    shapes = {"input_ids": {0: "batch", 1: "length"}}
    return module, (), {"input_ids": torch.randint(3, 100, (2, 7))}, shapes


_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
MODELS: dict[str, Callable[[], Model]] = {
    "resnet18 (timm)": lambda: timm("resnet18", 64),
    "mobilenetv3_small_050 (timm)": lambda: timm("mobilenetv3_small_050", 64),
    "convnext_atto (timm)": lambda: timm("convnext_atto", 64),
    "vit_tiny_patch16_224 (timm)": lambda: timm("vit_tiny_patch16_224", 224),
    "shufflenet_v2_x0_5 (torchvision)": lambda: torchvision("shufflenet_v2_x0_5"),
    "squeezenet1_1 (torchvision)": lambda: torchvision("squeezenet1_1"),
    "bert (transformers)": lambda: text(
        "BertConfig", "BertForSequenceClassification", intermediate_size=64, **_SMALL
    ),
    "gpt2 (transformers)": lambda: text(
        "GPT2Config", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=2
    ),
    "llama (transformers)": lambda: text(
        "LlamaConfig",
        "LlamaForCausalLM",
        intermediate_size=64,
        num_key_value_heads=1,
        **_SMALL,
    ),
    "distilbert (transformers)": lambda: text(
        "DistilBertConfig", "DistilBertModel", dim=32, n_layers=2, n_heads=2, hidden_dim=64
    ),
}


def build(name: str) -> Model:
    torch.manual_seed(0)
    return MODELS[name]()


def exported(name: str, target: str, path: Path) -> tuple[str, bool]:
    """What became of an export for a target that runs here: the cell, and whether it was proven."""
    module, args, kwargs, shapes = build(name)
    try:
        report = onnxpert.export(
            module, args, path, kwargs=kwargs, dynamic_shapes=shapes, target=target
        )
    except onnxpert.ExportError as error:
        return _words(error.report.findings), False
    compared = [row for row in report.verified if row.verdict is Verdict.PASS]
    cases = len({row.case for row in compared})
    furthest = max(row.max_abs or 0.0 for row in compared)
    return f"proven there, {cases} cases, {furthest:.0e}", not report.runtime


def looked_up(path: Path, target: str) -> str:
    report: Report = onnxpert.check(path, target, run=False)
    return "fits" if report.ok else _words(report.findings)


def _words(findings: Iterable[Finding]) -> str:
    said = dict.fromkeys(f.message for f in findings if f.severity is Severity.ERROR)
    return "; ".join(said)[:150] or "not proven"


def trials() -> tuple[Table, int]:
    """The table, and how many of the exports failed."""
    here = [name for name in RUNNING if not catalogue()[name].absent()]
    others = [name for name in catalogue() if name not in (*RUNNING, "onnx-reference")]
    table = Table("model", *here, *(f"{name} (by its tables)" for name in others))
    failed = 0
    for name in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            files = {target: Path(folder) / f"{target}.onnx" for target in here}
            results = [exported(name, target, path) for target, path in files.items()]
            failed += sum(not proven for _, proven in results)
            # One file is looked up everywhere: the first, which is ort-cpu's where it has one.
            file = next((path for path in files.values() if path.exists()), None)
            known = ["no file" if file is None else looked_up(file, target) for target in others]
        table.add(name, *(cell for cell, _ in results), *known)
    return table, failed


def limits() -> Table:
    """A row for each target, from what its file says."""
    table = Table("target", "opsets", "runs here", "what is known, and from where")
    for target in catalogue().values():
        runs = "where installed" if not target.absent() else f"no: {target.stand_in} stands in"
        opsets = f"{target.opsets[0]} to {target.opsets[-1]}"
        table.add(f"`{target.name}`", opsets, runs, _known(target))
    return table


def _known(target: Target) -> str:
    known = target.capabilities
    parts = [known.source]
    if known.missing:
        parts.append(f"{len(known.missing)} operators of the standard are missing")
    if known.operators:
        parts.append(f"{len(known.operators)} operators")
    if known.restrictions:
        parts.append(f"{len(known.restrictions)} forms are refused")
    parts += [f"{a} is computed as {b}" for a, b in _said(known.narrower.items())]
    if known.most_rank:
        parts.append(f"at most {known.most_rank} dimensions")
    if known.most_bytes:
        parts.append(f"at most {known.most_bytes / 2**30:.0f} GiB of weights")
    return "; ".join(parts)


def _said(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    names = {"float": "float32", "double": "float64"}
    return [(names.get(a, a), names.get(b, b)) for a, b in pairs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/targets.md")
    asked = parser.parse_args()
    table, failed = trials()
    if asked.write:
        limits().put(PAGE, "targets")
        table.put(PAGE, "trials")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
