"""Models whose sizes lead many ways: what was found to cost most when they vary."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.varying_models import Case


class Neighbours(nn.Module):
    """Attention of each chunk to itself and those beside it, chunk by chunk."""

    def __init__(self, depth: int, chunk: int = 4, width: int = 16) -> None:
        super().__init__()
        self.chunk = chunk
        self.layers = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            length = x.shape[1]
            q, k, v = layer(x).chunk(3, -1)
            rows = []
            for start in range(0, length, self.chunk):
                first, last = max(0, start - self.chunk), min(length, start + self.chunk)
                seen = q[:, start : start + self.chunk] @ k[:, first:last].mT
                rows.append(seen.softmax(-1) @ v[:, first:last])
            x = x + torch.cat(rows, 1)
        return x


class Merging(nn.Module):
    """Windows at several scales, each half as fine as the one before; what is odd is filled up."""

    def __init__(self, depth: int = 3, size: int = 4) -> None:
        super().__init__()
        self.size = size
        self.first = nn.Conv2d(3, 8, 2, 2)
        self.seeing = nn.ModuleList(nn.Linear(8 * 2**n, 24 * 2**n) for n in range(depth))
        self.merging = nn.ModuleList(nn.Linear(32 * 2**n, 16 * 2**n) for n in range(depth - 1))

    def windows(self, x: Tensor, layer: nn.Module, shift: int) -> Tensor:
        batch, height, width, depth = x.shape
        size = self.size
        y = F.pad(x, (0, 0, 0, (size - width % size) % size, 0, (size - height % size) % size))
        high, wide = y.shape[1:3]
        if min(high, wide) <= size:
            shift = 0
        y = torch.roll(y, (-shift, -shift), (1, 2))
        y = y.view(batch, high // size, size, wide // size, size, depth)
        q, k, v = layer(y.permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, depth)).chunk(3, -1)
        y = ((q @ k.mT).softmax(-1) @ v).view(batch, high // size, wide // size, size, size, depth)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(batch, high, wide, depth)
        return x + torch.roll(y, (shift, shift), (1, 2))[:, :height, :width]

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x).permute(0, 2, 3, 1)
        for number, layer in enumerate(self.seeing):
            x = self.windows(self.windows(x, layer, 0), layer, self.size // 2)
            if number < len(self.merging):
                height, width = x.shape[1:3]
                if height % 2 or width % 2:
                    x = F.pad(x, (0, 0, 0, width % 2, 0, height % 2))
                parts = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
                x = self.merging[number](torch.cat(parts, -1))
        return x.mean((1, 2))


class Funnel(nn.Module):
    """Half as long at each level, and back again; what is odd is filled up."""

    def __init__(self, depth: int = 3, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 2, width, batch_first=True) for _ in range(2 * depth)
        )
        self.depth = depth

    def forward(self, x: Tensor) -> Tensor:
        skips: list[Tensor] = []
        for layer in self.layers[: self.depth]:
            x = layer(x)
            skips.append(x)
            if x.shape[1] % 2:
                x = F.pad(x, (0, 0, 0, 1))
            x = x.view(x.shape[0], x.shape[1] // 2, 2, -1).mean(2)
        for layer in self.layers[self.depth :]:
            skip = skips.pop()
            x = layer(x.repeat_interleave(2, 1)[:, : skip.shape[1]] + skip)
        return x


class TwoLoops(nn.Module):
    """A recurrent encoder and a recurrent decoder, each as long as its own input."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.reads = nn.GRUCell(width, width)
        self.writes = nn.GRUCell(2 * width, width)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        state, read, written = torch.zeros_like(x[:, 0]), [], []
        for step in range(x.shape[1]):
            state = self.reads(x[:, step], state)
            read.append(state)
        known = torch.stack(read, 1)
        for step in range(y.shape[1]):
            seen = ((known @ state[..., None]).softmax(1) * known).sum(1)
            state = self.writes(torch.cat([seen, y[:, step]], -1), state)
            written.append(state)
        return torch.stack(written, 1)


class Ragged(nn.Module):
    """Rows of lengths of their own, one by one."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        rows = [self.layer(x[n, : lengths[n]]).max(0).values for n in range(x.shape[0])]
        return torch.stack(rows)


class Codec(nn.Module):
    """Strided convolutions there and back, their padding by a formula of fractions."""

    def __init__(self, strides: tuple[int, ...] = (2, 4, 5)) -> None:
        super().__init__()
        ends = [1, *[4] * len(strides)]
        pairs = [*zip(ends, ends[1:], strides, strict=False)]
        self.down = nn.ModuleList(nn.Conv1d(a, b, 2 * n, n) for a, b, n in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose1d(b, a, 2 * n, n) for a, b, n in pairs[::-1])

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[-1]
        for down in self.down:
            (size,), (stride,) = down.kernel_size, down.stride
            frames = (x.shape[-1] - size + size - stride) / stride + 1
            whole = (math.ceil(frames) - 1) * stride + stride
            x = down(F.pad(x, (size - stride, whole - x.shape[-1]), "reflect")).relu()
        for up in self.up:
            x = up(x)
            x = x[..., : x.shape[-1] - up.stride[0]]
        return x[..., :length]


_R = torch.randn
_BATCH_AND_LENGTH = ({0: "batch", 1: "length"},)
_PICTURE = ({0: "batch", 2: "height", 3: "width"},)

MANY_WAYS = (
    Case("chunks that see those beside them, 2 layers", lambda: Neighbours(2),
         lambda: (_R(2, 22, 16),), _BATCH_AND_LENGTH),
    Case("windows merged at 3 scales", Merging, lambda: (_R(2, 3, 32, 48),), _PICTURE),
    Case("funnel, 3 levels", Funnel, lambda: (_R(2, 21, 16),), _BATCH_AND_LENGTH),
    Case("two loops, one by the other", TwoLoops, lambda: (_R(2, 9, 8), _R(2, 6, 8)),
         ({0: "batch", 1: "read"}, {0: "batch", 1: "written"})),
    Case("rows of their own lengths", Ragged, lambda: (_R(3, 12, 8), torch.tensor([12, 5, 7])),
         (({0: "batch", 1: "length"}, {0: "batch"}))),
    Case("codec, padded by a formula", Codec, lambda: (_R(2, 1, 320),), ({0: "batch", 2: "length"},)),
)  # fmt: skip
