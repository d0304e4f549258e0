"""`fill`: the weights of a checkpoint into a file that was exported without them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert import __version__
from onnxpert.core.errors import ExportError, UsageError
from onnxpert.core.types import Finding, Lowered, Request, Saved
from onnxpert.diagnose import diagnose
from onnxpert.engine import quotes
from onnxpert.engine.budget.limits import read_external_data
from onnxpert.engine.clock import Clock, Progress
from onnxpert.engine.installation import versions
from onnxpert.engine.options import positional, several
from onnxpert.report import Action, Report
from onnxpert.save import discard, publish, save
from onnxpert.save.checkpoint import Checkpoint
from onnxpert.save.filling import fill_file
from onnxpert.save.pointing import Pointing, locations, point
from onnxpert.save.unfilled import is_marked

if TYPE_CHECKING:
    import onnx_ir as ir


def fill(
    path: str | PathLike[str],
    weights: Any,
    output: str | PathLike[str] | None = None,
    *,
    external_data: bool | int | str = False,
    copy: bool = True,
    model: Any = None,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Put `weights` into the file `path`, which was exported with `weights="later"`.

    They are a state dict, the path of a .safetensors or .pt file or of a folder, or a list of such.
    The file is replaced, or left as it is when `output` is given. One weight is in memory at a time.
    With `copy=False` none is: the file points into the .safetensors files, which must lie in its
    folder. With the `model` that has these weights (a fake one is given them) and the arguments of a
    call, the filled file is proven against it first. Raises ExportError, with every reason, when a
    key is missing or does not fit, or when the file differs from the model."""
    source = Path(fspath(path))
    destination = source if output is None else Path(fspath(output))
    limit = read_external_data(external_data)
    clock = Clock(progress)
    with clock.stage("load"):
        file = _read(source)
        checkpoint = Checkpoint(several(weights))
        named = {} if copy else locations(checkpoint, destination.parent)
    with clock.stage("match"):
        findings = list(diagnose(fill_file(file, checkpoint)))
    if any(finding.blocks for finding in findings):
        raise ExportError(_report(file, clock, findings, None, None))
    with clock.stage("save"):
        pointing: Pointing | None = None
        if not copy:
            pointing = point(file, checkpoint, named, same=True)
            findings += diagnose(pointing.told)
        lowered = Lowered(file, file.opset_imports.get("", 0))
        saved = save(lowered, destination, external_data=limit, pointing=pointing)
    try:
        call = model, positional(args), dict(kwargs or {})
        request = Request(*call, saved.path, weights=several(weights))
        proof = _proof(request, saved.path, clock) if model is not None else None
        if proof is not None and not proof.ok:
            raise ExportError(_report(file, clock, findings, None, None, proof=proof))
        saved = publish(saved, destination)
    finally:
        discard(saved)
    return _report(file, clock, findings, saved, destination, proof=proof)


def _proof(request: Request, path: Path, clock: Clock) -> Report:
    from onnxpert.engine import pipeline

    with clock.stage("verify"):
        return pipeline.verify(request, path)


def _read(path: Path) -> ir.Model:
    import onnx_ir as ir

    if not path.is_file():
        raise UsageError(f"there is no file {path}", "give the path of an ONNX file")
    try:
        model = ir.load(path)
    except Exception as error:  # protobuf and onnx-ir each have errors of their own
        raise UsageError(f"{path} is no ONNX file", "give a file that onnxpert wrote") from error
    if not is_marked(model):
        raise UsageError(
            f"{path} has its weights already",
            'a file that waits for them is exported with weights="later"',
        )
    return model


def _report(
    model: ir.Model,
    clock: Clock,
    findings: list[Finding],
    saved: Saved | None,
    path: Path | None,
    *,
    proof: Report | None = None,
) -> Report:
    findings += proof.findings if proof is not None else ()
    return Report(
        ok=saved is not None,
        path=path,
        findings=tuple(findings),
        timings=dict(clock.seconds),
        action=Action.FILL,
        model=str(model.graph.name or ""),
        opset=model.opset_imports.get(""),
        ir_version=model.ir_version,
        nodes=sum(1 for _ in model.graph.all_nodes()),
        bytes=saved.bytes if saved else None,
        sha256=saved.sha256 if saved else "",
        versions=versions(),
        verified=proof.verified if proof is not None else (),
        target=proof.target if proof is not None else "",
        verify=proof is not None,
        version=__version__,
        rules=quotes.notes(findings),
        checked=quotes.checked(),
    )
