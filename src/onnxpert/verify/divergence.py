"""Where a file first goes wrong: torch's inner values against the runtime's, in order."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from onnxpert.core.handlers import caught_around
from onnxpert.core.source import of_meta
from onnxpert.core.types import (
    Captured,
    Caught,
    Divergence,
    InputKind,
    Loaded,
    Location,
    Lowered,
    Verdict,
    Verified,
)
from onnxpert.targets.target import Array, Target
from onnxpert.verify import cases
from onnxpert.verify.arrays import to_array, to_tensor
from onnxpert.verify.compare import compare
from onnxpert.verify.file import facts, read
from onnxpert.verify.inputs import bind
from onnxpert.verify.walk import Walk

if TYPE_CHECKING:
    import onnx

logger = logging.getLogger(__name__)

SLACK = 10.0  # inner values may stray further than what comes out in the end
_MOST_PLACES = 2048  # that are compared each with each
_ROUNDINGS = 100  # of the largest score that one of them may be off by
MOST_BYTES = 1 << 30  # of inner values held at a time


def first_divergence(
    verified: Verified,
    loaded: Loaded,
    *,
    captured: Captured,
    lowered: Lowered,
    path: Path,
    target: Target,
    seed: int,
) -> Divergence | Caught | None:
    failed = next((row for row in verified.rows if row.verdict is Verdict.FAIL), None)
    if failed is None:
        return None
    inputs = bind(loaded, facts(read(path)))
    case = replace(cases.remade(failed.case, failed.sizes), found=failed.found)
    leaves = inputs.build(case, seed)
    values = {leaf.name: value for leaf, value in zip(loaded.leaves, leaves, strict=True)}
    try:
        inner = intermediates(captured, lowered, values)
        return localise(inner, path, target, inputs.feeds(leaves))
    except CaughtError as error:
        return error.caught


class CaughtError(Exception):
    def __init__(self, caught: Caught) -> None:
        super().__init__(caught.error)
        self.caught = caught


def intermediates(
    captured: Captured, lowered: Lowered, leaves: Mapping[str, Any]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Run the captured graph on real values; each tensor as it arises, by its name in the file."""
    # Of several values that a node became, the last is its result.
    names = {node: value for value, node in lowered.origins.items()}
    given = [argument(one.kind, one.name, one.tensor, leaves) for one in captured.inputs]
    walk = Walk()
    steps = walk.steps(captured.root, given)
    with torch.no_grad():
        while True:
            try:
                node, result = next(steps)
            except StopIteration:
                return
            except Exception as error:
                # A graph captured for one size may not take another: so far, then.
                logger.debug("the captured graph stops", exc_info=True)
                place = of_meta(walk.at.meta) if walk.at is not None else None
                if place is not None and any(
                    caught_around(one.file, one.line) for one in (place, *place.calls)
                ):
                    raise CaughtError(Caught(place, str(error).partition("\n")[0])) from error
                return
            for origin, value in _parts(node.name, result):
                if origin in names:
                    # A later operator may write into it.
                    yield names[origin], value.detach().clone()


def _parts(name: str, result: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a result by the names that values of a file are given for them."""
    if isinstance(result, torch.Tensor):
        yield name, result
    elif isinstance(result, (list, tuple)):
        for index, part in enumerate(result):
            if isinstance(part, torch.Tensor):
                yield f"{name}_{index}", part


def argument(kind: InputKind, name: str, tensor: Any, leaves: Mapping[str, Any]) -> Any:
    if kind is InputKind.USER:
        value = leaves[name]
        return value.detach().clone() if isinstance(value, torch.Tensor) else value
    # A buffer may be written to by the graph; a parameter is not, and may be large.
    return tensor.detach().clone() if kind is InputKind.BUFFER else tensor


def localise(
    values: Iterable[tuple[str, torch.Tensor]],
    path: Path,
    target: Target,
    feeds: Mapping[str, Array],
) -> Divergence | None:
    """The first of torch's values, in the order given, that the file computes otherwise."""
    model = read(path)
    producers = {name: node for node in model.graph.node for name in node.output if name}
    known = ((name, value) for name, value in values if name in producers)
    for batch in _batches(known):
        try:
            answers = with_outputs(model, [name for name, _ in batch], path, target)(feeds)
        except Exception:  # the runtime fails in the middle, and the proof already says where
            logger.debug("the file does not run with more outputs", exc_info=True)
            return None
        for name, want in batch:
            problem = compare(want, answers[name], slack=SLACK).problem
            if problem:
                by_rounding = _is_by_rounding(producers[name], batch, answers)
                return _divergence(producers[name], name, problem, by_rounding)
    return None


def _is_by_rounding(
    node: onnx.NodeProto,
    batch: Sequence[tuple[str, torch.Tensor]],
    answers: Mapping[str, Array],
) -> bool:
    """Whether a file names the best in another order, and the scores that trade places are no
    further apart than either is from what the other computed for it."""
    known = dict(batch)
    if node.op_type != "TopK" or not all(name in known for name in node.output):
        return False
    scores, places = (known[name].movedim(_axis_of(node), -1) for name in node.output)
    other, elsewhere = (
        to_tensor(answers[name]).movedim(_axis_of(node), -1) for name in node.output
    )
    if compare(scores, to_array(other)).problem or not 1 < scores.shape[-1] <= _MOST_PLACES:
        return False
    same = places.unsqueeze(-2) == elsewhere.unsqueeze(-1)
    both, at = same.any(-1), same.to(torch.uint8).argmax(-1)
    # In order, scores are nearer to each other than those of one element are.
    moved = (scores.gather(-1, at).double() - other.double()).abs()[both & other.isfinite()]
    largest = float(scores.abs().where(scores.isfinite(), 0.0).amax())
    rounding = largest * torch.finfo(scores.dtype).eps
    furthest = max(rounding / 2, float(moved.amax()) if moved.numel() else 0.0)
    if furthest > _ROUNDINGS * rounding:
        return False
    apart = scores.double().diff(dim=-1).abs() > 2 * furthest
    group = torch.cat([torch.zeros_like(places[..., :1]), apart.cumsum(-1)], -1)
    theirs = group.gather(-1, at)
    last = group == group[..., -1:]  # behind the last may be others that are as good
    return bool(torch.where(both, theirs == group, last).all())


def _batches(
    values: Iterable[tuple[str, torch.Tensor]],
) -> Iterator[list[tuple[str, torch.Tensor]]]:
    batch: list[tuple[str, torch.Tensor]] = []
    held = 0
    for name, value in values:
        batch.append((name, value))
        held += value.numel() * value.element_size()
        if held > MOST_BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def with_outputs(
    model: onnx.ModelProto, names: Sequence[str], path: Path, target: Target
) -> Callable[[Mapping[str, Array]], dict[str, Array]]:
    """The file with more outputs, opened: it is written beside it, as its weights are found there, and
    only there."""
    import onnx

    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    present = {value.name for value in probe.graph.output}
    for name in names:
        if name not in present:
            probe.graph.output.add(name=name)
    outputs = [value.name for value in probe.graph.output]
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.probe-", suffix=".onnx"
    ) as file:
        file.write(probe.SerializeToString())
        file.flush()
        run = target.open(Path(file.name))
    return lambda feeds: dict(zip(outputs, run(feeds), strict=True))


def _axis_of(node: onnx.NodeProto) -> int:
    return next((int(given.i) for given in node.attribute if given.name == "axis"), -1)


def _divergence(node: onnx.NodeProto, value: str, problem: str, by_rounding: bool) -> Divergence:
    notes = {entry.key: entry.value for entry in node.metadata_props}
    return Divergence(node.name, node.op_type, value, _location(notes), problem, by_rounding)


def _location(notes: Mapping[str, str]) -> Location | None:
    file, _, line = notes.get("onnxpert.source", "").rpartition(":")
    if not file or not line.isdecimal():
        return None
    return Location(file, int(line), module=notes.get("onnxpert.module", ""))
