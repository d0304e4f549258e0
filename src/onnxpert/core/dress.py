"""The class of a tensor where it is one of the user's own, which says what its operators do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def users_class(tensor: Any) -> type[torch.Tensor] | None:
    """The class of the user's, if nothing is inside of it but the tensor itself."""
    import torch

    kind = type(tensor)
    if not isinstance(tensor, torch.Tensor) or kind.__module__.partition(".")[0] == "torch":
        return None
    plain = kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    return kind if plain else None


def undressed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as one of torch's own."""
    if users_class(tensor) is None:
        return tensor
    import torch

    return tensor.as_subclass(torch.Tensor)


def dressed_as(tensor: torch.Tensor, example: Any) -> torch.Tensor:
    """The tensor in the class of the example, with what the example carries beside its values."""
    kind = users_class(example)
    if kind is None:
        return tensor
    same = tensor.as_subclass(kind)
    same.__dict__.update(example.__dict__)
    return same
