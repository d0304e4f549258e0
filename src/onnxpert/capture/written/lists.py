"""torch's functions that take or give lists, where only a run knows how long those are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import Grown, joined
from onnxpert.capture.written.sequences import Steps, pieces
from onnxpert.capture.written.tuples import Tuples

Tensor = torch.Tensor
_sym: Any = torch  # whose functions of symbols have no types
_CATS = (torch.cat, torch.concat, torch.concatenate)
_STACKS = (torch.stack,)
_ROWS = (torch.vstack, torch.hstack, torch.dstack, torch.column_stack)
_UNBINDS = (torch.unbind, Tensor.unbind, Tensor.__iter__)
_SPLITS = (torch.split, Tensor.split)
_SPLITS_AT = (torch.tensor_split, Tensor.tensor_split)
_CHUNKS = (torch.chunk, Tensor.chunk)
_MAKERS = (torch.tensor, torch.as_tensor)
_PADS = (torch._C._nn.pad_sequence,)
_TAKERS = (*_CATS, *_STACKS, *_ROWS, *_MAKERS, *_PADS)


class WrittenLists(TorchFunctionMode):
    """While on, lists of unknown length go in and come out; `collected` puts down one that is to come."""

    def __init__(self, collected: Callable[[Any], Any]) -> None:
        super().__init__()
        self._collected = collected

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        first = args[0] if args else given.get("tensors")
        if isinstance(first, Steps) and func in _TAKERS:
            first = self._collected(first)
        if isinstance(first, (list, tuple)) and func in _TAKERS:
            whole = _whole(first)
            if whole is not None:
                # A tensor of its own: what is written into it is not in the list.
                return _together(func, whole, args[1:], given).clone()
        if isinstance(first, Tensor):
            found = _apart(func, first, args[1:], given)
            if found is not None:
                return found
        return func(*args, **given)


def _whole(items: Any) -> Grown | None:
    """The list as one of unknown length, if it is or holds such."""
    if isinstance(items, Grown):
        return items
    grown = [one for one in items if isinstance(one, Grown)]
    return None if not grown else joined(grown) if len(grown) == len(items) else None


def _together(func: Any, whole: Grown, rest: Any, given: dict[str, Any]) -> Tensor:
    dim = rest[0] if rest else given.get("dim", given.get("axis", 0))
    if func in _MAKERS:
        columns = list(_columns(whole))
        dtype = rest[0] if rest else given.get("dtype")
        if all(one.number or _is_of_single_elements(one) for one in columns):
            return _numbers(whole, dtype or _dtype(columns))
    if func in _PADS:
        return _filled_up(whole, *rest, **given)
    if func in _STACKS:
        rows = _evenly(whole)
        return rows.movedim(0, dim % rows.dim())
    if func is torch.vstack and whole.rows.dim() == 2:
        return whole.rows
    if func in _CATS:
        return _end_to_end(whole, dim)
    raise UnwritableError(f"`{func.__name__}` takes a list of unknown length")


def _columns(whole: Grown) -> Iterator[Grown]:
    if not isinstance(whole, Tuples):
        yield whole
        return
    for column in whole.columns:
        yield from _columns(column)


def _is_of_single_elements(whole: Grown) -> bool:
    """Tensors without axes, as a truth is that only the data know."""
    return whole.sizes is None and whole.rows.dim() == 1


def _dtype(columns: list[Grown]) -> torch.dtype:
    """As torch finds it: that of tensors is theirs; one number with a fraction, and all have one."""
    fractions = torch.get_default_dtype()
    dtypes = (
        fractions if one.number and one.rows.dtype.is_floating_point else one.rows.dtype
        for one in columns
    )
    return functools.reduce(torch.promote_types, dtypes)


def _numbers(whole: Grown, dtype: torch.dtype) -> Tensor:
    if not isinstance(whole, Tuples):
        return whole.rows.to(dtype)
    return torch.stack([_numbers(column, dtype) for column in whole.columns], 1)


def _evenly(whole: Grown) -> Tensor:
    """The items along a new first axis; those whose sizes only a run knows are as large as each other,
    or the model itself raises."""
    if whole.axis is None:
        return whole.rows
    rows = whole.rows.reshape([whole.count, -1, *whole.rows.shape[1:]])
    return rows.movedim(1, whole.axis + 1)


def _filled_up(
    whole: Grown, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """`pad_sequence`: all as long as the longest."""
    if whole.axis is None:
        return whole.rows if batch_first else whole.rows.transpose(0, 1)
    if whole.axis != 0 or whole.sizes is None:
        raise UnwritableError("the items of a list differ in size")
    sizes = whole.sizes.unsqueeze(1)
    longest: Any = whole.sizes.amax().item()
    place = torch.arange(longest).unsqueeze(0)
    if padding_side == "left":
        place = place + sizes - longest
    total, rest = whole.rows.shape[0], whole.rows.shape[1:]
    # What is not there is one row more, behind all others.
    rows = torch.cat([whole.rows, whole.rows.new_full([1, *rest], padding_value)])
    starts = whole.sizes.cumsum(0).unsqueeze(1) - sizes
    found = rows[torch.where((place >= 0) & (place < sizes), starts + place, total)]
    return found if batch_first else found.transpose(0, 1)


def _end_to_end(whole: Grown, dim: int) -> Tensor:
    if whole.axis is not None:
        rank = whole.rows.dim()
        if dim % rank != whole.axis:
            raise UnwritableError("the items of a list differ in size")
        return whole.rows.movedim(0, whole.axis)
    rank = whole.rows.dim() - 1
    axis = dim % rank
    return whole.rows.movedim(0, axis).flatten(axis, axis + 1)


def _apart(func: Any, tensor: Tensor, rest: Any, given: dict[str, Any]) -> Any:
    """Pieces of a tensor whose number is not known; None for everything else."""
    if func in _UNBINDS:
        dim = rest[0] if rest else given.get("dim", 0)
        if tensor.dim() and isinstance(tensor.shape[dim], torch.SymInt):
            return Steps(tensor.shape[dim], lambda place: torch.select(tensor, dim, place))
    if func is Tensor.tolist and tensor.dim() and isinstance(tensor.shape[0], torch.SymInt):
        return numbers_of(tensor)
    if func in _SPLITS_AT:
        return _split_at(tensor, *rest, **given)
    return _split(func, tensor, rest, given)


def _split(func: Any, tensor: Tensor, rest: Any, given: dict[str, Any]) -> Any:
    dim = rest[1] if len(rest) > 1 else given.get("dim", 0)
    if func in _SPLITS:
        size = rest[0] if rest else given.get("split_size", given.get("split_size_or_sections"))
        if isinstance(size, Grown) and size.number:
            return _sections(tensor, size, dim)
        if isinstance(tensor.shape[dim], torch.SymInt) and isinstance(size, (int, torch.SymInt)):
            return pieces(tensor, size, dim)
    if func in _CHUNKS:
        count = rest[0] if rest else given.get("chunks")
        if isinstance(tensor.shape[dim], torch.SymInt):
            return pieces(tensor, _sym.sym_max((tensor.shape[dim] + count - 1) // count, 1), dim)
    return None


def numbers_of(tensor: Tensor) -> Any:
    """`tolist`; of several axes it gives lists, one after the other."""
    if not tensor.dim() or not isinstance(tensor.shape[0], torch.SymInt):
        return tensor.tolist()
    if tensor.dim() == 1:
        return Grown(tensor, number=True)
    return Steps(tensor.shape[0], lambda place: numbers_of(torch.select(tensor, 0, place)))


def _split_at(
    tensor: Tensor, indices: Any = None, dim: int = 0, tensor_indices_or_sections: Any = None
) -> Steps | None:
    """`tensor_split` at so many places as only a run knows."""
    at = tensor_indices_or_sections if indices is None else indices
    at = at.rows if isinstance(at, Grown) and at.number else at
    if isinstance(at, Tensor) and at.dim() and isinstance(at.shape[0], torch.SymInt):
        return _cut_at(tensor, at, dim)
    return None


def _cut_at(tensor: Tensor, places: Tensor, dim: int) -> Steps:
    """Pieces between places, which are taken as Python's slices take them."""
    length = tensor.shape[dim]
    places = torch.where(places < 0, places + length, places).clamp(min=0)
    places = torch.minimum(places, torch.scalar_tensor(length, dtype=places.dtype))
    starts = torch.cat([places.new_zeros(1), places])
    stops = torch.cat([places, places.new_full([1], length)])
    sizes = (stops - starts).clamp(min=0)

    def piece(place: Any) -> Tensor:
        start: Any = torch.select(starts, 0, place).item()
        size: Any = torch.select(sizes, 0, place).item()
        return tensor.narrow(dim, start, size)

    return Steps(places.shape[0] + 1, piece)


def _sections(tensor: Tensor, sizes: Grown, dim: int) -> Steps:
    ends = sizes.rows.cumsum(0)

    def section(place: Any) -> Tensor:
        size = torch.select(sizes.rows, 0, place)
        start: Any = (torch.select(ends, 0, place) - size).item()
        length: Any = size.item()
        return tensor.narrow(dim, start, length)

    return Steps(sizes.count, section)
