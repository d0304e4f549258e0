"""`transformers:DIR-OR-MODEL-TYPE`: a model of transformers, from a directory or its default config."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnxpert.core.errors import UsageError
from onnxpert.load.library import library, same_weights
from onnxpert.load.source import Source, did_you_mean, source
from onnxpert.load.transformers_inputs import dummy_inputs
from onnxpert.load.transformers_size import fit

# The class for a model type: the first of these heads that the type has.
HEADS = (
    "AutoModelForSeq2SeqLM",
    "AutoModelForSpeechSeq2Seq",
    "AutoModelForMaskedLM",
    "AutoModelForCausalLM",
    "AutoModelForImageClassification",
    "AutoModelForObjectDetection",
    "AutoModelForSemanticSegmentation",
    "AutoModelForCTC",
    "AutoModelForAudioClassification",
    "AutoModelForImageTextToText",
    "AutoModelForDepthEstimation",
    "AutoModel",
)


@source("transformers:")
def transformers(name: str) -> Source:
    """`transformers:DIR` with a config.json, or a model type such as `transformers:bert`"""
    with _offline():
        package = library("transformers")
        path = Path(name)
        notes: list[str] = []
        with same_weights():
            if path.is_dir():
                model = _from_directory(package, path, notes)
            else:
                model = _from_type(package, name, notes)
            model.eval()
            kwargs, dynamic = dummy_inputs(model)
    if not kwargs:
        notes.append("no example inputs are known for it: give them with --input")
    return Source(model, () if kwargs else None, kwargs or None, dynamic or None, tuple(notes))


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """HF_HUB_OFFLINE for the time of the block, also where the hub's package is imported already."""
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        constants = library("huggingface_hub.constants") if _installed() else None
        was = getattr(constants, "HF_HUB_OFFLINE", None)
        if constants is not None:
            constants.HF_HUB_OFFLINE = True
        try:
            yield
        finally:
            if constants is not None:
                constants.HF_HUB_OFFLINE = was
    finally:
        if before is None:
            del os.environ["HF_HUB_OFFLINE"]
        else:
            os.environ["HF_HUB_OFFLINE"] = before


def _installed() -> bool:
    from importlib.util import find_spec

    return find_spec("huggingface_hub") is not None


def _from_directory(package: Any, path: Path, notes: list[str]) -> Any:
    if not (path / "config.json").is_file():
        raise UsageError(f"`{path}` has no config.json", "name a directory of save_pretrained")
    with _told(f"`{path}`"):
        config = package.AutoConfig.from_pretrained(str(path), local_files_only=True)
    kind = _architecture(package, config)
    _quiet(config)
    if any(path.glob("*.safetensors")):
        with _told(f"`{path}`"):
            return kind.from_pretrained(
                str(path), config=config, local_files_only=True, use_safetensors=True
            )
    others = sorted(file.name for file in (*path.glob("*.bin"), *path.glob("*.pt")))
    if others:
        # A pickle may run any code when it is read; transformers converts it on request.
        notes.append(f"`{others[0]}` is a pickle and was not read; save it as safetensors")
    notes.append("weights are random")
    with _told(f"`{path}`"):
        return kind(config)


def _architecture(package: Any, config: Any) -> Any:
    for name in getattr(config, "architectures", None) or ():
        if hasattr(package, name):
            return getattr(package, name)
    return _head(package, config)


def _from_type(package: Any, name: str, notes: list[str]) -> Any:
    known = list(package.CONFIG_MAPPING)
    if name not in known:
        if "/" in name or name.startswith("."):
            raise UsageError(
                f"there is no directory `{name}`, and nothing is downloaded",
                "download it first (save_pretrained) and name the directory, or name a model type",
            )
        raise UsageError(
            f"transformers has no model type `{name}`", did_you_mean(name, known, "it has")
        )
    with _told(f"the default config of `{name}`"):
        config = package.AutoConfig.for_model(name)
        _quiet(config)
        kind = _head(package, config)
        config, said = fit(kind, config)
        notes += [f"{kind.__name__} with its default config", *said, "weights are random"]
        return kind(config)


def _head(package: Any, config: Any) -> Any:
    for name in HEADS:
        mapping = getattr(getattr(package, name, None), "_model_mapping", None)
        if mapping is not None and type(config) in mapping:
            kind = mapping[type(config)]
            return kind[0] if isinstance(kind, tuple) else kind
    raise UsageError(
        f"transformers knows no model class for `{config.model_type}`",
        "point at a function that builds it: model.py:make",
    )


def _quiet(config: Any) -> None:
    """No cache among the outputs, and no backbone that is fetched."""
    for each in (config, *_inner(config)):
        if hasattr(each, "use_cache"):
            each.use_cache = False
        if getattr(each, "use_pretrained_backbone", False):
            each.use_pretrained_backbone = False


def _inner(config: Any) -> list[Any]:
    return [value for name, value in vars(config).items() if name.endswith("_config") and value]


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise UsageError(
            f"{what} does not make a model: {type(error).__name__}: {reason}",
            "point at a function that builds it: model.py:make",
        ) from error
