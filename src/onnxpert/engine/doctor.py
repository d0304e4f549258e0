"""Whether this installation is able to export, and to run, what it should."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxpert import __version__
from onnxpert.engine import installation
from onnxpert.engine.installation import Package, Problem, versions
from onnxpert.engine.kernels import Kernels, kernels
from onnxpert.engine.plan import DEFAULT_IR
from onnxpert.report import json
from onnxpert.report.grid import grid
from onnxpert.report.line import Line, Part, Role, line
from onnxpert.targets import Target, find
from onnxpert.targets.releases import Release, release

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Diagnosis", "Limits", "examine", "versions"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The highest opset and IR version that a library writes or takes."""

    opset: int
    ir_version: int

    def __str__(self) -> str:
        return f"opset {self.opset}, IR version {self.ir_version}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found; `problems` is empty when all of it fits."""

    python: str
    platform: str
    onnxpert: str
    packages: tuple[Package, ...]
    target: str
    takes: Limits | None  # by the target's runtime, asked of itself; None: it could not be asked
    writes: Limits | None  # by the installed onnx
    providers: tuple[str, ...]  # of ONNX Runtime
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    schema: int = 2
    kernels: Kernels | None = None  # of ONNX Runtime on the CPU, asked of itself
    runtime_version: str = ""  # the release that was asked about
    accepts: Limits | None = None  # by that release
    mend: str = ""  # the one command that mends it all

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def to_json(self) -> str:
        return json.dumps(self)

    def __str__(self) -> str:
        return "\n".join(map(str, _lines(self)))

    def __rich__(self) -> RenderableType:
        from onnxpert.report.terminal import Painted

        return Painted(lambda width: _lines(self, width))


def examine(target: str | None = None, runtime_version: str | None = None) -> Diagnosis:
    """Look at everything. Raises UsageError for a target, or a release, that does not exist."""
    chosen = find(target or "ort-cpu")
    named = release(runtime_version) if runtime_version else None
    found = installation.packages()
    sound = {each.name for each in found if each.version and not each.error}
    writes = _onnx_limits() if "onnx" in sound else None
    runtime = next((each.name for each in found if each.name.startswith("onnxruntime")), "")
    takes = _runtime_limits(chosen) if {"onnx", runtime} <= sound else None
    accepts = Limits(named.opset, named.ir_version) if named else None
    problems = (*installation.problems(found), *_too_low(chosen, takes, writes))
    return Diagnosis(
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        onnxpert=__version__,
        packages=found,
        target=chosen.name,
        takes=takes,
        writes=writes,
        providers=_providers() if runtime in sound else (),
        problems=problems,
        notes=(
            *installation.notes(found),
            *_apart(chosen, takes, writes),
            *_older(named, chosen, accepts),
        ),
        kernels=kernels() if runtime in sound else None,
        runtime_version=str(named) if named else "",
        accepts=accepts,
        mend=installation.mend(problems),
    )


def _onnx_limits() -> Limits:
    import onnx

    return Limits(onnx.defs.onnx_opset_version(), int(onnx.IR_VERSION))


def _runtime_limits(target: Target) -> Limits | None:
    known = target.limits()
    return Limits(*known) if known else None


def _providers() -> tuple[str, ...]:
    import onnxruntime

    return tuple(onnxruntime.get_available_providers())


def _too_low(target: Target, takes: Limits | None, writes: Limits | None) -> Iterator[Problem]:
    if takes and takes.opset < target.default_opset:
        yield Problem(
            f"{target.name} takes opset {takes.opset} at most, files are written for "
            f"{target.default_opset}",
            "pip install --upgrade onnxruntime",
        )
    if writes and writes.opset < target.default_opset:
        yield Problem(
            f"the installed onnx knows opset {writes.opset} at most, files are written for "
            f"{target.default_opset}",
            "pip install --upgrade onnx",
        )


def _apart(target: Target, takes: Limits | None, writes: Limits | None) -> Iterator[str]:
    if takes and writes and (takes.opset < writes.opset or takes.ir_version < writes.ir_version):
        yield (
            f"onnx writes up to {writes}, more than {target.name} takes: "
            "onnxpert writes what the runtime takes"
        )


def _older(named: Release | None, target: Target, accepts: Limits | None) -> Iterator[str]:
    """What to do for a release that takes less than is written by default."""
    if named is None or accepts is None:
        return
    if accepts.opset < target.default_opset or accepts.ir_version < DEFAULT_IR:
        yield (
            f"for ONNX Runtime {named}: onnxpert export --runtime-version {named}, "
            "or a newer runtime there"
        )


def _lines(found: Diagnosis, width: int | None = None) -> Iterator[Line]:
    many = len(found.problems)
    bad = "1 problem" if many == 1 else f"{many} problems"
    said = "this installation fits together" if found.ok else f"this installation has {bad}"
    yield line((said, Role.GOOD if found.ok else Role.BAD))
    system = f"  onnxpert {found.onnxpert}, Python {found.python} on {found.platform}"
    yield line((system, Role.FAINT), hang=4)
    yield Line()
    for block in grid([_row(each) for each in found.packages], width=width):
        yield from block
    yield Line()
    yield from _runtime(found)
    for problem in found.problems:
        yield Line()
        yield line(("problem", Role.BAD), (f": {problem.message}", Role.STRONG), hang=2)
        yield line(("   = ", Role.LABEL), ("help: ", Role.STRONG), problem.cure, hang=7)
    if len(found.problems) > 1 and found.mend:
        yield Line()
        yield line(("all of it", Role.LABEL), f": {found.mend}", hang=2)


def _row(each: Package) -> tuple[Part, ...]:
    if not each.version:
        state = ("missing", Role.BAD) if each.needed else ("not installed, optional", Role.FAINT)
    else:
        state = ("cannot be imported", Role.BAD) if each.error else ("fine", Role.GOOD)
    return Part(each.name, Role.STRONG), Part(each.version or "-"), Part(*state)


def _runtime(found: Diagnosis) -> Iterator[Line]:
    takes = f"takes up to {found.takes}" if found.takes else "could not be asked what it takes"
    yield line(("runtime", Role.LABEL), f"  {found.target} {takes}", hang=9)
    if found.accepts:
        yield line(
            f"         ONNX Runtime {found.runtime_version} takes up to {found.accepts}", hang=9
        )
    if found.kernels:
        dtypes = ", ".join(f"{name} {many}" for name, many in found.kernels.dtypes.items())
        yield line(f"         {found.kernels.operators} operators on the CPU, by dtype:", hang=9)
        yield line(f"         {dtypes}", hang=9)
    if found.providers:
        names = ", ".join(name.removesuffix("ExecutionProvider") for name in found.providers)
        yield line(f"         ONNX Runtime can run on: {names}", hang=9)
    for note in found.notes:
        yield line(("note", Role.LABEL), f"     {note}", hang=9)
