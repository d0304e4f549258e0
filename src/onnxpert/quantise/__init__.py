"""Stage after the proof of a float file: the same in whole numbers, where that costs little enough."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from onnxpert.core.collect import collect
from onnxpert.core.errors import UsageError
from onnxpert.core.types import Kept, Lowered, QuantisedLayer, replace
from onnxpert.quantise import schemes
from onnxpert.quantise.layers import Layer, asked_for, find_layers, of_scheme, unturned
from onnxpert.quantise.losses import Loss, losses, worst
from onnxpert.quantise.preparation import Prepared, prepare
from onnxpert.quantise.restoration import restore
from onnxpert.quantise.scheme import Feeds, Scheme, Work

__all__ = ["QuantiserError", "catalogue", "find", "quantise"]

MOST_FEEDS = 16  # on which single layers are compared


class QuantiserError(Exception):
    """ONNX Runtime could not do it."""


@functools.cache
def catalogue() -> Mapping[str, Scheme]:
    """Every scheme by its name."""
    return collect(schemes, Scheme, lambda scheme: (scheme.name,))


def find(name: str) -> Scheme:
    """The scheme of that name; raises UsageError with the known ones."""
    known = catalogue()
    if name not in known:
        listed = ", ".join(repr(each) for each in known)
        raise UsageError(f"quantize={name!r} is not a way to quantise", f"one of {listed}")
    return known[name]


def quantise(
    lowered: Lowered,
    file: Path,
    scheme: Scheme,
    *,
    feeds: Feeds,
    bound: float,
    exclude: Sequence[str] = (),
    signed: bool = False,
) -> tuple[Lowered | None, tuple[QuantisedLayer, ...]]:
    """The model that `file` holds, quantised, and what became of each layer; None: of none.

    A layer that alone is further off than `bound` on `feeds` stays in float32, as do those that
    `exclude` names. Raises UsageError for a name that no layer has, and QuantiserError."""
    with tempfile.TemporaryDirectory(prefix="onnxpert-") as place:
        prepared = prepare(file, Path(place), split_gemm=scheme.splits_gemm)
        inputs = prepared.model.graph.input
        names = {prepared.tokens.name(value.name): value.name for value in inputs}
        renamed = [{names[name]: array for name, array in feed.items()} for feed in feeds]
        layers = find_layers(prepared, lowered, scheme)
        attempt = _Attempt(prepared, scheme, layers, renamed, signed=signed)
        left = asked_for(layers, exclude)
        quantised, found = attempt.without(left)
        hurting = worst(found, bound)
        if hurting:
            quantised, again = attempt.without(left | hurting)
            found = {**{node: found[node] for node in hurting}, **again}
        kept = {
            **dict.fromkeys(hurting, Kept.HURTS),
            **dict.fromkeys(left, Kept.ASKED),
            **dict.fromkeys(attempt.untouched, Kept.NO_FORM),
        }
        told = tuple(_told(layer, found, kept) for layer in layers)
        if quantised is None:
            return None, told
        return replace(lowered, model=restore(quantised, prepared, lowered)), told


class _Attempt:
    """One file quantised with some layers left out, then with others."""

    def __init__(
        self,
        prepared: Prepared,
        scheme: Scheme,
        layers: Sequence[Layer],
        feeds: Feeds,
        *,
        signed: bool,
    ) -> None:
        self._signed = signed
        self._prepared = prepared
        self._scheme = scheme
        self._layers = layers
        self._feeds = feeds
        self._number = 0
        # Which the quantiser has been seen to leave as they are, for reasons of its own.
        self.untouched = frozenset(layer.node for layer in layers if not layer.fits)

    def without(self, left: frozenset[str]) -> tuple[Path | None, dict[str, Loss]]:
        """The file, or None where no layer of it is turned, and what each layer loses."""
        wanted = tuple(of_scheme(self._layers, left | self.untouched))
        if not wanted:
            return None, {}
        self._number += 1
        path = self._prepared.path.with_name(f"quantised-{self._number}.onnx")
        kinds = {layer.node: layer.op_type for layer in wanted}
        with _told_apart("ONNX Runtime's quantiser fails"):
            self._scheme.run(Work(self._prepared.path, path, kinds, self._feeds, self._signed))
        self.untouched |= unturned(wanted, path)
        turned = [layer for layer in wanted if layer.node not in self.untouched]
        if not turned:
            return None, {}
        with _told_apart("ONNX Runtime does not run what its quantiser makes"):
            return path, losses(self._prepared, path, turned, self._feeds[:MOST_FEEDS])


@contextmanager
def _told_apart(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of many kinds, with no base class in common
        line = (str(error).strip().splitlines() or [""])[0]
        raise QuantiserError(f"{what}: {type(error).__name__}: {line}") from error


def _told(layer: Layer, found: Mapping[str, Loss], kept: Mapping[str, Kept]) -> QuantisedLayer:
    loss, why = found.get(layer.node), kept.get(layer.node)
    return QuantisedLayer(
        layer.name,
        layer.op_type,
        own=loss.own if loss else None,
        there=loss.there if loss and why is None else None,
        kept=why,
        location=layer.location,
    )
