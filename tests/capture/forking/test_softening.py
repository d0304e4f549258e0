"""Soft numbers leave a module's other names alone."""

from __future__ import annotations

import math
from typing import Any

from onnxpert.capture.forking.softening import SoftFloat, softened


def test_only_the_names_that_were_meant_are_put_back() -> None:
    home: dict[str, Any] = {"sqrt": math.sqrt, "int": "mine"}
    plain = math.sqrt
    with softened([home]):
        assert home["float"] is SoftFloat
        assert home["sqrt"] is not plain
        home["added"] = 1  # by whoever else works on the module meanwhile
    assert home == {"sqrt": plain, "int": "mine", "added": 1}
