"""Imports go one way: cli -> engine -> stages -> targets -> core, and stages never meet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import onnxpert

ROOT = Path(onnxpert.__file__).parent
STAGES = frozenset(
    [
        "load",
        "capture",
        "diagnose",
        "repair",
        "lower",
        "optimise",
        "save",
        "verify",
        "quantise",
        "report",
    ]
)
BELOW = {
    "core": frozenset[str](),
    "targets": frozenset({"core"}),
    **dict.fromkeys(STAGES, frozenset({"targets", "core"})),
    "engine": STAGES | {"targets", "core"},
    "cli": frozenset({"engine", "core"}),
}
# A type and never an import at run time: ExportError carries the report, which is built of
# everything above core.
TYPES_ONLY = {("onnxpert.core.errors", "onnxpert.report")}


def sources() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("onnxpert", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(module: str, tree: ast.AST, *, is_package: bool) -> Iterator[str]:
    """The dotted names of ours that a module imports, at its top or inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = module.split(".")
                kept = len(here) - node.level + is_package
                base = ".".join([*here[:kept], *([base] if base else [])])
            # `from onnxpert import core` names the package in the alias, not before it.
            yield from (f"{base}.{a.name}" if base == "onnxpert" else base for a in node.names)


def complaint(module: str, target: str) -> str:
    """Why `module` may not import `target`, or ""."""
    if target.split(".", maxsplit=1)[0] != "onnxpert" or (module, target) in TYPES_ONLY:
        return ""
    if target == "onnxpert.__version__":  # the one thing the top has that those below it need
        return ""
    ours, theirs = (name.split(".")[1] if "." in name else "" for name in (module, target))
    if ours in ("", "__main__", theirs) or theirs in BELOW[ours]:
        return ""
    if not theirs:
        return f"{module} imports the public face of the package, which is above everything"
    if ours in STAGES and theirs in STAGES:
        return f"{module} imports {target}: stages share values, they never import each other"
    return f"{module} imports {target}: {theirs} is not below {ours}"


def complaints(module: str, source: str, *, is_package: bool) -> list[str]:
    targets = imported(module, ast.parse(source), is_package=is_package)
    return [text for target in targets if (text := complaint(module, target))]


def test_every_package_has_a_layer() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    modules = {path.name for path in ROOT.glob("*.py")}
    assert packages == BELOW.keys()
    assert modules <= {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("module", sources())
def test_no_import_goes_up_or_sideways(module: str) -> None:
    path = sources()[module]
    source = path.read_text(encoding="utf-8")
    assert complaints(module, source, is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "line", "fine"),
    [
        ("onnxpert.engine.pipeline", "from onnxpert.lower import lower", True),
        ("onnxpert.lower.aten.norm", "from onnxpert.core.types import Lowered", True),
        ("onnxpert.lower.aten.norm", "from onnxpert.lower.lowering import lowering", True),
        ("onnxpert.lower.aten.norm", "from ..lowering import lowering", True),
        ("onnxpert.report.text", "from onnxpert import __version__", True),
        ("onnxpert.core.errors", "from onnxpert.report import Report", True),
        ("onnxpert.core.types", "from onnxpert.report import Report", False),
        ("onnxpert.lower.aten.norm", "from onnxpert.capture import capture", False),
        ("onnxpert.lower.aten.norm", "from ...capture import capture", False),
        ("onnxpert.verify.case", "def f():\n    import onnxpert.lower", False),
        ("onnxpert.targets.target", "from onnxpert import verify", False),
        ("onnxpert.cli.commands.export", "from onnxpert.report import Report", False),
        ("onnxpert.cli.commands.export", "import onnxpert", False),
        ("onnxpert.lower.lowering", "from onnxpert.engine.api import export", False),
    ],
)
def test_the_reader_tells_right_from_wrong(module: str, line: str, fine: bool) -> None:
    assert (complaints(module, line, is_package=False) == []) is fine


def test_a_relative_import_is_read_from_the_package_itself() -> None:
    assert complaints("onnxpert.lower", "from . import aten", is_package=True) == []
    assert complaints("onnxpert.lower", "from ..capture import x", is_package=True) != []
