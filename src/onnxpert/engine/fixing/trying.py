"""A source with its inputs, which can be loaded, watched and exported as often as one likes."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxpert.core import deadline
from onnxpert.core.types import Request, Verdict, replace
from onnxpert.engine import pipeline
from onnxpert.engine.fixing.other_values import EDGES, UNKNOWN
from onnxpert.engine.fixing.plain import (
    DRAWN,
    multiples,
    open_axes,
    outcomes,
    plain_export,
    quiet,
)
from onnxpert.engine.fixing.plain_loops import plain_loops
from onnxpert.engine.sources import Prepared, prepare
from onnxpert.load.substitutes import substituted
from onnxpert.repair.rewriting import Contents
from onnxpert.repair.source.watching import NOTE, Notes, Place, Seen, noting
from onnxpert.report import Action, Report


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a model, each file against the model that it shall compute the same as."""

    report: Report  # of onnxpert's own file
    against: Report | None = None  # that file, where the model to compare with is another one
    torchs: Report | None = None  # of what torch.onnx.export writes, None where it writes nothing
    cut: bool = False  # the report is of a walk that was ended before it was through

    @property
    def plain(self) -> bool:
        return self.torchs is not None and self.torchs.ok

    @property
    def proven(self) -> bool:
        return self.report.ok and (self.against is None or self.against.ok)

    def warnings(self) -> tuple[str, ...]:
        """That torch's own file is wrong, where there is one: nothing else would say so."""
        if self.torchs is None or self.torchs.ok:
            return ()
        bad = [row.case for row in self.torchs.verified if row.verdict is Verdict.FAIL]
        where = f" at {bad[0]}" if bad else ""
        return (f"torch.onnx.export writes a file too, which is wrong{where}: use onnxpert export",)


@dataclass(frozen=True)
class Job:
    """One source with its inputs, which can be loaded as often as one likes."""

    source: str
    inputs: tuple[str, ...]
    inputs_file: str | None
    evaluate: bool
    options: Mapping[str, Any]
    nan: bool = False  # whether its code looks for what is no number
    # By the texts of the files: what was seen in a run, and what came out.
    _seen: dict[tuple[str, ...], Mapping[Place, list[Seen]]] = field(default_factory=dict)
    _given: dict[tuple[str, ...], Sequence[Sequence[Any] | None]] = field(default_factory=dict)

    def load(self, contents: Contents | None = None) -> Prepared:
        """The model, as these files have it."""
        import torch

        # It compiles its loops anew for each module that was loaded, and soon gives up to do so.
        torch.compiler.reset()
        with substituted(contents) if contents else contextlib.nullcontext():
            prepared = prepare(self.source, self.inputs, self.inputs_file)
        if self.evaluate:
            prepared.model.eval()
        return prepared

    def reference(self, contents: Contents) -> Sequence[Sequence[Any] | None]:
        """What the model gives as these files have it."""
        key = tuple(contents.values())
        if key not in self._given:
            self._given[key] = self.outcomes(contents)
        return self._given[key]

    def outcomes(self, contents: Contents, drawn: int = DRAWN) -> Sequence[Sequence[Any] | None]:
        return outcomes(self.load(contents), drawn, (*EDGES, *(UNKNOWN if self.nan else ())))

    def request(self, prepared: Prepared, path: Path | None = None, **more: Any) -> Request:
        shapes = self.options.get("dynamic_shapes") or prepared.dynamic_shapes
        asked = {**self.options, **more, "dynamic_shapes": shapes}
        return Request(prepared.model, prepared.args, prepared.kwargs, path, repair="off", **asked)

    def tried(
        self, contents: Contents, reference: Request | None = None, within: float = math.inf
    ) -> Tried:
        """Export these files both ways, with onnxpert in so many seconds of this thread's at most.

        Without a reference, the model itself is its own."""
        with tempfile.TemporaryDirectory(prefix="onnxpert-") as folder, substituted(contents):
            ours, theirs = Path(folder) / "model.onnx", Path(folder) / "plain.onnx"
            plain_export(self.load(), theirs)
            asked = self.request(self.load(), ours)
            with deadline.at_most(within):
                report, known = pipeline.explored(asked, Action.DIAGNOSE)
                cut = deadline.is_over() and not report.ok
            against = reference or self.request(self.load())
            proof = None
            if report.ok and reference is not None:
                proof = pipeline.verify(reference, ours, known=known)
            torchs = pipeline.verify(against, theirs, known=known) if theirs.is_file() else None
            return Tried(replace(report, path=None), proof, torchs, cut)

    def look(self, contents: Contents) -> Mapping[Place, list[Seen]]:
        """Run the model, and note what every expression of its files is."""
        key = tuple(contents.values())
        if key not in self._seen:
            self._seen[key] = self._look(contents)
        return self._seen[key]

    def _look(self, contents: Contents) -> Mapping[Place, list[Seen]]:
        import builtins

        import torch

        notes = Notes()
        setattr(builtins, NOTE, notes)
        try:
            with substituted(contents, noting), quiet(), torch.no_grad(), plain_loops():
                prepared = self.load()
                for call in multiples(prepared):
                    notes.inputs = {id(value): axes for value, axes in open_axes(prepared, call)}
                    notes.on = True
                    with contextlib.suppress(Exception):  # what ran before it raised has been noted
                        prepared.model(*call[0], **call[1])
        finally:
            notes.on = False
            delattr(builtins, NOTE)
        return notes.seen
