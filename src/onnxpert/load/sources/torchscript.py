"""A TorchScript archive: what torch.jit.save wrote."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import torch

from onnxpert.core.errors import UsageError
from onnxpert.load.source import Source, source

HELP = "load the weights in a function and point at it: model.py:make"


@source(".pt", ".pth", ".ts")
def torchscript(text: str) -> Source:
    """`model.pt`, written by torch.jit.save"""
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"there is no file `{text}`", "torch.jit.save(module, path) writes one")
    if not _is_archive(path):
        # A pickle may run any code when it is read, so it is not read.
        raise UsageError(f"`{text}` holds weights or a pickle, not a TorchScript model", HELP)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that torch.jit is deprecated: the file exists already
        try:
            model = torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UsageError(f"`{text}` cannot be read: {reason}", HELP) from error
    return Source(model)


def _is_archive(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return any("/code/" in name for name in names) and any(
        name.endswith("/constants.pkl") for name in names
    )
