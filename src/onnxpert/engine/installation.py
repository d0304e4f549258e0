"""What is installed here, read from package metadata and tried in a process of its own."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

from onnxpert.core.types import Misfit

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# import name -> the distributions that provide it, the usual one first
NEEDED: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "onnx": ("onnx", "onnx-weekly"),
    "onnx_ir": ("onnx-ir",),
    "onnxscript": ("onnxscript", "onnxscript-preview"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "ort-nightly"),
    "numpy": ("numpy",),
    "ml_dtypes": ("ml-dtypes",),
    "safetensors": ("safetensors",),
    "rich": ("rich",),
    "packaging": ("packaging",),
}
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "torchvision": ("torchvision",),
    "timm": ("timm",),
    "transformers": ("transformers",),
    "torchao": ("torchao",),
}
TORCH_FLOOR, TORCH_NEWEST = "2.13", "2.15"  # the oldest and the newest torch that is tested
IMPORT_SECONDS = 120

_PROBE = """
import contextlib, importlib, io, json, sys
for name in sys.argv[1:]:
    print("\\nonnxpert-probe", json.dumps([name, None]), flush=True)
    aside = io.StringIO()  # where numpy says what an error without words is about
    try:
        with contextlib.redirect_stderr(aside):
            importlib.import_module(name)
        said = ""
    except BaseException as error:
        told = str(error) or next(filter(str.strip, aside.getvalue().splitlines()), "")
        said = f"{type(error).__name__}: {told}"
    print("\\nonnxpert-probe", json.dumps([name, said]), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Package:
    """A library that is used when it is there; `error` is what importing it said."""

    name: str
    version: str  # "": not installed
    needed: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not fit, and the command that mends it."""

    message: str
    cure: str


def versions() -> Mapping[str, str]:
    """Python and every library that is installed, by its distribution's name; imports none."""
    found = {"Python": platform.python_version()}
    for choices in (*NEEDED.values(), *OPTIONAL.values()):
        if present := _present(choices):
            found[present[0]] = _version(present[0])
    return found


def packages() -> tuple[Package, ...]:
    """Every library of interest, imported once in another process: a broken one may crash there."""
    names = {**NEEDED, **OPTIONAL}
    installed = {name: present for name in names if (present := _present(names[name]))}
    errors = import_errors(list(installed))
    return tuple(
        Package(
            name=installed.get(name, choices)[0],
            version=_version(installed[name][0]) if name in installed else "",
            needed=name in NEEDED,
            error=errors.get(name, ""),
        )
        for name, choices in names.items()
    )


def import_errors(names: Sequence[str]) -> dict[str, str]:
    """What importing each module said, "" for nothing; a crash is blamed on the one it came in."""
    errors: dict[str, str] = {}
    left = list(names)
    while left:
        told, ended = _probe(left)
        errors |= {name: said for name, said in told.items() if said is not None}
        crashed = [name for name, said in told.items() if said is None]
        errors |= dict.fromkeys(crashed, ended)
        if not told:  # Python itself did not start: blame the next one rather than loop
            errors[left[0]] = ended
        left = [name for name in left if name not in errors]
    return errors


def _probe(names: Sequence[str]) -> tuple[dict[str, str | None], str]:
    """What each module said, None for one that was begun and not ended; and how it all ended."""
    # -P: a torch.py in the working directory is the user's, not the installed one.
    call = [sys.executable, "-P", "-c", _PROBE, *names]
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False
        )
        out, ended = done.stdout, f"the interpreter died with exit code {done.returncode}"
    except subprocess.TimeoutExpired as error:
        out = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        ended = f"importing it took more than {IMPORT_SECONDS} s"
    told: dict[str, str | None] = {}
    for line in out.splitlines():
        if line.startswith("onnxpert-probe "):
            name, said = json.loads(line.removeprefix("onnxpert-probe "))
            told[name] = said
    return told, ended


def problems(found: Iterable[Package]) -> tuple[Problem, ...]:
    """Everything about the installed packages that does not fit, each with its cure."""
    found = tuple(found)
    apart = tuple(_versions_apart(found))
    return (*_absent(found), *_doubled(), *apart, *_broken(found, apart))


def mend(problems: Iterable[Problem]) -> str:
    """One command for all of them: what is missing in one call, the rest in the order of need."""
    cures = list(dict.fromkeys(problem.cure for problem in problems))
    plain = [cure.removeprefix("pip install ") for cure in cures if _is_plain(cure)]
    rest = [cure for cure in cures if not _is_plain(cure)]
    return " && ".join(([f"pip install {' '.join(plain)}"] if plain else []) + rest)


def _is_plain(cure: str) -> bool:
    return cure.startswith("pip install ") and " -" not in cure and "&&" not in cure


@functools.cache
def misfits() -> tuple[Misfit, ...]:
    """The same from metadata alone, without an import: once per process, for every export."""
    names = {**NEEDED, **OPTIONAL}
    installed = [
        Package(present[0], _version(present[0]), name in NEEDED)
        for name, choices in names.items()
        if (present := _present(choices))
    ]
    needed = [each for each in installed if each.needed]
    core = (*_doubled(), *_versions_apart(needed))
    rest = [each for each in _versions_apart(installed) if each not in core]
    return (
        *(Misfit(each.message, each.cure, True) for each in core),
        *(Misfit(each.message, each.cure, False) for each in rest),
    )


def notes(found: Iterable[Package]) -> tuple[str, ...]:
    """What is worth knowing and no problem."""
    found = tuple(found)
    ahead = (
        f"torch {each.version} is newer than {TORCH_NEWEST}, the newest that onnxpert was tested with"
        for each in found
        if each.name == "torch" and _release(each.version) > _release(TORCH_NEWEST)
    )
    cures = [problem.cure for problem in problems(found)]
    # Builds for one kind of device (cpu, cu130) are not where pip looks by default.
    build = (
        f"torch {each.version} is a build of its own: where pip does not find what goes with it, "
        "add the --index-url that it came from"
        for each in found
        if each.name == "torch" and any("+" in cure for cure in cures)
    )
    return (*ahead, *build)


def _absent(found: Iterable[Package]) -> Iterator[Problem]:
    for each in found:
        if each.needed and not each.version:
            wanted = f'"torch>={TORCH_FLOOR}"' if each.name == "torch" else each.name
            yield Problem(f"{each.name} is not installed", f"pip install {wanted}")


def _doubled() -> Iterator[Problem]:
    for choices in NEEDED.values():
        present = _present(choices)
        if len(present) > 1:
            both = " and ".join(present)
            cure = f"pip uninstall -y {' '.join(present)} && pip install {present[-1]}"
            yield Problem(f"{both} are both installed and overwrite each other's files", cure)


def _versions_apart(found: Iterable[Package]) -> Iterator[Problem]:
    """Pairs that exclude each other by their own metadata, and a torch that is too old for us."""
    by_name = {each.name: each for each in found if each.version}
    torch = by_name.get("torch")
    if torch and _is_old(torch):
        message = f"torch {torch.version} is older than {TORCH_FLOOR}, the oldest that is tested"
        yield Problem(message, f'pip install "torch>={TORCH_FLOOR}"')
    if "packaging" not in by_name or by_name["packaging"].error:
        return  # said already; without it nobody here can read a requirement
    for each in by_name.values():
        for wish, name in _wishes(each.name):
            other = by_name.get(name)
            if other and not wish.specifier.contains(other.version, prereleases=True):
                yield Problem(
                    f"{each.name} {each.version} needs {wish.name}{wish.specifier}, "
                    f"but {other.name} {other.version} is installed",
                    _newer(wish, other) or _matching(each, other),
                )


def _wishes(distribution: str) -> Iterator[tuple[Requirement, str]]:
    """What a distribution requires on this machine, with the canonical name of each."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for text in importlib.metadata.requires(distribution) or ():
        with contextlib.suppress(InvalidRequirement):
            wish = Requirement(text)
            if wish.marker is None or wish.marker.evaluate({"extra": ""}):
                yield wish, canonicalize_name(wish.name)


def _newer(wish: Requirement, other: Package) -> str:
    """The upgrade of a package that is too old, "" for one that is not.

    An older version of whoever asks for it would fit as well, and be one that nobody here tested.
    torch is what the rest goes by: who asks for another one than is there makes way."""
    from packaging.version import Version

    floors = [each.version for each in wish.specifier if each.operator in (">=", ">", "~=")]
    old = any(Version(other.version) < Version(floor) for floor in floors)
    is_base = other.name == "torch"
    return f'pip install --upgrade "{other.name}{wish.specifier}"' if old and not is_base else ""


def _broken(found: Iterable[Package], apart: Iterable[Problem]) -> Iterator[Problem]:
    """What cannot be imported; a version that does not fit the others is mended as that is."""
    torch = next((each for each in found if each.name == "torch"), None)
    for each in found:
        if each.error:
            said = " ".join(each.error.split())
            fits = (one.cure for one in apart if one.message.startswith(f"{each.name} "))
            yield Problem(
                f"{each.name} {each.version} cannot be imported: {_clipped(said)}",
                next(fits, _again(each, torch)),
            )


def _matching(one: Package, other: Package) -> str:
    """Install `one` anew in whatever version goes with the `other` that is there, or has to be."""
    pin = f"torch>={TORCH_FLOOR}" if _is_old(other) else f"{other.name}=={other.version}"
    return f'pip install --upgrade {one.name} "{pin}"'


def _again(each: Package, torch: Package | None) -> str:
    """Install it anew; torch as it is, torchvision in its build, and what goes by neither the newest."""
    if not each.name.startswith("torch"):
        return f"pip install --upgrade --force-reinstall {each.name}"
    build = torch.version.partition("+")[2] if torch and each.name == "torchvision" else ""
    version = f"{each.version.partition('+')[0]}+{build}" if build else each.version
    return f'pip install --force-reinstall --no-deps "{each.name}=={version}"'


def _is_old(each: Package) -> bool:
    return each.name == "torch" and _release(each.version) < _release(TORCH_FLOOR)


def _present(choices: Iterable[str]) -> list[str]:
    return [name for name in choices if _version(name)]


def _version(distribution: str) -> str:
    try:
        # None where a half-removed package has left a folder without its metadata.
        return importlib.metadata.version(distribution) or ""
    except PackageNotFoundError:
        return ""


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _clipped(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."
