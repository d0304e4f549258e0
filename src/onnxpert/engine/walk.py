"""What is known of one model on its walk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from onnxpert.core.types import (
    Captured,
    CaptureFailed,
    Divergence,
    Finding,
    Loaded,
    Lowered,
    Plan,
    Quantised,
    Request,
    Saved,
    Verified,
)
from onnxpert.diagnose import diagnose
from onnxpert.engine.clock import Clock, hearer
from onnxpert.engine.plugins import Plugins
from onnxpert.engine.weights import Wish
from onnxpert.quantise.scheme import Scheme
from onnxpert.report.graph import Graph
from onnxpert.save import discard
from onnxpert.targets import Target


@dataclass(frozen=True, slots=True)
class Kept:
    """A walk as it was when a right file had been made."""

    loaded: Loaded
    captured: Captured | CaptureFailed | None
    findings: tuple[Finding, ...]


@dataclass
class Walk:
    """What is known so far; the report is made of this."""

    request: Request
    target: Target
    clock: Clock
    plan: Plan
    plugins: Plugins
    runner: Target  # what the proof runs on: the target, or what stands in for it
    findings: list[Finding] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    captured: Captured | CaptureFailed | None = None
    lowered: Lowered | None = None
    stand_in: Lowered | None = None  # as the runner can run it, where it lacks kernels
    saved: Saved | None = None
    verified: Verified | None = None
    divergence: Divergence | None = None
    graph: Graph | None = None
    scheme: Scheme | None = None  # how the file shall be quantised
    quantised: Quantised | None = None
    weights: Wish = field(default_factory=Wish)
    proven: Kept | None = None  # a file that takes fewer sizes than were asked for
    announced: Kept | None = None  # a file that was wrong, of a model whose libraries knew of it
    known: Captured | CaptureFailed | None = None  # a capture that need not be made again
    contents_itself: bool = False  # with that file: no other way leads to a better one
    narrower: str = ""  # the type that the target computes in instead of float64, by consent

    def __post_init__(self) -> None:
        self.clock.between = self._tell

    def _tell(self) -> None:
        hear = hearer.get()
        if hear is not None and self.findings:
            hear(tuple(self.findings))

    @property
    def blocked(self) -> bool:
        return any(finding.blocks for finding in self.findings)

    def kept(self, loaded: Loaded) -> Kept:
        return Kept(loaded, self.captured, tuple(self.findings))

    def learn(self, evidence: object) -> None:
        """What the rules say of a value; a thing already said is not said again."""
        self.note(diagnose(evidence))

    def note(self, found: Iterable[Finding]) -> None:
        self.findings += [each for each in dict.fromkeys(found) if each not in self.findings]

    def forget_file(self) -> None:
        """Back to before the lowering, for another turn."""
        if self.saved is not None:
            discard(self.saved)
        self.lowered = self.saved = self.verified = self.divergence = None
