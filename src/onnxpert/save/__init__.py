"""Stage 7: a lowered model becomes files, complete and checked, or leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.types import Lowered, Saved
from onnxpert.save.checker import check
from onnxpert.save.pointing import Pointing
from onnxpert.save.staging import discard, final_place, fresh_directory, link, publish
from onnxpert.save.writer import write

__all__ = ["check", "discard", "publish", "save"]


def save(
    lowered: Lowered,
    path: Path,
    *,
    external_data: bool | int = False,
    digest: bool = True,
    pointing: Pointing | None = None,
    later: bool = False,
) -> Saved:
    """Write the model into a fresh directory beside `path`, under its final name.

    The weights go to `<name>.data` when asked, and when the file would pass protobuf's 2 GiB; into
    several such files where `external_data` is the most bytes that one may have. Those of
    `pointing` stay where they are; with `later`, those without values are left out.
    `sha256` is of the files one after the other, as in `cat net.onnx net.onnx.data | sha256sum`;
    it is "" without `digest`, which spares a second per gigabyte.
    Raises UsageError when the place or the weights cannot be right, OSError with the path when
    the disk refuses; nothing stays in either case, nor after Ctrl-C."""
    place = final_place(path)
    with fresh_directory(place) as directory:
        if pointing is not None:
            link(pointing.files, directory)
        return write(
            lowered.model,
            directory / place.name,
            external_data=external_data,
            digest=digest,
            kept=pointing.places if pointing is not None else None,
            later=later,
        )
