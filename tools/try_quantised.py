"""Quantise everyday models in every way that torch and torchao have, read them, and write the table.

    python tools/try_quantised.py --write

Each quantised model is exported with a batch (and a length) that varies, and its proof is the trial:
the file runs in ONNX Runtime against the quantised model in torch. The last columns are what
`quantize=` makes of the float model. --write puts the table into docs/quantisation.md."""

from __future__ import annotations

import argparse
import copy
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.report import Report

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.tables import Table

PAGE, MARK = "quantisation.md", "quantised models"


class Subject(NamedTuple):
    model: nn.Module
    example: Tensor
    calibration: list[Tensor]
    dims: dict[int, str]


Way: TypeAlias = Callable[[Subject], nn.Module]


def words(model: nn.Module) -> Subject:
    seen = [torch.randint(3, 100, (4, 12)) for _ in range(3)]
    return Subject(model.eval(), torch.randint(3, 100, (2, 8)), seen, {0: "batch", 1: "length"})


def images(model: nn.Module) -> Subject:
    seen = [torch.randn(4, 3, 32, 32) for _ in range(3)]
    return Subject(model.eval(), torch.randn(2, 3, 32, 32), seen, {0: "batch"})


_SMALL = {
    "vocab_size": 100,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 64,
}


def bert() -> Subject:
    from transformers import BertConfig, BertModel

    return words(BertModel(BertConfig(**_SMALL)))


def llama() -> Subject:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(num_key_value_heads=2, **_SMALL)
    config.use_cache = False
    return words(LlamaForCausalLM(config))


def vit() -> Subject:
    from timm import create_model

    sizes = {"img_size": 32, "depth": 2, "embed_dim": 64, "num_heads": 4}
    return images(create_model("vit_tiny_patch16_224", num_classes=20, **sizes))


def resnet() -> Subject:
    from timm import create_model

    return images(create_model("resnet18", num_classes=20))


MODELS = {"Bert": bert, "ViT": vit, "resnet18": resnet, "Llama": llama}


def eager_dynamic(given: Subject) -> nn.Module:
    quantize = torch.ao.quantization.quantize_dynamic
    return quantize(copy.deepcopy(given.model), {nn.Linear}, dtype=torch.qint8)


def eager_static(given: Subject) -> nn.Module:
    """As people do with a model that was not written for it: stubs around each layer."""
    from torch.ao.quantization import QuantWrapper, convert, get_default_qconfig, prepare

    model = copy.deepcopy(given.model)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, (nn.Linear, nn.Conv2d)) and not isinstance(parent, QuantWrapper):
                wrapped = QuantWrapper(child)
                wrapped.qconfig = get_default_qconfig("x86")
                setattr(parent, name, wrapped)
    return convert(_calibrated(prepare(model), given))


def graph_mode(given: Subject) -> nn.Module:
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    mapping = get_default_qconfig_mapping("x86")
    prepared = prepare_fx(copy.deepcopy(given.model), mapping, (given.example,))
    return convert_fx(_calibrated(prepared, given))


def pt2e(given: Subject, *, dynamic: bool = False) -> nn.Module:
    from torchao.quantization.pt2e import quantize_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    # The quantiser finds layers by module: a ReLU that is called twice has to be seen as two, which
    # the strict mode of torch.export does.
    dims = {axis: torch.export.Dim(name, min=2, max=32) for axis, name in given.dims.items()}
    program = torch.export.export(
        given.model, (given.example,), dynamic_shapes=(dims,), strict=given.example.dim() == 4
    )
    quantiser = x86.X86InductorQuantizer()
    quantiser.set_global(x86.get_default_x86_inductor_quantization_config(is_dynamic=dynamic))
    prepared = quantize_pt2e.prepare_pt2e(program.module(), quantiser)
    return quantize_pt2e.convert_pt2e(_calibrated(prepared, given))


def torchao(name: str, **options: Any) -> Way:
    def way(given: Subject) -> nn.Module:
        import torchao.quantization as ao

        model = copy.deepcopy(given.model)
        ao.quantize_(model, getattr(ao, name)(**options))
        return model

    return way


def int4_weights(given: Subject) -> nn.Module:
    from torchao.quantization import PerGroup

    way = torchao("IntxWeightOnlyConfig", weight_dtype=torch.int4, granularity=PerGroup(32))
    return way(given)


def _calibrated(prepared: nn.Module, given: Subject) -> nn.Module:
    with torch.no_grad():
        for each in given.calibration:
            prepared(each)
    return prepared


WAYS: dict[str, Way] = {
    "eager, dynamic": eager_dynamic,
    "eager, static": eager_static,
    "FX, static": graph_mode,
    "PT2E, static": pt2e,
    "PT2E, dynamic": lambda given: pt2e(given, dynamic=True),
    "torchao, int8 weights": torchao("Int8WeightOnlyConfig"),
    "torchao, int8": torchao("Int8DynamicActivationInt8WeightConfig"),
    "torchao, int4 weights": int4_weights,
}
SCHEMES = ("int8-dynamic", "int8-static", "int4-weight")


def read(given: Subject, way: Way, path: Path) -> tuple[str, bool]:
    """How the file of a quantised model comes out: its largest difference, or why there is none."""
    try:
        with warnings.catch_warnings(action="ignore"):  # what torch says of torch.ao's future
            torch.manual_seed(0)
            quantised = way(given)
    except Exception as error:  # what torch cannot quantise is no trial of ours
        return f"torch: {type(error).__name__}: {str(error).splitlines()[0][:80]}", True
    try:
        report = onnxpert.export(quantised, (given.example,), path, dynamic_shapes=(given.dims,))
    except onnxpert.ExportError as error:
        return _refused(error.report), False
    furthest = max(row.max_abs or 0.0 for row in report.verified)
    return f"{len({row.case for row in report.verified})} cases, {furthest:.0e}", True


def made(given: Subject, scheme: str, path: Path) -> tuple[str, bool]:
    calibration = given.calibration if scheme == "int8-static" else None
    try:
        report = onnxpert.export(
            given.model,
            (given.example,),
            path,
            dynamic_shapes=(given.dims,),
            quantize=scheme,
            calibration=calibration,
        )
    except onnxpert.ExportError as error:
        return _refused(error.report), any(f.rule.startswith("QNT") for f in error.report.findings)
    assert report.quantised is not None
    return f"{100 * report.quantised.error:.1f} %", True


def _refused(report: Report) -> str:
    said = dict.fromkeys(finding.message for finding in report.findings if finding.blocks)
    return "no file: " + "; ".join(said)[:150]


def trials(names: Iterable[str]) -> tuple[Table, int]:
    """A row for each way, a column for each model; and how many cells are not as they should be."""
    subjects = {}
    for name in names:
        torch.manual_seed(0)
        subjects[name] = MODELS[name]()
    table = Table("", *subjects)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        for title, cell in (
            *(
                (title, lambda given, way=way: read(given, way, path))
                for title, way in WAYS.items()
            ),
            *((f'`quantize="{s}"`', lambda given, s=s: made(given, s, path)) for s in SCHEMES),
        ):
            cells = [cell(given) for given in subjects.values()]
            failed += sum(not good for _, good in cells)
            table.add(title, *(text for text, _ in cells))
    return table, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--only", nargs="+", default=list(MODELS), choices=MODELS, metavar="MODEL")
    asked = parser.parse_args()
    if asked.write and asked.only != list(MODELS):
        parser.error("--write is about all models: a table of some would replace that of all")
    table, failed = trials(asked.only)
    if asked.write:
        table.put(PAGE, MARK)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
