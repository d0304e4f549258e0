"""A directory beside the final place: what is in it is not there yet, and can always be dropped."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from onnxpert.core.errors import BugError, UsageError
from onnxpert.core.types import Saved

MARK = ".onnxpert-"


def final_place(path: Path) -> Path:
    """The regular file that `path` means, links followed; UsageError when there can be none."""
    place = path.resolve()
    if not path.name:
        raise UsageError(f"{str(path)!r} names no file", "give a path such as model.onnx")
    if not place.parent.is_dir():
        raise UsageError(f"the directory {place.parent} does not exist", f"mkdir -p {place.parent}")
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return place
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        raise UsageError(f"{path} is {what}", "give the path of a file, such as model.onnx")
    return place


@contextmanager
def fresh_directory(place: Path) -> Iterator[Path]:
    """A fresh directory beside `place`, removed again when the body raises, whatever it raises."""
    try:
        directory = Path(tempfile.mkdtemp(prefix=f".{place.name[:99]}{MARK}", dir=place.parent))
    except OSError as error:
        raise _at(place, error) from error
    with _dropped_on_failure(directory, place):
        yield directory


@contextmanager
def _dropped_on_failure(directory: Path, place: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        shutil.rmtree(directory, ignore_errors=True)
        if isinstance(error, OSError):
            raise _at(place, error) from error
        raise


def publish(saved: Saved, path: Path) -> Saved:
    """Move the files to their final place, the data first, so that the file never lacks it.

    Replaces what an earlier export left at `path`, its data file included. When a move fails,
    what was there before is there again."""
    place = final_place(path)
    directory = saved.path.parent
    if saved.path.name != place.name or not _is_staging(directory):
        raise BugError(f"{saved.path} was not staged for {place}")
    data = place.with_name(place.name + ".data")
    old = directory / "replaced.data"
    with _dropped_on_failure(directory, place):
        # Unless it belongs to the file that goes, a file of that name is none of our business.
        if data.is_file() and (len(saved.files) > 1 or _refers_to(place, data.name)):
            os.replace(data, old)
        moved: list[Path] = []
        try:
            for file in reversed(saved.files):
                os.replace(file, place.with_name(file.name))
                moved.append(place.with_name(file.name))
        except BaseException:
            for file in moved:
                file.unlink()
            if old.exists():
                os.replace(old, data)
            raise
    shutil.rmtree(directory, ignore_errors=True)
    return replace(
        saved, path=place, files=tuple(place.with_name(file.name) for file in saved.files)
    )


def discard(saved: Saved) -> None:
    """Drop files that were never published; published ones stay."""
    if _is_staging(saved.path.parent):
        shutil.rmtree(saved.path.parent, ignore_errors=True)


def _is_staging(directory: Path) -> bool:
    return directory.name.startswith(".") and MARK in directory.name


def _refers_to(place: Path, location: str) -> bool:
    """Whether the file at `place` keeps its weights in `location`."""
    with suppress(OSError):
        # It would be a few megabytes of nodes: the weights are not in it.
        if place.stat().st_size < 1 << 28:
            return location.encode() in place.read_bytes()
    return False


def _at(place: Path, error: OSError) -> OSError:
    """The same error, at the path the user gave and not at one of ours."""
    return OSError(error.errno, error.strerror or str(error), os.fspath(place))
