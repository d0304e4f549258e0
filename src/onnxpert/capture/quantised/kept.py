"""torch's own operators on quantised tensors, by what becomes of the scale."""

from __future__ import annotations

from collections.abc import Callable

import torch

from onnxpert.capture.quantised.box import Affine

aten = torch.ops.aten

# They give a result that is not quantised.
KEPT = frozenset(
    {aten.eq, aten.ne, aten.lt, aten.le, aten.gt, aten.ge, aten.sym_size, aten.size, aten.argmax}
)

# Each value of the result is one of the input's, or zero, which every scale has.
MOVED = frozenset(
    {
        aten.alias,
        aten.amax,
        aten.amin,
        aten.as_strided,
        aten.cat,
        aten.channel_shuffle,
        aten.chunk,
        aten.clone,
        aten.contiguous,
        aten.detach,
        aten.dropout,
        aten.expand,
        aten.flatten,
        aten.flip,
        aten.gather,
        aten.index,
        aten.index_select,
        aten.max,
        aten.max_pool1d,
        aten.max_pool2d,
        aten.max_pool2d_with_indices,
        aten.max_pool3d,
        aten.narrow,
        aten.permute,
        aten.pixel_shuffle,
        aten.pixel_unshuffle,
        aten.reflection_pad1d,
        aten.reflection_pad2d,
        aten.relu,
        aten.relu_,
        aten.repeat,
        aten.replication_pad1d,
        aten.replication_pad2d,
        aten.reshape,
        aten.select,
        aten.slice,
        aten.split,
        aten.split_with_sizes,
        aten.squeeze,
        aten.stack,
        aten.swapaxes,
        aten.swapdims,
        aten.t,
        aten.transpose,
        aten.unbind,
        aten.unflatten,
        aten.unsqueeze,
        aten.upsample_nearest1d,
        aten.upsample_nearest2d,
        aten.upsample_nearest3d,
        aten.view,
        aten._unsafe_view,
    }
)

# The result is rounded to the scale of the input.
ROUNDED = frozenset(
    {
        aten._adaptive_avg_pool2d,
        aten._adaptive_avg_pool3d,
        aten.adaptive_avg_pool1d,
        aten.adaptive_avg_pool2d,
        aten.adaptive_avg_pool3d,
        aten.avg_pool1d,
        aten.avg_pool2d,
        aten.avg_pool3d,
        aten.clamp,
        aten.clamp_,
        aten.gelu,
        aten.hardtanh,
        aten.hardtanh_,
        aten.leaky_relu,
        aten.leaky_relu_,
        aten.mean,
        aten.relu6,
        aten.relu6_,
        aten.threshold,
        aten.upsample_bilinear2d,
    }
)


def _from_zero_to_one(affine: Affine) -> Affine:
    return Affine(1 / 256, affine.lowest, affine.dtype)


def _from_minus_one_to_one(affine: Affine) -> Affine:
    return Affine(2 / 256, affine.lowest + 128, affine.dtype)


# The range of the result is that of the function, whatever the input's.
OWN_SCALE: dict[object, Callable[[Affine], Affine]] = {
    aten.sigmoid: _from_zero_to_one,
    aten.sigmoid_: _from_zero_to_one,
    aten.hardsigmoid: _from_zero_to_one,
    aten.tanh: _from_minus_one_to_one,
    aten.tanh_: _from_minus_one_to_one,
}
