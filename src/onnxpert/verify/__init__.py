"""Stage 8: the file on a runtime against the user's own model, at the example and beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.types import Captured, Loaded, Lowered, Verified
from onnxpert.targets.target import Target

__all__ = ["localise", "verify"]

if TYPE_CHECKING:
    from onnxpert.core.types import Divergence


def verify(
    loaded: Loaded,
    path: Path,
    target: Target,
    *,
    sizes: Sequence[Mapping[str, int]] = (),
    seed: int = 0,
) -> Verified:
    """Compare the file at `path`, from whatever exporter, with the model and example of `loaded`.

    `sizes` are further ones to try, by the names of the file's dimensions; those outside of what
    was asked (or, where nothing was, of what the file promises) are left out. What the model or the runtime do is in the result. Raises UsageError when there is no such
    file, when its inputs cannot be matched with the example, or when the runtime is missing."""
    from onnxpert.verify.proof import prove

    return prove(loaded, path, target, sizes=sizes, seed=seed)


def localise(
    verified: Verified,
    loaded: Loaded,
    *,
    captured: Captured,
    lowered: Lowered,
    path: Path,
    target: Target,
    seed: int = 0,
) -> Divergence | None:
    """The first node of the file that differs from the model, at the first case that failed.

    `seed` is the one that `verify` had. None when nothing failed or no inner value shows it."""
    from onnxpert.verify.divergence import first_divergence

    return first_divergence(
        verified, loaded, captured=captured, lowered=lowered, path=path, target=target, seed=seed
    )
