"""What torch's own exporter makes of a model, without any help."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onnxpert.core.flatten import flatten_outputs
from onnxpert.engine.sources import Prepared

_SEED = 0
_FACTORS = (1.0, -1.0, 0.1, 10.0)  # of the example's values: other sides of comparisons


def traced(prepared: Prepared) -> bool:
    """Whether torch.export follows it."""
    import torch

    if not isinstance(prepared.model, torch.nn.Module):
        return False
    try:
        with _quiet():
            torch.export.export(
                prepared.model, _copied(prepared.args), dict(_copied(prepared.kwargs)), strict=False
            )
    except Exception:
        return False
    return True


def plain_export(prepared: Prepared, path: Path) -> bool:
    """Whether torch.onnx.export writes a file of it."""
    import torch

    if not isinstance(prepared.model, torch.nn.Module):
        return False
    try:
        with _quiet():
            torch.onnx.export(
                prepared.model,
                _copied(prepared.args),
                str(path),
                kwargs=dict(_copied(prepared.kwargs)),
                dynamo=True,
                verbose=False,
            )
    except Exception:
        return False
    return path.is_file()


def comparison(one: Prepared, other: Prepared) -> bool:
    """Whether two models give the same at the example and at multiples of its values."""
    import torch

    runs = 0
    with _quiet(), torch.no_grad():
        for factor in _FACTORS:
            try:
                expected = _outputs(one, factor)
            except Exception:  # the model refuses these values, and need not be followed
                if factor == 1.0:
                    return False
                continue
            actual = _outputs(other, factor)
            if len(expected) != len(actual) or not all(map(_close, expected, actual)):
                return False
            runs += 1
    return runs > 0


def _outputs(prepared: Prepared, factor: float) -> Sequence[Any]:
    import torch

    torch.manual_seed(_SEED)
    args = [_scaled(each, factor) for each in _copied(prepared.args)]
    kwargs = {key: _scaled(each, factor) for key, each in _copied(prepared.kwargs).items()}
    return [leaf for _, leaf in flatten_outputs(prepared.model(*args, **kwargs))]


def _scaled(value: Any, factor: float) -> Any:
    import torch

    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value * factor if floating else value


def _close(one: Any, other: Any) -> bool:
    import torch

    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        one, other = torch.as_tensor(one), torch.as_tensor(other)
        return bool(one.shape == other.shape and torch.allclose(one.double(), other.double()))
    same = one.shape == other.shape and one.dtype == other.dtype
    return same and torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def _copied(value: Any) -> Any:
    return copy.deepcopy(value)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            yield
    finally:
        logging.disable(before)
