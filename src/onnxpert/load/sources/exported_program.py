"""A `.pt2` file: what torch.export.save wrote."""

from __future__ import annotations

from pathlib import Path

import torch

from onnxpert.core.errors import UsageError
from onnxpert.load.source import Source, source


@source(".pt2")
def exported_program(text: str) -> Source:
    """`model.pt2`, written by torch.export.save"""
    path = Path(text)
    if not path.is_file():
        raise UsageError(
            f"there is no file `{text}`", "torch.export.save(program, path) writes one"
        )
    try:
        program = torch.export.load(str(path))
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"`{text}` cannot be read as an exported program: {reason}",
            f"write it again with torch.export.save under torch {torch.__version__}",
        ) from error
    if not program.example_inputs:
        return Source(program)
    args, kwargs = program.example_inputs
    return Source(program, tuple(args), dict(kwargs))
