"""`torch.export` of a model: what it is given, and what comes of it."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

from onnxpert.capture.examples.inputs import traced_example
from onnxpert.capture.flat import Flat, fed, fed_copies, owner
from onnxpert.capture.open_sizes.long_sums import sums_kept_short
from onnxpert.capture.places import guards_with_places
from onnxpert.capture.program import captured
from onnxpert.capture.reasoning import frugally
from onnxpert.capture.state import untouched
from onnxpert.capture.uncaught import catches, uncatchable
from onnxpert.capture.watching.deeds import Deeds
from onnxpert.capture.watching.reads import is_read, numbers_at
from onnxpert.core.fast_paths import without_fast_paths
from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, DimSpec, InputLeaf, Loaded, replace


def exported(loaded: Loaded, name: str, *, strict: bool) -> Captured:
    """The model by way of `torch.export.export`; raises whatever that raises."""
    flat = Flat(loaded)
    leaves = fed(loaded)
    deeds = Deeds(owner(loaded.module) or flat)
    with (
        untouched(owner(loaded.module), code=strict) as changes,
        deeds.watching() if not strict else nullcontext(),  # bytecode that is read does nothing
        warnings.catch_warnings(record=True) as said,
        guards_with_places(),
        frugally(),
        sums_kept_short(),
        without_fast_paths(),
        uncatchable(on=not strict and catches(loaded)),
        redirect_stderr(io.StringIO()),  # where it fails, torch prints the graph so far there
    ):
        warnings.simplefilter("always")
        program = torch.export.export(
            flat,
            tuple(map(_example, leaves)),
            # One entry for `*values`, which takes them all.
            dynamic_shapes=(tuple(map(_shapes, leaves)),),
            strict=strict,
        )
    names = flat.names if flat.names is not None else _names(loaded)
    result = captured(
        program,
        loaded,
        name,
        users=_varying(program, leaves),
        outputs=lambda values: (values, names),
        prefix="model.",
    )
    written = dict.fromkeys((*changes.attributes, *_assigned(said, deeds), *result.written))
    done = deeds.done(list(written), changes.owners)
    return replace(  # type: ignore[no-any-return]
        result,
        written=tuple(written),
        done=done,
        dropped=flat.dropped,
        reads=numbers_at(of_meta(node.meta) for node in result.root.graph.nodes if is_read(node)),
    )


def _assigned(said: Sequence[warnings.WarningMessage], deeds: Deeds) -> list[str]:
    """The attributes that torch.export saw being assigned: it puts them back before we could look.

    Where a list has grown meanwhile, it counts on by one and names whatever comes after it, too."""
    text = "\n".join(str(warning.message) for warning in said)
    lists = re.findall(r"tensor attributes? (self\..*?) (?:was|were) assigned", text)
    named = [name.removeprefix("self.model.") for names in lists for name in names.split(", ")]
    return [name for name in named if name in deeds.assigned]


def _example(leaf: InputLeaf) -> Any:
    if leaf.scalar is not None:  # torch takes 0 and 1 for constants, of numbers too
        return max(int(leaf.value), 2)
    return traced_example(leaf).detach()


def _shapes(leaf: InputLeaf) -> Any:
    if leaf.scalar is not None:
        return _hint(leaf.scalar)
    return {axis: _hint(spec) for axis, spec in leaf.dims} or None


def _hint(spec: DimSpec) -> Any:
    # AUTO gives way where the model needs a fixed size; a dimension that came out frozen is a
    # finding of its own, not a failure of the capture.
    if spec.lower is None and spec.upper is None:
        return Dim.AUTO
    return Dim.AUTO(min=spec.lower, max=spec.upper)


def _varying(program: ExportedProgram, leaves: Sequence[InputLeaf]) -> list[str]:
    """The leaves that the program takes as inputs: a number may have become a constant."""
    given = program.graph_signature.user_inputs
    return [
        leaf.name
        for leaf, name in zip(leaves, given, strict=True)
        if isinstance(name, str)  # else the constant itself
    ]


def _names(loaded: Loaded) -> tuple[str, ...]:
    """How the output is built, from a call of the model itself."""
    flat = Flat(loaded)
    with untouched(owner(loaded.module), buffers=True):
        flat(*fed_copies(loaded))
    return flat.names or ()
