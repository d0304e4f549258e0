"""`torchvision:NAME`: a model of torchvision, with random weights and the input it was made for."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import torch

from onnxpert.core.errors import UsageError
from onnxpert.load.library import library, same_weights
from onnxpert.load.source import Source, did_you_mean, source


@source("torchvision:")
def torchvision(name: str) -> Source:
    """`torchvision:NAME`, as torchvision.models.list_models() has it"""
    library("torchvision")
    models = library("torchvision.models")
    if name not in models.list_models():
        help = did_you_mean(name, models.list_models(), "torchvision has")
        raise UsageError(f"torchvision has no model `{name}`", help)
    builder = models.get_model_builder(name)
    # Every kind of weights: a detection model fetches those of its backbone unless told not to.
    none = {key: None for key in inspect.signature(builder).parameters if "weights" in key}
    with same_weights(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # how inception is initialised
        model = builder(**none).eval()
        args, dynamic = _inputs(builder.__module__, models.get_model_weights(name).DEFAULT)
    return Source(model, args, {}, dynamic, ("weights are random",))


def _inputs(module: str, weights: Any) -> tuple[tuple[Any, ...], dict[str, dict[int, str]]]:
    transforms = weights.transforms()
    if ".detection" in module:
        return ([torch.rand(3, 320, 320)],), {}
    if ".optical_flow" in module:
        size = weights.meta["min_size"]
        pair = (torch.rand(2, 3, *size), torch.rand(2, 3, *size))
        return pair, {"image1": {0: "batch"}, "image2": {0: "batch"}}
    height, width = _size(getattr(transforms, "crop_size", None) or (224,))
    shape = [2, 3, height, width]
    if ".video" in module:
        shape.insert(2, weights.meta.get("min_temporal_size") or 16)
        if shape[2] == 1:  # it takes any length: an example of one frame would hide that
            shape[2] = 16
    return (torch.rand(shape),), {"x": {0: "batch"}}


def _size(crop: Any) -> tuple[int, int]:
    sizes = [crop] if isinstance(crop, int) else list(crop)
    return int(sizes[0]), int(sizes[-1])
