"""Models whose sizes go through windows, tables, branches and loops, small enough to export in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Inputs = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    about: str
    model: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]
    shapes: tuple[Any, ...]  # which axes vary, as torch.export takes it


class Windows(nn.Module):
    """Attention in shifted windows, padded to fit, as Swin has it."""

    def __init__(self, depth: int, size: int = 7, width: int = 16) -> None:
        super().__init__()
        self.size = size
        self.layers = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, depth = x.shape
        size = self.size
        down, right = (size - height % size) % size, (size - width % size) % size
        x = F.pad(x, (0, 0, 0, right, 0, down))
        rows, columns = (height + down) // size, (width + right) // size
        for number, layer in enumerate(self.layers):
            shift = size // 2 * (number % 2)
            rolled = torch.roll(x, (-shift, -shift), (1, 2))
            cut = rolled.view(batch, rows, size, columns, size, depth).permute(0, 1, 3, 2, 4, 5)
            q, k, v = layer(cut.reshape(-1, size * size, depth)).chunk(3, -1)
            seen = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]
            seen = seen.view(batch, rows, columns, size, size, depth).permute(0, 1, 3, 2, 4, 5)
            back = seen.reshape(batch, rows * size, columns * size, depth)
            x = x + torch.roll(back, (shift, shift), (1, 2))
        return x[:, :height, :width]


class Pyramid(nn.Module):
    """Features at several strides, brought together from the coarsest on."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.ModuleList(nn.Conv2d(8, 8, 3, 2, 1) for _ in range(depth))
        self.side = nn.ModuleList(nn.Conv2d(8, 8, 1) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        found = [self.first(x)]
        for down in self.down:
            found.append(down(found[-1]).relu())
        y: Tensor = found.pop()
        for side in reversed(self.side):
            finer = found.pop()
            y = side(finer) + F.interpolate(y, size=finer.shape[-2:], mode="nearest")
        return y


class Detector(nn.Module):
    """Anchors from the sizes of the features, boxes by score, and what overlaps left out."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 8, 3, 4, 1)
        self.head = nn.Conv2d(8, 5, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        found = self.head(self.body(x).relu())
        _, _, height, width = found.shape
        ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centres = torch.stack([xs, ys], -1).reshape(-1, 2) * 4.0
        flat = found.permute(0, 2, 3, 1).reshape(-1, 5)
        boxes = torch.cat([centres + flat[:, :2], flat[:, 2:4].exp()], 1)
        scores = flat[:, 4].sigmoid()
        keep = scores > 0.5
        order = scores[keep].argsort(descending=True)
        return boxes[keep][order], scores[keep][order]


class Scan(nn.Module):
    """A state that is carried through the sequence, one step after the other, as in Mamba."""

    def __init__(self, depth: int, width: int = 8) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for gates in self.gates:
            a, b = gates(x).chunk(2, -1)
            a, state, rows = a.sigmoid(), torch.zeros_like(x[:, 0]), []
            for step in range(x.shape[1]):
                state = a[:, step] * state + b[:, step]
                rows.append(state)
            x = x + torch.stack(rows, 1)
        return x


class Decoder(nn.Module):
    """A recurrent cell that feeds itself."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        state, rows = torch.zeros_like(x[:, 0]), []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step] + state, state)
            rows.append(state)
        return torch.stack(rows, 1)


class Chooses(nn.Module):
    """Branches on values, one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x).relu() if x.mean() > 0 else x - layer(x)
        return x


class ChoosesBySize(nn.Module):
    """Branches on sizes, one inside the other."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > 64:
            x = F.avg_pool1d(x.transpose(1, 2), 2).transpose(1, 2)
        if x.shape[0] == 1:
            return x.softmax(1)
        return x.cumsum(1) if x.shape[1] % 2 == 0 else x.flip(1)


class ChoosesByManySizes(nn.Module):
    """Each input goes its own way, by its own length."""

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.one(x, 4 + place) for place, x in enumerate(inputs))

    def one(self, x: Tensor, few: int) -> Tensor:
        if x.shape[1] > few:
            return x.cumsum(1).relu()
        return x.flip(1) if x.shape[1] == 1 else x * 2


class Experts(nn.Module):
    """A mixture of experts: a loop over those that some row has chosen."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.gate = nn.Linear(8, count)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)
        weight, chosen = self.gate(rows).softmax(-1).topk(2, -1)
        mask, out = F.one_hot(chosen, len(self.layers)), torch.zeros_like(rows)
        for expert in mask.sum((0, 1)).nonzero()[:, 0]:
            row, rank = torch.where(mask[..., expert])
            out.index_add_(0, row, self.layers[expert](rows[row]) * weight[row, rank, None])
        return out.view_as(x)


class Language(nn.Module):
    """A decoder with rotary positions and a mask, both from the length."""

    def __init__(self, depth: int, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.words, self.heads = nn.Embedding(64, width), heads
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))

    def forward(self, ids: Tensor) -> Tensor:
        batch, length = ids.shape
        x: Tensor = self.words(ids)
        half = x.shape[-1] // self.heads // 2
        angles = torch.outer(torch.arange(length).float(), 10000 ** -torch.linspace(0, 1, half))
        turn, rise = angles.cos(), angles.sin()
        mask = torch.full((length, length), float("-inf")).triu(1)
        for qkv, out, norm in zip(self.qkv, self.out, self.norm, strict=True):
            parts = qkv(norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            q, k = (_rotated(part, turn, rise) for part in parts[:2])
            seen = F.scaled_dot_product_attention(q, k, parts[2], mask)
            x = x + out(seen.transpose(1, 2).reshape(batch, length, -1))
        return x @ self.words.weight.T


def _rotated(x: Tensor, turn: Tensor, rise: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([a * turn - b * rise, a * rise + b * turn], -1)


class Blocks(nn.Module):
    """Attention in blocks of a padded sequence, with the blocks beside."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        x = F.pad(x, (0, 0, 0, (-length) % 8))
        for layer in self.layers:
            cut = layer(x).unflatten(1, (-1, 8))
            beside = torch.cat([cut.roll(1, 1), cut, cut.roll(-1, 1)], 2)
            x = x + ((cut @ beside.transpose(2, 3)).softmax(-1) @ beside).flatten(1, 2)
        return x[:, :length]


class Retention(nn.Module):
    """Blocks of a sequence, the last of them shorter, with a matrix handed on that fades."""

    def __init__(self, width: int = 8, block: int = 4) -> None:
        super().__init__()
        self.block = block
        self.qkv = nn.Linear(width, 3 * width)
        self.fading = nn.Parameter(torch.tensor(0.9))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        state, rows = x.new_zeros(batch, width, width), []
        for start in range(0, length, self.block):
            stop = min(start + self.block, length)
            steps = torch.arange(stop - start)
            apart = steps[:, None] - steps
            faded = torch.where(apart >= 0, self.fading ** apart.clamp(min=0), 0.0)
            within = q[:, start:stop] @ k[:, start:stop].mT * faded @ v[:, start:stop]
            rows.append(within + q[:, start:stop] @ state * self.fading ** (steps[:, None] + 1))
            left = k[:, start:stop] * self.fading ** (stop - start - 1 - steps[:, None])
            state = state * self.fading ** (stop - start) + left.mT @ v[:, start:stop]
        return torch.cat(rows, 1)


class PaddedScan(nn.Module):
    """A state that is carried over the chunks of a sequence, which is filled up to fit."""

    def __init__(self, width: int = 8, chunk: int = 4) -> None:
        super().__init__()
        self.chunk = chunk
        self.mix = nn.Linear(width, width)
        self.gate = nn.Parameter(torch.rand(width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        filled = F.pad(self.mix(x), (0, 0, 0, -length % self.chunk))
        chunks = filled.view(batch, filled.shape[1] // self.chunk, self.chunk, width)
        state, rows = torch.zeros_like(filled[:, 0]), []
        for number in range(chunks.shape[1]):
            rows.append(chunks[:, number].cumsum(1) + state[:, None])
            state = rows[-1][:, -1] * self.gate.sigmoid()
        return torch.cat(rows, 1)[:, :length]


class Patches(nn.Module):
    """A vision transformer whose positions are resized to the picture."""

    def __init__(self, depth: int, width: int = 16) -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, width, 4, 4)
        self.places = nn.Parameter(torch.randn(1, width, 8, 8))
        layer = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True)
        self.layers = nn.ModuleList(layer for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        x = self.cut(x)
        places = F.interpolate(self.places, size=x.shape[-2:], mode="bicubic")
        x = (x + places).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return x.mean(1)


class Steps(nn.Module):
    """Layers that go back to finer sizes over skips, as UNet has them."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(4, 4, 3, 2, 1) for _ in range(depth))
        self.up = nn.ModuleList(nn.ConvTranspose2d(4, 4, 2, 2) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for down in self.down:
            skips.append(x)
            x = down(x).relu()
        for up in self.up:
            skip, x = skips.pop(), up(x)
            rows, columns = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
            x = F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2]) + skip
        return x


class Calls(nn.Module):
    """Any function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(*inputs)


def _lengths(x: Tensor, lengths: Tensor) -> Tensor:
    seen = torch.arange(x.shape[1])[None] < lengths[:, None]
    return (x * seen[..., None]).sum(1) / lengths[:, None]


def _shuffle(x: Tensor) -> Tensor:
    for factor in (2, 4, 2):
        batch, depth, height, width = x.shape
        x = x.view(batch, depth, height // factor, factor, width // factor, factor)
        x = x.permute(0, 3, 5, 1, 2, 4).reshape(batch, -1, height // factor, width // factor)
        x = F.pixel_shuffle(x, factor)
    return x


def _spectrum(x: Tensor) -> Tensor:
    window = torch.hann_window(16)
    return torch.stft(x, 16, 4, window=window, return_complex=True).abs().log1p()


def _picked(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    rows = x[mask > 0]
    return rows.softmax(-1), torch.nonzero(mask)


def _convolutions(depth: int) -> nn.Module:
    parts = [
        nn.Sequential(nn.Conv1d(8, 8, 5, 1 + index % 2, 2), nn.BatchNorm1d(8), nn.ReLU())
        for index in range(depth)
    ]
    return nn.Sequential(*parts)


def _encoder(depth: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)


_R = torch.randn
_BATCH_AND_LENGTH = ({0: "batch", 1: "length"},)
_PICTURE = ({0: "batch", 2: "height", 3: "width"},)
_MAP = ({0: "batch", 1: "height", 2: "width"},)


CASES = (
    Case("perceptron", lambda: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)),
         lambda: (_R(4, 8),), ({0: "batch"},)),
    Case("convolutions, 12 layers", lambda: _convolutions(12), lambda: (_R(2, 8, 512),),
         ({0: "batch", 2: "length"},)),
    Case("feature pyramid, 4 levels", lambda: Pyramid(4), lambda: (_R(1, 3, 64, 64),), _PICTURE),
    Case("UNet-like, 4 levels", lambda: Steps(4), lambda: (_R(1, 4, 64, 64),), _PICTURE),
    Case("Swin-like windows, 2 layers", lambda: Windows(2), lambda: (_R(1, 20, 24, 16),), _MAP),
    Case("Swin-like windows, 8 layers", lambda: Windows(8), lambda: (_R(1, 20, 24, 16),), _MAP),
    Case("vision transformer, 4 layers", lambda: Patches(4), lambda: (_R(2, 3, 32, 48),), _PICTURE),
    Case("pixel shuffles", lambda: Calls(_shuffle), lambda: (_R(1, 4, 16, 32),), (_PICTURE,)),
    Case("detector", Detector, lambda: (_R(1, 3, 64, 96),), ({2: "height", 3: "width"},)),
    Case("transformer encoder, 4 layers", lambda: _encoder(4), lambda: (_R(2, 12, 16),),
         _BATCH_AND_LENGTH),
    Case("language model, 2 layers", lambda: Language(2),
         lambda: (torch.randint(0, 64, (2, 12)),), _BATCH_AND_LENGTH),
    Case("language model, 8 layers", lambda: Language(8),
         lambda: (torch.randint(0, 64, (2, 12)),), _BATCH_AND_LENGTH),
    Case("attention in blocks, 4 layers", lambda: Blocks(4), lambda: (_R(2, 27, 8),),
         _BATCH_AND_LENGTH),
    Case("LSTM, 2 layers", lambda: nn.LSTM(8, 8, 2, batch_first=True), lambda: (_R(2, 9, 8),),
         _BATCH_AND_LENGTH),
    Case("Mamba-like scan, 1 layer", lambda: Scan(1), lambda: (_R(2, 9, 8),), _BATCH_AND_LENGTH),
    Case("Mamba-like scan, 3 layers", lambda: Scan(3), lambda: (_R(2, 9, 8),), _BATCH_AND_LENGTH),
    Case("retention in blocks", Retention, lambda: (_R(2, 14, 8),), _BATCH_AND_LENGTH),
    Case("scan in padded chunks", PaddedScan, lambda: (_R(2, 14, 8),), _BATCH_AND_LENGTH),
    Case("recurrent decoder in a loop", Decoder, lambda: (_R(2, 9, 8),), _BATCH_AND_LENGTH),
    Case("loop over the batch", lambda: Calls(lambda x: torch.stack([r.cumsum(0) for r in x])),
         lambda: (_R(3, 5),), (({0: "batch", 1: "length"},),)),
    Case("branches on values, 2", lambda: Chooses(2), lambda: (_R(3, 8),), ({0: "batch"},)),
    Case("branches on values, 8", lambda: Chooses(8), lambda: (_R(3, 8),), ({0: "batch"},)),
    Case("branches on sizes", ChoosesBySize, lambda: (_R(3, 10, 4),), _BATCH_AND_LENGTH),
    Case("branches on four sizes", ChoosesByManySizes, lambda: tuple(_R(2, n, 4) for n in (4, 5, 6, 7)),
         (tuple({1: f"length_{n}"} for n in range(4)),)),
    Case("mixture of 4 experts", lambda: Experts(4), lambda: (_R(2, 7, 8),), _BATCH_AND_LENGTH),
    Case("masked mean", lambda: Calls(_lengths), lambda: (_R(2, 7, 4), torch.tensor([3, 7])),
         (({0: "batch", 1: "length"}, {0: "batch"}),)),
    Case("picked rows", lambda: Calls(_picked), lambda: (_R(7, 4), torch.ones(7)),
         (({0: "rows"}, {0: "rows"}),)),
    Case("spectrogram", lambda: Calls(_spectrum), lambda: (_R(2, 160),),
         (({0: "batch", 1: "samples"},),)),
    Case("adaptive pooling", lambda: Calls(lambda x: F.adaptive_avg_pool2d(x, (3, 5))),
         lambda: (_R(1, 4, 20, 22),), (_PICTURE,)),
    Case("unfold and fold", lambda: Calls(
        lambda x: F.fold(F.unfold(x, 3, padding=1), x.shape[-2:], 3, padding=1)),
         lambda: (_R(1, 2, 10, 12),), (_PICTURE,)),
    Case("top 5 of a row", lambda: Calls(lambda x: x.topk(5, -1).values.sum(-1)),
         lambda: (_R(3, 9),), (({0: "batch", 1: "length"},),)),
)  # fmt: skip
