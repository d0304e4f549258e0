"""Stage 7: a lowered model becomes files, complete and checked, or leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.types import Lowered, Saved
from onnxpert.save.checker import check
from onnxpert.save.staging import discard, final_place, fresh_directory, publish
from onnxpert.save.writer import write

__all__ = ["check", "discard", "publish", "save"]


def save(
    lowered: Lowered, path: Path, *, external_data: bool = False, digest: bool = True
) -> Saved:
    """Write the model into a fresh directory beside `path`, under its final name.

    The weights go to `<name>.data` when asked, and when the file would pass protobuf's 2 GiB.
    `sha256` is of the files one after the other, as in `cat net.onnx net.onnx.data | sha256sum`;
    it is "" without `digest`, which spares a second per gigabyte.
    Raises UsageError when the place or the weights cannot be right, OSError with the path when
    the disk refuses; nothing stays in either case, nor after Ctrl-C."""
    place = final_place(path)
    with fresh_directory(place) as directory:
        return write(
            lowered.model, directory / place.name, external_data=external_data, digest=digest
        )
