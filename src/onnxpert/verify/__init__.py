"""Stage 8: the file on a runtime against the user's own model, at the example and beyond it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert.core.types import Captured, Loaded, Lowered, Randomness, Verified, replace
from onnxpert.targets.target import Array, Target

__all__ = [
    "calibration_feeds",
    "choices",
    "example_feeds",
    "first_difference",
    "localise",
    "measure",
    "recollections",
    "verify",
]

if TYPE_CHECKING:
    from onnxpert.core.types import Accuracy, Caught, Divergence


def choices(loaded: Loaded, names: Sequence[str], *, seed: int = 0) -> tuple[Verified, ...]:
    """What torch leaves open at the example of a model of which there is no file to compare, and comes
    out otherwise in a file: one after the other."""
    from onnxpert.verify.left_open import choices

    return tuple(choices(loaded, names, seed))


def recollections(
    loaded: Loaded, *, tensors: Collection[str] = (), seed: int = 0
) -> tuple[str, ...]:
    """The attributes and variables that a call leaves to later ones, and by which they answer otherwise;
    and those of the `tensors`, by name, that it writes to in place."""
    from onnxpert.verify.recollection import recollections

    return recollections(loaded, tensors, seed)


def verify(
    loaded: Loaded,
    path: Path,
    target: Target,
    *,
    sizes: Sequence[Mapping[str, int]] = (),
    far: Sequence[str] = (),
    seed: int = 0,
    randomness: Randomness | None = None,
    captured: Captured | None = None,
    computed_in: str = "",
    undetermined: bool = False,
    provisional: bool = False,
    replaced_at: Callable[[Mapping[str, int]], bool] | None = None,
    alike: Sequence[tuple[str, str]] = (),
) -> Verified:
    """Compare the file at `path`, from whatever exporter, with the model and example of `loaded`.

    `sizes` are further ones to try, by the names of the file's dimensions; those outside of what
    was asked (or, where nothing was, of what the file promises) are left out. Those named in `far` are
    also tried as large as what the model computes allows. `randomness` is what
    is known of the part that chance has; with `captured`, both sides of its branches are looked for.
    With `undetermined`, what torch leaves open may be chosen by the file; with `provisional`, a
    failure at another size than the example's leads to another file, and is not looked into; one
    where two sizes that are `alike` differ leads to one with a single size for both. At sizes where
    the file would be `replaced_at` any failure, one that takes long to look into is not explained.
    What the model or the runtime do is in the result. Raises UsageError when there is no such
    file, when its inputs cannot be matched with the example, or when the runtime is missing."""
    from onnxpert.verify.proof import prove

    verified = prove(
        loaded,
        path,
        target,
        sizes=sizes,
        far=far,
        seed=seed,
        randomness=randomness,
        captured=captured,
        computed_in=computed_in,
        undetermined=undetermined,
        provisional=provisional,
        replaced_at=replaced_at,
        alike=alike,
    )
    if not loaded.states or not verified.rows:
        return verified
    from onnxpert.verify.sequence import prove_sequence

    rows = (*verified.rows, *prove_sequence(loaded, path, target, seed))
    return replace(verified, rows=rows)  # type: ignore[no-any-return]


def first_difference(
    loaded: Loaded, captured: Captured, many: Sequence[Sequence[Any]]
) -> int | None:
    """The first of these inputs that the model takes and for which the captured graph gives something
    else, without an error."""
    from onnxpert.verify.apart import first_difference as found

    return found(loaded, captured, many)


def example_feeds(loaded: Loaded, path: Path) -> dict[str, Array]:
    """The example as the file takes it."""
    from onnxpert.verify import cases
    from onnxpert.verify.file import facts, read
    from onnxpert.verify.inputs import bind

    inputs = bind(loaded, facts(read(path)))
    return inputs.feeds(inputs.build(cases.example(inputs), 0))


def calibration_feeds(loaded: Loaded, path: Path, made: int) -> list[dict[str, Array]]:
    """What a quantiser measures: the user's calibration inputs as the file takes them.

    Without any, the example, the further examples and `made` others drawn from the example's
    values. Raises UsageError for an input of other sizes than the file takes."""
    from onnxpert.verify.calibration import feeds

    return feeds(loaded, path, made)


def measure(loaded: Loaded, before: Path, after: Path, target: Target) -> tuple[Accuracy, ...]:
    """A file that need not give the same, and the one it was made of, against the model."""
    from onnxpert.verify.accuracy import measured

    return measured(loaded, before, after, target)


def localise(
    verified: Verified,
    loaded: Loaded,
    *,
    captured: Captured,
    lowered: Lowered,
    path: Path,
    target: Target,
    seed: int = 0,
) -> Divergence | Caught | None:
    """The first node of the file that differs from the model, at the first case that failed.

    `seed` is the one that `verify` had. None when nothing failed or no inner value shows it."""
    from onnxpert.verify.divergence import first_divergence

    return first_divergence(
        verified, loaded, captured=captured, lowered=lowered, path=path, target=target, seed=seed
    )
