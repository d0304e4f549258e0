"""`package.module:name`: a class, a factory, a function or an instance in a module."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.errors import UsageError
from onnxpert.load.entry import named_source
from onnxpert.load.source import Source, source
from onnxpert.load.user_code import import_module, on_path

KINDS = (
    "write file.py:name, package.module:name, timm:NAME, torchvision:NAME, "
    "transformers:DIR-OR-MODEL-TYPE, or a .pt2 or TorchScript file"
)


@source("")
def python_module(text: str) -> Source:
    """`package.module:name`"""
    module, mark, name = text.partition(":")
    if not mark or not module or "/" in module or "\\" in module:
        raise UsageError(f"`{text}` names no model", KINDS)
    with on_path(Path.cwd()):
        return named_source(import_module(module), name, module)
