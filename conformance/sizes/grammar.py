"""What a random program of sizes is made of: phrases with gaps for other phrases, of each kind.

A program computes numbers (`n1`), vectors (`v1`), matrices (`m1`) and cubes (`c1`) from its inputs, one by a line.
"""

from __future__ import annotations

from textwrap import dedent

MODULE = '''\
"""The random program of seed {seed}."""

import math

import torch
import torch.nn.functional as F


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(1, 1, 3, padding=1, bias=False)
        self.register_buffer("table", torch.linspace(-1, 1, 64))
'''
# The name and the axes of each input; axes of one name have one size.
INPUTS = {"x": ("a", "b"), "y": ("a", "c"), "z": ("d",)}

# {d}: a whole constant from 2 to 4; {n} {v} {m} {c}: a value of that kind that is there.
_VALUES = {
    "n": """
        {m}.shape[0]
        {m}.size(1)
        {m}.shape[-1] // {d}
        {c}.shape[1]
        len({v})
        len({m})
        {m}.numel()
        {m}.numel() // {m}.shape[1]
        {n} + {d}
        {n} - 1
        {n} * {d}
        {n} // {d}
        {n} % {d}
        -(-{n} // {d})
        ({n} + {d} - 1) // {d} * {d}
        math.ceil({n} / {d})
        int({n} / {d})
        int({n} * 0.5)
        round({n} / {d})
        math.floor({n} * 1.5)
        int(math.sqrt({n}))
        max({n}, {d})
        min({n}, {d})
        max({n} - {d}, 1)
        max(1, {n} // {d})
        min({n}, {n})
        max({n}, {n})
        abs({n} - {n})
        {n} + {n}
        {n} - {n}
        ({d} - {n} % {d}) % {d}
        divmod({n}, {d})[0]
        {n} if {n} > {d} else {d}
        sum({m}.shape)
        math.prod({m}.shape[1:])
    """,
    "v": """
        {m}.sum({axis})
        {m}.mean({axis})
        {m}.amax({axis})
        {m}.flatten()
        {m}[0]
        {m}[:, -1]
        {m}[:, {n} // {d}]
        {v}[: {n}]
        {v}[{n} :]
        {v}[-{n} :]
        {v}[:: {d}]
        {v}[1:] - {v}[:-1]
        {v}.flip(0)
        {v}.roll({n})
        {v}.cumsum(0)
        {v} * {n}
        {v} / max({n}, 1)
        {v}.repeat({d})
        {v}.repeat_interleave({d})
        torch.cat([{v}, {v}])
        torch.arange({n}).float()
        torch.arange({n}, 0, -1).float()
        torch.arange(0, {n}, {d}) * 0.1
        torch.linspace(0, 1, {n})
        torch.zeros({n}) + 1
        torch.full(({n},), 0.5)
        self.table[: {n}]
        {v} * self.table[: len({v})]
        {v} + torch.arange({v}.shape[0])
        F.pad({v}, (0, {d}))
        F.pad({v}, (1, ({d} - len({v}) % {d}) % {d}))
        F.adaptive_avg_pool1d({v}[None, None], {n}).flatten()
        F.interpolate({v}[None, None], size={n})[0, 0]
        F.interpolate({v}[None, None], scale_factor=2.0, mode="linear")[0, 0]
        F.avg_pool1d({v}[None, None], {d}, stride=1)[0, 0]
        F.max_pool1d({v}[None, None], {d}, ceil_mode=True)[0, 0]
        self.conv({v}[None, None])[0, 0]
        {v}.unfold(0, {d}, 1).sum(1)
        {v}.tensor_split({d})[0]
        {v}.chunk({d})[-1]
        {v}.split({d})[-1]
        torch.stack([piece.sum() for piece in {v}.split({d})])
        torch.stack([{v}[i] * i for i in range(len({v}))])
        torch.stack([row.max() for row in {m}])
        {v}.softmax(0)
        {v}.sort().values
        {v}.topk(max(1, len({v}) // {d})).values
        {v}[torch.arange(len({v}) - 1, -1, -1)]
        {v}.narrow(0, 0, {n})
        {m}.diagonal()
        {m}.new_zeros({m}.shape[0])
        {m} @ {v}
        torch.stack([{v}.sum(), {v}.mean()])
        torch.tensor([{n}, {n}]).float()
        torch.as_tensor({m}.shape).float()
        torch.where(torch.arange(len({v})) < {n}, {v}, -{v})
    """,
    "m": """
        {m} + 1
        {m} * {n}
        {m} / max({n}, 1)
        {m}.t()
        {m} @ {m}.t()
        {m}.t() @ {m}
        {m}[:, : {n}]
        {m}[{n} :]
        {m}[:, -{n} :]
        {m}[1:, :-1]
        {m}[:, :: {d}]
        {m}[:: {d}]
        {m} + {v}
        {m} * {v}[:, None]
        {m}.flip({axis})
        {m}.roll({n}, {axis})
        {m}.cumsum({axis})
        {m}.softmax({axis})
        {m}.sort({axis}).values
        {m} - {m}.mean({axis}, keepdim=True)
        F.normalize({m}, dim={axis})
        F.layer_norm({m}, {m}.shape[1:])
        torch.cat([{m}, {m}], {axis})
        torch.cat([{m}, {m}.new_zeros({m}.shape[0], {d})], 1)
        torch.cat([{m}[:, {d} :], {m}[:, : {d}]], 1)
        torch.cat([piece * i for i, piece in enumerate({m}.split({d}, {axis}))], {axis})
        torch.cat([piece.flip(1) for piece in {m}.chunk({d}, 1)], 1)
        torch.cat([{m}[i : i + {d}] * i for i in range(0, {m}.shape[0], {d})])
        torch.stack([row * i for i, row in enumerate({m})])
        torch.stack({m}.unbind(1))
        F.pad({m}, (0, ({d} - {m}.shape[1] % {d}) % {d}))
        F.pad({m}, (0, {d}, 1, 0))
        F.pad({m}, (0, max({n} - {m}.shape[1], 0)))
        {m}.reshape(-1, {d})
        {m}.reshape({d}, -1)
        {m}.reshape({m}.shape[1], {m}.shape[0])
        {m}.reshape({m}.shape[0] * {d}, -1)
        {m}.repeat({d}, 1)
        {m}.repeat(1, {n})
        {m}.repeat_interleave({d}, {axis})
        {m}.new_ones({n}, {d})
        {v}[None].expand({n}, -1)
        {v}[:, None] * {v}
        {v}.reshape(-1, {d})
        {v}.unfold(0, {d}, {d})
        {v}.unflatten(0, (-1, {d}))
        torch.outer({v}, {v})
        torch.eye({n})
        torch.ones({n}, {n}).triu(1)
        torch.ones({n}, {d}).tril() + {n}
        torch.arange({n})[:, None] < torch.arange({n})
        (torch.arange({n})[None] - torch.arange({n})[:, None]).abs().float()
        {m}.masked_fill(torch.ones({m}.shape[0], {m}.shape[1]).tril() == 0, 0.0)
        {m}[torch.arange({m}.shape[0]).flip(0)]
        {m}.gather(1, torch.zeros({m}.shape[0], {d}, dtype=torch.long))
        {m}.index_select(1, torch.arange(0, {m}.shape[1], {d}))
        F.adaptive_avg_pool2d({m}[None, None], ({n}, {d}))[0, 0]
        F.interpolate({m}[None, None], size=({n}, {n}), mode="nearest")[0, 0]
        F.interpolate({m}[None, None], scale_factor=0.5, mode="bilinear")[0, 0]
        F.avg_pool2d({m}[None, None], {d}, stride=1)[0, 0]
        F.max_pool2d({m}[None, None], 2, ceil_mode=True)[0, 0]
        F.unfold({m}[None, None], 2)[0]
        torch.einsum("ij,kj->ik", {m}, {m})
        F.one_hot(torch.arange({n}) % {d}, {d}).float()
        {m} if {m}.shape[0] > {d} else {m} * 2
        {m}[: {n}] if {n} % 2 else {m} + {n}
        {c}.sum({axis})
        {c}.flatten({axis}, {axis} + 1)
        {c}[0]
        {c}[:, -1]
        {c}.amax(-1)
        {c}.reshape(-1, {c}.shape[-1])
        {c}.transpose(0, 1).reshape({c}.shape[1], -1)
        {c}.diagonal(dim1=0, dim2=2)
    """,
    "c": """
        {m}[None] * {v}[:, None, None]
        {m}[:, None] - {m}[None]
        {m}.unsqueeze({axis})
        {m}.reshape({m}.shape[0], -1, {d})
        {m}.reshape({m}.shape[0] // {d}, {d}, -1)
        {m}.unfold(1, {d}, 1)
        {m}.unfold(0, {d}, {d})
        {m}.unflatten(1, (-1, {d}))
        F.pad({m}, (0, ({d} - {m}.shape[1] % {d}) % {d})).reshape({m}.shape[0], -1, {d})
        {m}.expand({n}, -1, -1)
        torch.stack([{m}, {m} * 2], {axis})
        torch.stack({m}.split({d}, 1)[:1])
        {c}.permute(2, 0, 1)
        {c}.transpose(1, 2)
        {c} + {n}
        {c} @ {c}.transpose(1, 2)
        {c}[:, : {n}]
        {c}[:, 1:]
        {c}.flip(1)
        {c}.softmax(-1)
        {c}.roll(1, {axis})
        {c}.reshape({c}.shape[0], {c}.shape[2], {c}.shape[1])
        torch.cat([{c}, {c}[:, :1]], 1)
        torch.cat([{c}[:, i : i + {d}] * i for i in range(0, {c}.shape[1], {d})], 1)
        F.interpolate({c}, size={c}.shape[-1] + {d})
        F.avg_pool1d({c}, {d}, ceil_mode=True)
    """,
}
# What is more than one line: the name that gets a value comes first.
_BLOCKS = {
    "m": """
        {new} = {m}
        if {condition}:
            {new} = {m}
        else:
            {new} = {m} * 0.5
        ---
        {new} = {m}
        if {condition}:
            {new} = F.pad({new}, (0, {d}))
        ---
        {new} = {m}
        for i in range({n} % 5):
            {new} = {new} + i
        ---
        {new} = torch.zeros_like({m})
        for i in range({new}.shape[0]):
            {new}[i] = {new}[i - 1] * 0.5 + i
        ---
        {new} = {m}.clone()
        {new}[:, : {n}] = 0.5
        ---
        {new} = {m}.clone()
        {new}[1:] += {new}[:-1]
        ---
        pieces = []
        for i in range(0, {m}.shape[1], {d}):
            pieces.append({m}[:, i : i + {d}].sum(1))
        {new} = torch.stack(pieces)
        ---
        {new} = {m}
        while {new}.shape[1] % {d}:
            {new} = torch.cat([{new}, {new}[:, :1]], 1)
        ---
        {new} = {m}
        while {new}.shape[0] > {d} + 1:
            {new} = {new}[: ({new}.shape[0] + 1) // 2]
        ---
        rows, columns = {m}.shape
        {new} = {m}.reshape(rows, 1, columns).expand(rows, {d}, columns).reshape(-1, columns)
    """,
    "v": """
        {new} = {v}
        if {condition}:
            {new} = {new}[: {n}]
        ---
        {new} = {v}.clone()
        {new}[{n} // 2] = 1.5
        ---
        state, kept = {m}[0] * 0, []
        for row in {m}:
            state = state * 0.5 + row
            kept.append(state.sum())
        {new} = torch.stack(kept)
        ---
        {new} = {v}
        for piece in {m}.split({d}):
            {new} = {new} + piece.sum()
    """,
}
CONDITIONS = (
    "{n} > {d}",
    "{n} % 2 == 0",
    "{n} == {n}",
    "{n} < {n}",
    "{m}.shape[0] > {m}.shape[1]",
    "{m}.shape[0] == 1",
    "{n} % {d}",
    "{n} // {d} > {d}",
    "{m}.numel() > 20",
    "{m}.shape[0] * {d} > {m}.shape[1]",
    "{n} > {d} and {n} % 2",
    "not {n}",
    "len({v}) >= {d}",
)

VALUES = {
    kind: tuple(line.strip() for line in text.strip().splitlines())
    for kind, text in _VALUES.items()
}
BLOCKS = {kind: tuple(dedent(text).strip().split("\n---\n")) for kind, text in _BLOCKS.items()}
