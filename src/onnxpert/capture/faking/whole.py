"""Shapes of operators that ask for values or sizes on their way, which are recorded whole instead.

`cov` checks its weights, `kron` counts in numbers, `lstsq` and `ctc_loss` have results whose size torch
leaves to the data; what each of them gives is known all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten
Tensor = torch.Tensor


def _covariance(input: Tensor, *, aweights: Tensor | None = None, **_: Any) -> Any:
    if input.dim() > 2 or input.is_complex():
        return NotImplemented
    dtype = input.dtype
    if aweights is not None:
        dtype = torch.promote_types(dtype, aweights.dtype)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    rows = input.shape[0] if input.dim() == 2 else 1
    one = isinstance(rows, int) and rows == 1
    return input.new_empty(() if one else (rows, rows), dtype=dtype)


def _least_squares(input: Tensor, b: Tensor, *_: Any, driver: str | None = None) -> Any:
    if input.dim() < 2 or input.is_complex():
        return NotImplemented
    *batch, rows, columns = input.shape
    vector = b.dim() == 1 or (
        b.dim() == input.dim() - 1 and list(b.shape) == list(input.shape[:-1])
    )
    right = b.unsqueeze(-1) if vector else b
    batch = list(torch.broadcast_shapes(batch, right.shape[:-2]))  # type: ignore[no-untyped-call]
    width = right.shape[-1]
    solution = input.new_empty((*batch, columns) if vector else (*batch, columns, width))
    how = driver or "gelsy"
    residuals = input.new_empty((0,))
    if rows > columns and how != "gelsy":  # of a full rank, which only the data know
        residuals = input.new_empty((*batch, width))
    own = input.shape[:-2]
    rank = input.new_empty((0,) if how == "gels" else own, dtype=torch.int64)
    singular = input.new_empty((0,))
    if how in ("gelsd", "gelss"):
        singular = input.new_empty((*own, torch.sym_min(rows, columns)))  # type: ignore[no-untyped-call]
    return solution, residuals, rank, singular


def _alignment_loss(log_probs: Tensor, *rest: Any) -> Any:
    """After targets, their lengths and the blank comes the reduction, which is the mean by default."""
    reduction = rest[4] if len(rest) > 4 else 1
    whole = reduction == 0 and log_probs.dim() == 3
    return log_probs.new_empty((log_probs.shape[1],) if whole else ())


def _kron(self: Tensor, other: Tensor) -> Tensor:
    rank = max(self.dim(), other.dim())
    shapes = [(1,) * (rank - each.dim()) + tuple(each.shape) for each in (self, other)]
    sizes = [one * two for one, two in zip(*shapes, strict=True)]
    return self.new_empty(sizes, dtype=torch.result_type(self, other))


WHOLE: dict[Any, Callable[..., Any]] = {
    aten.kron.default: _kron,
    aten.cov.default: _covariance,
    aten.corrcoef.default: _covariance,
    aten.linalg_lstsq.default: _least_squares,
    aten.ctc_loss.IntList: _alignment_loss,
    aten.ctc_loss.Tensor: _alignment_loss,
}
