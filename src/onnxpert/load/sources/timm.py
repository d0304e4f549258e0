"""`timm:NAME`: an image model of timm, with random weights and the input its config tells."""

from __future__ import annotations

import inspect

import torch

from onnxpert.core.errors import UsageError
from onnxpert.load.library import library, same_weights
from onnxpert.load.source import Source, did_you_mean, source


@source("timm:")
def timm(name: str) -> Source:
    """`timm:NAME`, as timm.list_models() has it"""
    package = library("timm")
    if ":" in name:
        raise UsageError(f"`timm:{name}` would be downloaded", "name a model that timm itself has")
    if not package.is_model(name):
        help = did_you_mean(name, package.list_models(), "timm has")
        raise UsageError(f"timm has no model `{name}`", help)
    with same_weights():
        model = package.create_model(name, pretrained=False).eval()
        size = library("timm.data").resolve_model_data_config(model)["input_size"]
        image = torch.randn(2, *size)
    first = next(iter(inspect.signature(model.forward).parameters))
    return Source(model, (image,), {}, {first: {0: "batch"}}, ("weights are random",))
