"""Example inputs for a model of transformers, from what its class and config tell."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch

Dims = dict[str, dict[int, str]]
BATCH, LENGTH, TARGET = 2, 16, 8
TEXT = {0: "batch", 1: "sequence"}
DECODED = {0: "batch", 1: "decoder_sequence"}


def dummy_inputs(model: Any) -> tuple[dict[str, Any], Dims]:
    """Keyword inputs and names for their axes; empty where the main input is of no known kind."""
    accepted = set(inspect.signature(model.forward).parameters)
    inputs = _own(model, accepted)
    dims: Dims = {name: DECODED if "decoder" in name else TEXT for name in inputs}
    if not inputs:
        inputs, dims = _main(model)
    # An encoder-decoder takes the beginning of the answer as well.
    decodes = getattr(model.config, "is_encoder_decoder", False)
    if inputs and decodes and "decoder_input_ids" in accepted - set(inputs):
        batch = len(next(iter(inputs.values())))
        inputs["decoder_input_ids"] = _tokens(model.config, TARGET, batch)
        dims["decoder_input_ids"] = DECODED
    kept = [name for name in inputs if name in accepted]
    return {name: inputs[name] for name in kept}, {name: dims[name] for name in kept}


def _own(model: Any, accepted: set[str]) -> dict[str, Any]:
    """The model's own dummy inputs, where its class writes them and not only inherits them."""
    written = [kind for kind in type(model).__mro__ if "dummy_inputs" in vars(kind)]
    if not written or written[0].__name__ == "PreTrainedModel":
        return {}
    inputs = model.dummy_inputs
    if not isinstance(inputs, Mapping) or not accepted.issuperset(inputs):
        return {}
    if getattr(model, "main_input_name", "input_ids") not in inputs:
        return {}
    if not all(isinstance(value, torch.Tensor) and value.dim() == 2 for value in inputs.values()):
        return {}
    # Encoder and decoder of one length would look like one dimension.
    both = any("decoder" in name for name in inputs)
    return {
        name: value[:, :-1].contiguous() if both and "decoder" in name else value
        for name, value in inputs.items()
    }


def _main(model: Any) -> tuple[dict[str, Any], Dims]:
    config, name = model.config, getattr(model, "main_input_name", "input_ids")
    if name == "input_ids" or "text_config" in vars(config):
        return _text(config)
    if name == "pixel_values":
        sized = config if getattr(config, "image_size", None) else None
        vision = getattr(config, "vision_config", None)
        return {name: _image(sized or vision or config)}, {name: {0: "batch"}}
    if name == "input_values":
        return {name: torch.randn(BATCH, 16000)}, {name: {0: "batch", 1: "samples"}}
    if name == "input_features":
        return {name: _features(config)}, {name: {0: "batch"}}
    return {}, {}


def _text(config: Any) -> tuple[dict[str, Any], Dims]:
    text = getattr(config, "text_config", None) or config
    inputs: dict[str, Any] = {"input_ids": _tokens(text, LENGTH)}
    inputs["attention_mask"] = torch.ones(BATCH, LENGTH, dtype=torch.int64)
    dims: Dims = {"input_ids": TEXT, "attention_mask": TEXT}
    vision = getattr(config, "vision_config", None)
    # With an image among the text the tokens must say where; CLIP and its like take both apart.
    if vision is not None and getattr(config, "image_token_id", None) is None:
        inputs["pixel_values"] = _image(vision)
        dims["pixel_values"] = {0: "images"}
    return inputs, dims


def _tokens(config: Any, length: int, batch: int = BATCH) -> torch.Tensor:
    vocabulary = int(getattr(config, "vocab_size", None) or 1000)
    low = min(5, vocabulary - 1)  # the first few are padding and the like
    return torch.randint(low, max(min(vocabulary, 1000), low + 1), (batch, length))


def _image(config: Any) -> torch.Tensor:
    size = getattr(config, "image_size", None) or 224
    height, width = (size, size) if isinstance(size, int) else (int(size[0]), int(size[-1]))
    return torch.randn(BATCH, int(getattr(config, "num_channels", None) or 3), height, width)


def _features(config: Any) -> torch.Tensor:
    """Whisper and its like take frames last and as many as the encoder has positions for."""
    bins = getattr(config, "num_mel_bins", None)
    positions = getattr(config, "max_source_positions", None)
    if bins and positions:
        return torch.randn(BATCH, int(bins), 2 * int(positions))
    return torch.randn(BATCH, 100, int(bins or getattr(config, "feature_size", None) or 80))
