"""What chance has to do with a model: whether it only draws numbers, or computes with them too.

The tags and schemas of operators read here were tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from onnxpert.core.calls import calls
from onnxpert.core.idleness import is_idle
from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Chance, Finding, Randomness, Severity, replace

if TYPE_CHECKING:
    from torch import fx

_DROPOUT = "STA311"
_UNWRITTEN = frozenset(
    {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}
)
# They may draw, but computing is what they are for.
_COMPUTING = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu", "scaled_dot_product_attention"})
# What they are given is drawn, by torch's own function around them, for them alone.
_DRAWING = frozenset({"fractional_max_pool2d", "fractional_max_pool3d"})
_NEUTRAL = frozenset(
    {
        "zeros", "ones", "full", "arange", "scalar_tensor", "zeros_like", "ones_like", "full_like",
        "new_zeros", "new_ones", "new_full", "clone", "contiguous", "reshape", "flatten", "to",
        "_to_copy", "lift_fresh_copy", "getitem",
    }
)  # fmt: skip


def randomness(
    captured: Captured, allowed: bool, but: Collection[tuple[str, int]] = ()
) -> Randomness | None:
    """None where nothing is drawn and no memory is read that nobody wrote; without the lines of `but`."""
    every = list(calls(captured.root))
    drawing = [node for node in every if (_draws(node) or _drops(node)) and not is_idle(node)]
    drawing = [node for node in drawing if _line(node) not in but]
    only = bool(every) and all(_draws(node) or _is_neutral(node) for node in every)
    if only:
        unwritten = tuple(_unwritten_outputs(captured))
        if drawing or unwritten:
            return Randomness(Chance.DRAWS, True, _place(drawing), unwritten)
        return None
    if not drawing:
        return None
    sided = all(node.graph is not captured.root.graph for node in drawing)
    return Randomness(Chance.MIXED, allowed, _place(drawing), sided=sided)


def condoned(findings: Iterable[Finding], chance: Randomness | None) -> Iterator[Finding]:
    """Dropout that is on is no error where chance is what was asked for."""
    for finding in findings:
        meant = chance is not None and chance.allowed and finding.rule == _DROPOUT
        yield replace(finding, severity=Severity.WARNING) if meant else finding


def _place(drawing: list[fx.Node]) -> Any:
    return of_meta(drawing[0].meta) if drawing else None


def _line(node: fx.Node) -> tuple[str, int] | None:
    at = of_meta(node.meta)
    return None if at is None else (at.file, at.line)


def _name(node: fx.Node) -> str:
    packet = getattr(node.target, "overloadpacket", node.target)
    return str(getattr(packet, "__name__", ""))


def _draws(node: fx.Node) -> bool:
    import torch

    name = _name(node)
    if name in _COMPUTING or _is_off(node):
        return False
    tagged = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    return tagged or name in _DRAWING


def _drops(node: fx.Node) -> bool:
    """Whether an operator that is there for computing has its dropout on."""
    if _name(node) not in _COMPUTING or _is_off(node):
        return False
    given = _arguments(node)
    rate = given.get("dropout_p", given.get("dropout", 0.0))
    return isinstance(rate, (int, float)) and rate > 0


def _is_off(node: fx.Node) -> bool:
    """A dropout of a model in evaluation: it is there, and does nothing."""
    given = _arguments(node)
    return given.get("train", given.get("training", True)) is False


def _arguments(node: fx.Node) -> dict[str, Any]:
    schema = getattr(node.target, "_schema", None)
    declared = schema.arguments if schema is not None else ()
    silent = {each.name: each.default_value for each in declared if each.has_default_value()}
    names = [each.name for each in declared]
    return {**silent, **dict(zip(names, node.args, strict=False)), **node.kwargs}


def _is_neutral(node: fx.Node) -> bool:
    """A view, or a tensor out of nothing: no arithmetic."""
    if _name(node) in _NEUTRAL | _UNWRITTEN:
        return True
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    return not schema.is_mutable and any(
        result.alias_info is not None and not result.alias_info.is_write
        for result in schema.returns
    )


def _unwritten_outputs(captured: Captured) -> Iterator[int]:
    """Outputs whose every element is whatever lay in memory."""
    outputs = next(node for node in captured.root.graph.nodes if node.op == "output").args[0]
    for index, output in enumerate(outputs if isinstance(outputs, (list, tuple)) else [outputs]):
        before = list(_before(output))
        unwritten = any(_name(node) in _UNWRITTEN for node in before)
        if unwritten and not any(map(_draws, before)):
            yield index


def _before(output: Any) -> Iterator[fx.Node]:
    """The calls an output came through."""
    waiting, seen = [output], set()
    while waiting:
        node = waiting.pop()
        if not hasattr(node, "all_input_nodes") or node in seen:
            continue
        seen.add(node)
        if node.op == "call_function":
            yield node
        waiting += node.all_input_nodes
