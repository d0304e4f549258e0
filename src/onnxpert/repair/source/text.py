"""A source file as text, with all that is needed to write it back as it was."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

_BOM = "utf-8-sig"


@dataclass(frozen=True, slots=True)
class Text:
    """Decoded, with its own line ends."""

    path: Path
    content: str
    encoding: str


def read(path: Path) -> Text:
    raw = path.read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return Text(path, raw.decode(encoding), encoding)


def write(text: Text, content: str) -> None:
    """In place of the old one at once, with its mode and encoding; never half of it."""
    place = Path(os.path.realpath(text.path))
    mode = stat.S_IMODE(place.stat().st_mode)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode(text.encoding))
        os.chmod(name, mode)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise
