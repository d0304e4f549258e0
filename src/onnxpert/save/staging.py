"""A directory beside the final place: what is in it is not there yet, and can always be dropped."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from onnxpert.core.errors import BugError, UsageError
from onnxpert.core.types import Saved
from onnxpert.save.layout import is_data_of

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


def link(files: Mapping[str, Path], directory: Path) -> None:
    """Let files appear in the directory under their locations, so that the model there finds them."""
    for location, file in files.items():
        place = directory / location
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file.resolve(), place)
        except OSError as error:
            raise UsageError(
                f"{file} cannot be pointed at from {directory.parent}: {error.strerror}",
                "put both into one file system that has hard links, or leave `weights` out",
            ) from error


def publish(saved: Saved, path: Path) -> Saved:
    """Move the files to their final place, the data first, so that the file never lacks it.

    Replaces what an earlier export left at `path`, all its data files included. When a move fails,
    what was there before is there again; whenever it is cut off, no file stands beside the data of
    another: the old one goes before its data do."""
    place = final_place(path)
    directory = saved.path.parent
    if saved.path.name != place.name or not _is_staging(directory):
        raise BugError(f"{saved.path} was not staged for {place}")
    new = {file.name for file in saved.files}
    # Unless it belongs to the file that goes, a file of such a name is none of our business.
    stale = [
        file for file in _data_files(place) if file.name in new or _refers_to(place, file.name)
    ]
    olds = directory / "replaced"
    with _dropped_on_failure(directory, place):
        olds.mkdir()
        away: list[Path] = []
        moved: list[Path] = []
        try:
            for file in [place, *stale] if stale and place.exists() else stale:
                os.replace(file, olds / file.name)
                away.append(file)
            for file in reversed(saved.files):
                os.replace(file, place.with_name(file.name))
                moved.append(place.with_name(file.name))
        except BaseException:
            for file in moved:
                file.unlink()
            for file in reversed(away):
                os.replace(olds / file.name, file)
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


def _data_files(place: Path) -> list[Path]:
    """What lies beside `place` under the name of a data file of its."""
    return [file for file in place.parent.iterdir() if is_data_of(place.name, file.name)]


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
