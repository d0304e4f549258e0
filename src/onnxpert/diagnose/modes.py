"""Layers that behave as in training although the model as a whole is in evaluation mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxpert.core.source import module_of, of_meta
from onnxpert.core.types import Captured, Loaded
from onnxpert.diagnose.parts import parts

if TYPE_CHECKING:
    from torch import fx

# Which argument of an operator says "training".
FLAGS = {
    "dropout": 2, "dropout_": 2, "feature_dropout": 2, "feature_dropout_": 2, "alpha_dropout": 2,
    "native_dropout": 2, "feature_alpha_dropout": 2, "batch_norm": 5, "instance_norm": 5, "rrelu": 3,
    "lstm": 6, "gru": 6, "rnn_tanh": 6, "rnn_relu": 6, "scaled_dot_product_attention": 4,
}  # fmt: skip
_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
_BY_INSTANCE = "instance_norm"


@dataclass(frozen=True, slots=True)
class Layer:
    """A call that is in training mode: by its module's mode, or by its own argument."""

    name: str
    path: str
    training: bool  # the module's own mode
    always: bool  # it is the same in evaluation


def is_on(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a call trains; a dropout with a probability of 0 does nothing either way, nor does an
    instance norm without statistics of its own, which is by the instance always. Recurrent layers drop
    between one another."""
    place = FLAGS[name]
    if name in _RECURRENT:
        place += not isinstance(
            args[2], (list, tuple)
        )  # of a packed sequence the batch sizes come first
        layers, share, training = args[place - 2 : place + 1]
        return bool(training and share and layers > 1)
    on = len(args) > place and bool(args[place]) and not (name == _BY_INSTANCE and args[3] is None)
    return on and not ("dropout" in name and args[1] == 0)


def is_always(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a call does in evaluation what it does in training: a batch norm without statistics."""
    return name == "batch_norm" and args[3] is None


def is_training(loaded: Loaded) -> bool:
    """Whether the model as a whole is in training mode, rather than some part of it."""
    model = getattr(loaded.module, "__self__", loaded.module)
    return bool(getattr(model, "training", loaded.training))


_RANDOM = frozenset({"bernoulli", "bernoulli_", "native_dropout"})


def is_stopped_by_eval(captured: Captured, node: fx.Node) -> bool:
    """Whether a call of a model in training mode draws, and would not in evaluation."""
    if captured.loaded is None or not is_training(captured.loaded) or lasts(captured, node):
        return False
    name = _name(node)
    trains = name in FLAGS and is_on(name, node.args) and not is_always(name, node.args)
    return trains or name in _RANDOM


def lasts(captured: Captured, node: fx.Node) -> bool:
    """Whether a line of a model in training mode does the same in evaluation mode."""
    place = of_meta(node.meta)
    return place is not None and (place.file, place.line) in captured.lasting_chance


def switched_on(captured: Captured) -> Iterator[tuple[fx.Node, Layer]]:
    """The calls in training mode of a model that is in evaluation mode, or that would be in it too."""
    if captured.loaded is None:
        return
    training = is_training(captured.loaded)
    modes = {path: module.training for path, module in parts(captured.loaded)}
    for node in captured.root.graph.nodes:
        name = _name(node)
        if (
            name not in FLAGS
            or not is_on(name, node.args)
            or (training and not lasts(captured, node))
        ):
            continue
        path = module_of(node.meta)
        own = modes.get(path, False) and not training
        yield node, Layer(name.rstrip("_"), path, own, is_always(name, node.args))


def _name(node: fx.Node) -> str:
    return str(getattr(getattr(node.target, "overloadpacket", None), "__name__", ""))
