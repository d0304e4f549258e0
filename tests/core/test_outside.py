"""What a line calls of other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxpert.core.outside import called_outside
from onnxpert.core.types import Location

SOURCE = """\
import struct
import scipy.optimize as so
import torch.nn.functional as F
from scipy import stats
from zlib import crc32


def forward(x):
    a = so.brentq(lambda t: t - x, 0, 1)
    b = struct.pack("f", x)
    c = crc32(b) + stats.norm.pdf(a)
    d = F.relu(x).struct(b)
    return (
        so.root(
            a, d))
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (9, "scipy.optimize.brentq"),
        (10, "struct.pack"),
        (11, "zlib.crc32"),
        (12, None),
        (15, "scipy.optimize.root"),
    ],
)
def test_what_a_line_calls_outside(tmp_path: Path, line: int, name: str | None) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE, encoding="utf-8")
    assert called_outside(Location(str(file), line)) == name
