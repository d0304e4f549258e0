"""The scripts and issue texts of a walk, each tried before it is written."""

from __future__ import annotations

import contextlib
import inspect
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from onnxpert.capture.state import untouched
from onnxpert.core.types import Captured, CaptureFailed, Finding, Loaded, Unsupported, replace
from onnxpert.engine.installation import versions
from onnxpert.engine.repro.code import (
    CHECK,
    Part,
    called_again,
    checked,
    holding,
    of_operator,
    same_line,
    script,
    starts,
    statements,
)
from onnxpert.engine.repro.trial import Outcome, called, run, traced
from onnxpert.engine.repro.values import UnsayableError
from onnxpert.lower import lower

if TYPE_CHECKING:
    from onnxpert.engine.walk import Walk

_TRIES = 60


@dataclass(frozen=True, slots=True)
class Reproducer:
    """A script that was seen to fail."""

    finding: Finding
    script: str
    outcome: Outcome


def reproduce(walk: Walk, folder: Path) -> tuple[Path, ...]:
    """Write `<rule>-<line>.py` and `.md` for every blocker that plain torch shows too."""
    made: list[Path] = []
    written: set[str] = set()
    for each in _reproducers(walk):
        if each.script in written:  # two findings about one line
            continue
        written.add(each.script)
        folder.mkdir(parents=True, exist_ok=True)
        line = each.finding.location.line if each.finding.location else 0
        place = folder / f"{each.finding.rule}-{line}.py"
        place.write_text(each.script, encoding="utf-8")
        place.with_suffix(".md").write_text(_issue(each), encoding="utf-8")
        made += [place, place.with_suffix(".md")]
    return tuple(made)


def _reproducers(walk: Walk) -> Iterator[Reproducer]:
    graph = _graph(walk)
    for finding in walk.findings:
        if not finding.blocks:
            continue
        try:
            text = _script(walk, graph, finding)
        except (UnsayableError, OSError, TypeError, SyntaxError):  # nothing short can be written
            continue
        outcome = run(text) if text else None
        if outcome is not None and outcome.kind not in _BROKEN:
            yield Reproducer(finding, text, outcome)


# What a script that was cut too short says; torch has no part in it.
_BROKEN = frozenset(
    {"NameError", "UnboundLocalError", "SyntaxError", "ImportError", "ModuleNotFoundError"}
)


def _script(walk: Walk, graph: _Graph | None, finding: Finding) -> str:
    captured = walk.captured
    node = _node(graph, finding) if graph is not None else None
    if node is not None:
        return of_operator(node)
    loaded = captured.loaded if captured is not None else None
    runs = not isinstance(captured, CaptureFailed) or captured.eager is None
    part = _part(loaded, finding) if loaded is not None and runs else None
    if loaded is None or part is None or finding.location is None:
        return ""
    if finding.rule in _FIXED_SIZES and isinstance(captured, Captured):
        return _static(loaded, part)
    return (
        _smallest(part, finding.location.code, finding.location.line)
        or (_different(part) if finding.rule in _OTHER_VALUES else "")
        or (_reduced(part) if finding.rule in _ANYWHERE else "")
        or (_remembering(part) if finding.rule in _STATE else "")
    )


# A size that was asked to be dynamic and is not.
_FIXED_SIZES = frozenset({"SHP201"})
# A result that is not the model's own.
_OTHER_VALUES = frozenset({"NUM701"})
# A model that cannot be followed at all: torch may give up on another line of it.
_ANYWHERE = frozenset({"CAP001"})
# A model that answers otherwise the next time: torch writes a file, which does not.
_STATE = frozenset({"STA301", "STA302"})


def _different(part: Part) -> str:
    """The script with a check of what the file computes, if it is one that torch writes."""
    return "" if traced(script(part)) is not None else checked(script(part), part)


def _static(loaded: Loaded, part: Part) -> str:
    """The script with its sizes dynamic, and only the statements without which that works."""
    if part.module is not loaded.module:
        return ""  # its own inputs have sizes of their own
    open_axes = {leaf.path: tuple(axis for axis, _ in leaf.dims) for leaf in loaded.leaves}
    called = inspect.signature(part.module.forward).bind(*part.args, **part.kwargs)
    part = replace(part, dynamic={name: open_axes.get(name, ()) for name in called.arguments})
    return _reduced(part)


def _reduced(part: Part) -> str:
    """The script with every statement gone that its failure does without; "" if it does not fail."""
    failure = traced(script(part))
    if failure is None:
        return ""
    dropped: tuple[int, ...] = ()
    for number in reversed(range(min(statements(part), _TRIES))):
        found = traced(script(part, (*dropped, number)))
        if found is not None and found.mark == failure.mark:
            dropped = (*dropped, number)
    return script(part, dropped)


def _remembering(part: Part) -> str:
    """The script with every statement gone that its memory does without; "" if that shows nothing."""
    dropped: tuple[int, ...] = ()
    for number in reversed(range(min(statements(part), _TRIES))):
        if called(script(part, (*dropped, number))).remembers:
            dropped = (*dropped, number)
    left = called(script(part, dropped))
    return called_again(script(part, dropped)) if left.remembers and not left.draws else ""


class _Graph(NamedTuple):
    """What the findings about operators are of."""

    nodes: tuple[Any, ...]
    unsupported: tuple[Unsupported, ...]


def _graph(walk: Walk) -> _Graph | None:
    """The captured one; where the capture failed, the scout's."""
    captured = walk.captured
    if isinstance(captured, Captured):
        return _Graph(
            (*captured.root.graph.nodes,), walk.lowered.unsupported if walk.lowered else ()
        )
    if captured is None or captured.scouted is None or not captured.scouted.output_names:
        return None
    scouted = captured.scouted
    lowered = lower(scouted, opset=walk.plan.opset, ir_version=walk.plan.ir_version)
    return _Graph((*scouted.root.graph.nodes,), lowered.unsupported)


def _node(graph: _Graph, finding: Finding) -> Any:
    """The captured call that has no lowering, and that the finding is about."""
    here = finding.location
    ops = {
        each.op
        for each in graph.unsupported
        if each.location
        and here
        and (each.location.file, each.location.line) == (here.file, here.line)
    }
    for node in graph.nodes:
        names = {str(node.target), str(node.target).rpartition(".")[0]}
        if node.op == "call_function" and names & ops:
            return node
    return None


def _part(loaded: Loaded, finding: Finding) -> Part | None:
    """The module that the finding's line belongs to, with what it is called with at the example."""
    import torch

    root = loaded.module
    if not isinstance(root, torch.nn.Module) or finding.location is None:
        return None
    named = dict(root.named_modules())
    module = named.get(finding.location.module, root)
    calls: list[Part] = []

    def keep(_: Any, args: Any, kwargs: Any) -> None:
        calls.append(Part(module, tuple(args), dict(kwargs)))

    handle = module.register_forward_pre_hook(keep, with_kwargs=True)
    known: list[dict[str, Any]] = []
    try:
        with (
            untouched(root, buffers=True),
            torch.no_grad(),
            _names_at(module, finding.location.line, known),
        ):
            root(*loaded.args, **loaded.kwargs)
    except Exception:  # the call that matters has been seen by then, or never comes
        pass
    finally:
        handle.remove()
    if not calls:
        return None
    return replace(calls[0], known=known[0]) if known else calls[0]


@contextlib.contextmanager
def _names_at(module: Any, line: int, known: list[dict[str, Any]]) -> Iterator[None]:
    """Notes the local names of a module's forward when it comes to the statement of that line."""
    code = getattr(type(module).forward, "__code__", None)
    number = holding(Part(module, (), {}), line)
    first = starts(Part(module, (), {}))[number] if number is not None else line

    def inside(frame: Any, event: str, _: Any) -> Any:
        if event == "line" and frame.f_lineno == first and not known:
            known.append(dict(frame.f_locals))
        return inside

    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: inside if frame.f_code is code else None)
    try:
        yield
    finally:
        sys.settrace(before)


def _single(part: Part, code: str, line: int) -> str:
    """The one statement that fails, with what it needs as inputs; "" if it does not fail alone."""
    number = holding(part, line)
    if number is None:
        return ""
    others = [each for each in range(statements(part)) if each != number]
    try:
        text = script(part, others, part.known)
    except UnsayableError:
        return ""
    found = traced(text)
    return text if found is not None and _is_at(found, code) else ""


def _smallest(part: Part, code: str, line: int) -> str:
    """The script with every statement of forward gone that the failure at that line does without."""
    if part.known is not None and (single := _single(part, code, line)):
        return single
    many = min(statements(part), _TRIES)
    dropped, failure = _at_line(part, code, many)
    if failure is None:
        # torch may get past the line and fail at what comes of it
        text = _reduced(part)
        return text if any(same_line(each, code) for each in text.splitlines()) else ""
    for number in reversed(range(many)):
        if number in dropped:
            continue
        found = traced(script(part, (*dropped, number)))
        if found is not None and found.mark == failure.mark and same_line(found.line, code):
            dropped = (*dropped, number)
    return script(part, dropped)


def _at_line(part: Part, code: str, many: int) -> tuple[tuple[int, ...], Outcome | None]:
    """Without the statements that fail before that line does; (..., None) if it never fails."""
    dropped: tuple[int, ...] = ()
    for number in range(-1, many):
        without = dropped if number < 0 else (*dropped, number)
        found = traced(script(part, without))
        if found is None:
            continue
        if _is_at(found, code):
            return without, found
        if number >= 0 and found.line and found.kind not in _BROKEN:
            # Whatever it is that fails first now, this statement is not ours.
            dropped = without if not _holds(part, number, code) else dropped
    return dropped, None


def _is_at(found: Outcome, code: str) -> bool:
    return found.kind not in _BROKEN and same_line(found.line, code)


def _holds(part: Part, number: int, code: str) -> bool:
    """Whether a statement of forward has that line in it."""
    only = tuple(each for each in range(statements(part)) if each != number)
    return any(same_line(line, code) for line in script(part, only).splitlines())


def _issue(each: Reproducer) -> str:
    known = {**versions(), "platform": f"{platform.system()} {platform.machine()}"}
    lines = [
        f"# torch.onnx.export: {each.finding.message}",
        "",
        "## What happens",
        (
            "`torch.onnx.export(..., dynamo=True)` writes a file that computes something else:"
            if each.outcome.kind == "AssertionError" and CHECK in each.script
            else f"`torch.onnx.export(..., dynamo=True)` raises `{each.outcome.kind}`:"
        ),
        "",
        "```",
        str(each.outcome),
        "```",
        "",
        "## What is expected",
        "A model that PyTorch runs is exported, or the message says what to change.",
        "",
        "## To reproduce",
        "```python",
        each.script.rstrip(),
        "```",
        "",
        "## Versions",
        *(f"- {name}: {version}" for name, version in known.items()),
        "",
    ]
    return "\n".join(lines)
