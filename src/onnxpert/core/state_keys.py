"""What a state dict calls the weights of a file: a note on each, which filling goes by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

PROPERTY = "onnxpert.state_dict_keys"


def noted(keys: Sequence[str]) -> dict[str, str]:
    """The note itself; a tied weight has more than one key."""
    return {PROPERTY: json.dumps(list(keys))} if keys else {}


def read(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The keys of a weight; none for a constant, and in files of other exporters."""
    written = properties.get(PROPERTY)
    return tuple(json.loads(written)) if written else ()
