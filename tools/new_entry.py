"""Starts a rule, a repair or a target: the file in its place, with what its decorator asks for."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RULE = '''"""{title}."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("{id}", "{name}", reads=Captured, severity=Severity.ERROR, since="{since}")
def {function}(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does

    ## Why it matters

    ## Example

    ```python
    model = ...
    args = ()
    ```

    ## Use instead

    ```python
    model = ...
    args = ()
    ```

    ## Repair safety
    """
    raise NotImplementedError("yield a Hit for every place in the evidence")
'''

REPAIR = '''"""{title}."""

from __future__ import annotations

from onnxpert.core.types import Finding, Loaded, Safety
from onnxpert.repair.repair import repair


@repair("{name}", cures=("{id}",), safety=Safety.UNSAFE)
def {function}(loaded: Loaded, finding: Finding) -> Loaded:
    """Say what is changed, and what of it the user could notice."""
    raise NotImplementedError("return a new Loaded; the user's own module stays as it is")
'''

TARGET = '''"""{title}."""

from __future__ import annotations

from pathlib import Path

from onnxpert.targets.target import Run, target


@target("{name}", opsets=range(13, 24), default_opset=20)
def {function}(path: Path) -> Run:
    """Say which runtime this is, and on which device."""
    raise NotImplementedError("open the file (import the runtime here) and return how to run it")
'''


class RefusedError(Exception):
    """What was asked for cannot be: the message says why, and what to write instead."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", help="rule, repair or target")
    parser.add_argument(
        "--id", default="", help="of a rule: SHP202; of a repair: the rule it cures"
    )
    parser.add_argument("--name", default="", help="words joined by dashes")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree that holds src/onnxpert")
    options = parser.parse_args()
    try:
        path = create(options.root / "src/onnxpert", options.kind, options.id, options.name)
    except RefusedError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    print(f"{path.relative_to(options.root)}: fill it in, then `make docs test`")
    return 0


def create(package: Path, kind: str, id: str, name: str) -> Path:
    """Write the file of a new entry and return its path. Raises RefusedError."""
    if kind not in ("rule", "repair", "target"):
        raise RefusedError(
            f"KIND={kind} is not one of rule, repair, target; "
            "for a lowering, a strategy or a pass see CONTRIBUTING.md"
        )
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name):
        raise RefusedError(
            f"NAME={name} must be words joined by dashes, such as data-dependent-dim"
        )
    if kind != "target" and not re.fullmatch(r"[A-Z]{3}\d{3}", id):
        raise RefusedError(f"ID={id} must be three letters and three digits, such as SHP202")
    text, path = {"rule": new_rule, "repair": new_repair, "target": new_target}[kind](
        package, id, name
    )
    if path.exists():
        raise RefusedError(f"{path.relative_to(package)} is there already")
    path.write_text(
        text.format(
            id=id,
            name=name,
            function=name.replace("-", "_"),
            title=name.replace("-", " ").capitalize(),
            since=series(package),
        ),
        encoding="utf-8",
    )
    return path


def new_rule(package: Path, id: str, name: str) -> tuple[str, Path]:
    rules = package / "diagnose/rules"
    taken = {path.name[:6].upper(): path for path in rules.glob("*/*_*.py") if path.name[0] != "_"}
    if id in taken:
        free = next(n for n in range(int(id[3:]), 1000) if f"{id[:3]}{n:03}" not in taken)
        raise RefusedError(f"{id} is {taken[id].name}; the next free one is {id[:3]}{free:03}")
    folders = {known[:3]: path.parent for known, path in taken.items()}
    if id[:3] not in folders:
        families = ", ".join(f"{key} ({path.name})" for key, path in sorted(folders.items()))
        raise RefusedError(f"there is no family {id[:3]}; the families are {families}")
    return RULE, folders[id[:3]] / f"{id.lower()}_{name.replace('-', '_')}.py"


def new_repair(package: Path, id: str, name: str) -> tuple[str, Path]:
    if not list((package / "diagnose/rules").glob(f"*/{id.lower()}_*.py")):
        raise RefusedError(f"there is no rule {id} to cure: docs/rules/README.md lists them")
    return REPAIR, package / "repair/repairs" / f"{name.replace('-', '_')}.py"


def new_target(package: Path, id: str, name: str) -> tuple[str, Path]:
    if id:
        raise RefusedError(f"a target has no ID, leave ID={id} out")
    return TARGET, package / "targets/runtimes" / f"{name.replace('-', '_')}.py"


def series(package: Path) -> str:
    """The version that is being written, as rules say it: 0.1 of 0.1.0."""
    source = (package / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+)', source, re.MULTILINE)
    if found is None:
        raise RefusedError(f"{package / '__init__.py'} does not say __version__")
    return found[1]


if __name__ == "__main__":
    sys.exit(main())
