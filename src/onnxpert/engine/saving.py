"""The file of a walk, written to where it waits for its proof."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.types import Saved
from onnxpert.engine.walk import Walk
from onnxpert.engine.weights import pointing
from onnxpert.save import save


def saved(walk: Walk, path: Path) -> Saved:
    assert walk.lowered is not None
    kept = pointing(walk.lowered, walk.weights)
    walk.learn(kept.told if kept is not None else None)
    return save(
        walk.lowered,
        path,
        external_data=walk.request.external_data,
        digest=walk.request.verify,
        pointing=kept if walk.weights.locations else None,
        later=walk.weights.later,
    )
