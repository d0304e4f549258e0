"""Models as people write them, each with one thing that torch's exporter does not follow."""

from __future__ import annotations

HEAD = """\
import dataclasses
import logging
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

logger = logging.getLogger(__name__)
TABLES = {}
WEIGHTS = np.linspace(0, 1, 8).astype(np.float32)


@dataclasses.dataclass
class Result:
    y: torch.Tensor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.two = nn.ModuleList([nn.Linear(8, 8), nn.Tanh()])
        self.seen = []

    def forward(self, x):
"""
TAIL = """

def example_inputs():
    return (torch.randn(2, 8),)
"""

# codemod -> (body of forward, what stands in the new one)
CASES: dict[str, list[tuple[str, str]]] = {
    "begin-with-a-tensor": [
        (
            (
                "flags = []\nactive = False\nfor e in x[0]:\n    if active:\n"
                "        if e < 0:\n            active = False\n    elif e > 1:\n"
                "        active = True\n    flags.append(1.0 if active else 0.0)\n"
                "return x * torch.tensor(flags)"
            ),
            "active = torch.tensor(False)",
        ),
        (
            "k = 0\nif x.sum() > 0:\n    k = 1\nreturn x + k",
            "",  # nobody asks it
        ),
    ],
    "compare-with-each-key": [
        (
            (
                'kinds, which = ("low", "high"), (x > 0).any().int()\nkind = kinds[which]\n'
                'return x if kind == "low" else -x'
            ),
            "kind = kinds[0] if which == 0 else kinds[1]",
        ),
        (
            "kinds = {2: x, 5: -x}\nkind = kinds[2 if x.sum() > 1e9 else 5]\nreturn kind",
            "",  # a number of Python's is none of its business
        ),
        (
            "layers = [F.relu, torch.tanh, torch.sin]\nreturn layers[x.sum(0).argmax() % 3](x)",
            "if x.sum(0).argmax() % 3 == 1 else layers[2]",
        ),
    ],
    "repeat-with-a-tensor": [
        (
            (
                "many, rows = (x.sum(1) > 0).int() + 1, []\nfor i in range(len(x)):\n"
                "    rows.append(x[i : i + 1].expand(many[i], -1))\nreturn torch.cat(rows)"
            ),
            "torch.repeat_interleave(torch.stack(rows), torch.tensor(rows_times), dim=0)",
        ),
        (
            "many = (x.sum(1) > 0).int()\nreturn torch.cat([r.repeat(n, 1) for r, n in zip(x, many)])",
            "torch.stack([r for r, n in zip(x, many)]), torch.tensor([n for r, n in zip(x, many)])",
        ),
        ("return torch.cat([r.repeat(2, 1) for r in x])", ""),  # the same in every turn
    ],
    "write-with-where": [
        ("y = x * 2\ny[x < 0] = 0.5\nreturn y", "y = torch.where(x < 0, 0.5, y)"),
        ("m = x > 0\nm[x > 1] = False\nreturn x * m", "m = m & ~(x > 1)"),
        (
            "y, m = x * 2, x > 0\ny[~m] += x[~m]\nreturn y",
            "y = torch.where(~m, y + x, y)",
        ),
        (
            "y, m = self.fc(x), x.sum(1) > 0\ny[m] = 0.0\nreturn y",
            "y = torch.where(m[..., None], 0.0, y)",
        ),
    ],
    "take-all-rows-at-once": [
        (
            (
                "y = torch.zeros(8, 2)\nfor i in range(8):\n    for j in range(2):\n"
                "        y[i, j] = x[j, i] * 2\nreturn y"
            ),
            "y = torch.vmap(each_)(",
        ),
        (
            (
                "rows = []\nfor one in x.unbind(1):\n    rows.append(one.cumsum(0))\n"
                "return torch.stack(rows, 1)"
            ),
            "(x.movedim(1, 0))",
        ),
        (
            "def parts(x):\n    return [row * row.sum() for row in x]\nreturn torch.stack(parts(x))",
            "return torch.vmap(lambda row: row * row.sum())(x)\n        return parts(x)",
        ),
        (
            (
                "w = x.mean(1)\nrows = []\nfor i in range(x.shape[0]):\n"
                "    row = self.fc(x[i]) * w[i]\n    rows.append(row / row.norm())\n"
                "return torch.stack(rows, dim=1)"
            ),
            'rows = torch.vmap(each, randomness="different")(x, w)\n        return rows.movedim(0, 1)',
        ),
        (
            (
                "rows, s = [], x.shape[1]\nfor n in x.argmax(1).tolist():\n"
                "    rows.append([1] * n + [0] * (s - n))\nreturn x * torch.tensor(rows)"
            ),
            "return torch.where(torch.arange(s) < n, 1, 0)",
        ),
        (
            "y = x.clone()\nfor i, n in enumerate(x.argmax(1).tolist()):\n    y[i, :n] = 0\nreturn y",
            "return torch.where(torch.arange(y_i.shape[0], device=y_i.device) < n, 0, y_i)",
        ),
        (
            "k = x.argmax(1)\nreturn torch.stack([x[b, k[b]] for b in range(len(x))])",
            "torch.vmap(lambda k_b, x_b: x_b[k_b[None]].squeeze(0))(k, x)",
        ),
        (
            (
                "k, n = x.argmax(1), torch.zeros(8)\nfor i in range(2):\n    n[k[i]] += 1\n"
                "return x * n"
            ),
            "n = n.scatter_add(0, k, torch.full_like(k, 1, dtype=n.dtype))",
        ),
        (
            "return torch.stack([x[i] for i in x.mean(1).argsort()])",
            "return x[x.mean(1).argsort()]",
        ),
        (
            "return torch.stack([torch.softmax(r, 0) for r in x])",
            "torch.vmap(lambda r: torch.softmax(r, 0))(x)",
        ),
        (
            (
                "rows = [r.masked_fill(torch.arange(len(r)) > n, -1) for r, n in zip(x, x.argmax(1))]"
                "\nreturn torch.stack(rows)"
            ),
            "torch.vmap(lambda r, n: r.masked_fill(torch.arange(len(r)) > n, -1))(x, x.argmax(1))",
        ),
    ],
    "ask-the-mask": [
        (
            (
                "m = x.sum(1) > 0\nrows = x[m]\nif rows.numel() > 0:\n    y = rows.mean(0)\n"
                "else:\n    y = torch.zeros(8)\nreturn x + y"
            ),
            "if m.any():",
        ),
        (
            (
                "y, k = torch.zeros_like(x), x.argmax(1)\nfor i in range(8):\n"
                "    at = torch.where(k == i)[0]\n    if len(at) == 0:\n        continue\n"
                "    y[at] = x[at] * i\nreturn y"
            ),
            "at = torch.where(k == i)[0]\n            y[at] = x[at] * i",
        ),
        (
            (
                "y, k = torch.zeros_like(x), x.argmax(1)\nfor i in range(8):\n"
                "    at = torch.where(k == i)[0]\n    if len(at) == 0:\n        continue\n"
                "    y[at] = x[at] * i\n    y = y + 1  # each that was chosen\nreturn y"
            ),
            "if ~(k == i).any():\n                continue",
        ),
        (
            (
                "y, k = torch.zeros_like(x), x.argmax(1)\nfor i, layer in enumerate(self.two):\n"
                "    chosen = k == i\n    if chosen.sum() == 0:  # nobody\n        continue\n"
                "    part = layer(x[chosen])\n    y[chosen] = part * i\nreturn y"
            ),
            "chosen = k == i\n            part = layer(x[chosen])",
        ),
        (
            "y, m = x * 2, x > 0\nif m.any():\n    y[m] = self.fc(x)[m]\nreturn y",
            "y, m = x * 2, x > 0\n        y[m] = self.fc(x)[m]",
        ),
        (
            "y, m = x * 2, x > 0\nif m.any():\n    y[m] = x[m].max()\nreturn y",
            "",  # which nothing has not
        ),
        (
            "y, at = x, torch.nonzero(x > 0)[1:]\nif len(at) > 0:\n    y = y * 2\nreturn y",
            "",  # one place more or less
        ),
    ],
    "add-with-a-mask": [
        (
            (
                "rows = []\nfor row in x.T:\n    if row.sum() > 0:\n        rows.append(row * 2)  # up\n"
                "return torch.stack(rows)"
            ),
            "return torch.stack(rows)[torch.stack(rows_taken)]",
        ),
        (
            "rows = [x[0]]\nfor row in x:\n    if row.sum() > 0:\n        rows.append(row)\nreturn rows[-1]",
            "",  # the last that counts is another one
        ),
        (
            (
                "rows = []\nfor row in x.T:\n    if len(rows) == 2:\n        break\n"
                "    if row.sum() > 0:\n        rows.append(row)\nreturn torch.stack(rows)"
            ),
            "",  # how many of them count is asked
        ),
        (
            (
                "rows = [x[:, 0]]\nfor row in x.T:\n    near = sum(row @ each for each in rows)\n"
                "    if near > 0:\n        rows.append(row)\nreturn torch.stack(rows)"
            ),
            "",  # those that do not count would be read
        ),
    ],
    "make-with-arange": [
        (
            (
                "n = x.shape[1]\nm = torch.tensor([[0.0 if j <= i else -9.0 for j in range(n)] for i in range(n)])"
                "\nreturn x @ m"
            ),
            "m = torch.where(torch.arange(n) <= torch.arange(n)[:, None], 0.0, -9.0)",
        ),
        (
            "n = x.shape[1]\nreturn x * torch.tensor([1 / (i + 1) for i in range(n)], dtype=x.dtype)",
            "(1 / (torch.arange(n) + 1)).to(x.dtype)",
        ),
        ("return x * torch.tensor([i for i in range(8)])", ""),  # as many in every call
        (
            (
                "rows = []\nfor p in range(x.shape[1]):\n    rows.append([math.sin(p / 9 ** (i / 4)) for i in range(4)])\n"
                "return x @ torch.tensor(rows)"
            ),
            "return x @ torch.sin(torch.arange(x.shape[1])[:, None] / 9 ** (torch.arange(4) / 4))",
        ),
        (
            "n = x.shape[1]\nnear = [[float(0 <= i - j < 2) for j in range(n)] for i in range(n)]\nreturn x @ torch.tensor(near)",
            "torch.arange(n) < 2).to(torch.float32)",
        ),
        (
            (
                "n = x.shape[1]\nnear = [[1.0 if 0 <= i - j < 2 else 0.0 for j in range(n)] for i in range(n)]\n"
                "return x @ torch.tensor(near)"
            ),
            "torch.where(torch.logical_and(0 <= torch.arange(n)[:, None] - torch.arange(n), ",
        ),
    ],
    "count-in-a-tensor": [
        (
            "many = [0] * 8\nfor k in x.argmax(1):\n    many[k] += 1\nreturn x * torch.tensor(many)",
            "many = torch.full((8,), 0, dtype=torch.int64)",
        ),
        ("many = [0.5] * 8\nmany[0] += 1\nreturn x * torch.tensor(many)", ""),
    ],
    "carry-with-scan": [
        (
            (
                "h, rows = torch.zeros(8), []\nfor i in range(x.shape[0]):\n"
                "    h = torch.tanh(self.fc(x[i]) + h)\n    rows.append(h)\n"
                "return torch.stack(rows), h"
            ),
            "h, rows = torch._higher_order_ops.scan(step, h, x)\n        return rows, h",
        ),
        (
            (
                "rows, n = [x[:, 0]], x.shape[1]\nfor t in range(1, n):\n"
                "    rows.append(rows[-1] * 0.5 + x[:, t] * x[:, t - 1])\n"
                "return torch.stack(rows, dim=-1)"
            ),
            "(x[:, 1:n].movedim(1, 0), x[:, 0:n - 1].movedim(1, 0)))",
        ),
        (
            (
                "n, total, last = x.shape[1], 0.0, x[:, 0]\nfor t in range(n - 1, -1, -1):\n"
                "    total += (x[:, t] * t).sum()\n    last = x[:, t]\nreturn total * last"
            ),
            "(torch.tensor(total, dtype=torch.float32), last), (torch.arange(n).flip(0), x.flip(1).movedim(1, 0))",
        ),
        (
            "y = x\nfor _ in range(3):\n    y = y + self.fc(y)\nreturn y",
            "",  # a tracer unrolls it for every size alike
        ),
    ],
    "turn-with-while-loop": [
        (
            "n, y = 0, x\nwhile y.abs().max() > 0.5 and n < 9:\n    y = y / 2\n    n += 1\nreturn y, n",
            "torch._higher_order_ops.while_loop(goes_on, turn, (y, torch.tensor(n)))",
        ),
        (
            "y = x * 1\nwhile y.abs().max() > 0.5:\n    y = y / 2\ny += x\nreturn y",
            "(y,))\n        y = y + x\n",
        ),
        ("n = 8\nwhile n > 1:\n    n = n // 2\n    x = x + n\nreturn x", ""),
    ],
    "stop-with-a-mask": [
        (
            (
                "keep = torch.ones(8, dtype=torch.bool)\nfor i in range(8):\n    if ~keep[i]:\n"
                "        continue\n    for j in range(i + 1, 8):\n"
                "        keep[j] = keep[j] & (x[0, i] > x[0, j])\nreturn x * keep"
            ),
            "keep = (skipped & keep_kept) | (~skipped & keep)",
        ),
        (
            (
                "y = None\nfor layer in self.two:\n    x = layer(x)\n    y, z = x * 2, x + 1\n"
                "    if y.sum() > 0:\n        break\nreturn y - z"
            ),
            "z = z if z_kept is None else torch.where(stopped, z_kept, z)",
        ),
        (
            (
                "for layer in self.two:\n    x = layer(x)\n    if x.sum() > 0:\n        break\n"
                "    y = x * 2\nreturn x if x.sum() > 1e9 else y"
            ),
            "",  # it may have no value at all
        ),
        (
            "y = x\nfor _ in range(4):\n    y = y / 2\n    if y.abs().max() < 0.5:\n        break\nreturn y",
            "stopped = stopped | (y.abs().max() < 0.5)",
        ),
        (
            (
                "rows = []\nfor k in range(4):\n    y = x * k\n    if y.sum() > 0:\n        continue\n"
                "    rows.append(y.sum(0))\nreturn torch.stack(rows)"
            ),
            "return torch.stack(rows)[torch.stack(rows_taken)]",
        ),
        (
            (
                "y = x\nwhile True:\n    y = y / 2\n    if y.abs().max() < 0.5:\n        break\n"
                "    y = y - 0.01\nreturn y"
            ),
            "while not stopped:",
        ),
        (
            (
                "y = x\nfor k in range(8):\n    if y[0, k] > 0:\n        continue\n    z = y * 2\n"
                "    z[:, k] = 0\n    y = z - 1\nreturn y"
            ),
            "y = torch.where(skipped, y_kept, y)",
        ),
    ],
    "search-with-torch": [
        (
            (
                "from collections import Counter\nvotes = [r.argmax() % 3 for r in x.T]\n"
                "most = Counter(each.item() for each in votes).most_common(1)[0][0]\nreturn x * most"
            ),
            "",  # numbers of Python's
        ),
        (
            "votes = [r.argmax() for r in x]\nreturn x * votes.count(1)",
            "(torch.stack(votes) == 1).sum()",
        ),
        (
            "rows = [r.abs().sum() for r in x]\nreturn x[rows.index(max(rows))]",
            "(torch.stack(rows) == torch.stack(rows).max()).int().argmax()",
        ),
        ("k = (x > 0).sum(1)\nreturn x * k.tolist().count(4)", ""),  # a list of numbers
        ("k = x.argmax(1)\nreturn x if 3 in k else -x", "(k == 3).any()"),
        (
            "import bisect\nknots = [-1.0, 0.0, 2.5]\nreturn x * bisect.bisect(knots, x.sum())",
            "(~(torch.tensor(knots) > x.sum())).sum()",
        ),
        (
            "odd, k = (1, 3, 5, 7), x.sum(0).argmax()\nreturn x if k in odd else -x",
            "(torch.tensor(odd) == k).any()",
        ),
    ],
    "ask-every-layer": [
        (
            "k = (x.sum() > 0).long()\nreturn self.two[k](x)",
            "return torch.stack([layer(x) for layer in self.two])[k]",
        ),
        (
            "part = self.two[x.sum(0).argmax() % 2]\nreturn x + part(x)",
            "return x + torch.stack([layer(x) for layer in self.two])[x.sum(0).argmax() % 2]",
        ),
        ("return self.two[int(x.sum() > 0)](x)", ""),  # a number of Python's
    ],
    "take-the-first-that-fits": [
        (
            (
                "def level(s):\n    for i, edge in enumerate((-2.0, 0.0, 3.0)):\n        if s < edge:\n"
                "            return i\n    return 3\nreturn x * level(x.sum())"
            ),
            "found = torch.where(s < edge, i, found)",
        ),
        (
            (
                "k, gain = -1, 0.5\nfor i in range(8):\n    top = x[:, i].max()\n    if top > 0.5:\n"
                "        k = i\n        gain = 2.0\n        break\nreturn x * k + gain"
            ),
            "for i in reversed(range(8)):\n            top = x[:, i].max()\n            fits = top > 0.5\n",
        ),
        (  # a turn reads what the one before has left
            "k = 0.0\nfor i in range(8):\n    if x[0, i] > k:\n        k = k + i\n        break\nreturn x * k",
            "",
        ),
    ],
    "order-with-torch": [
        (
            "rows = [(r.sum(), i, r) for i, r in enumerate(x)]\nrows.sort(key=lambda c: c[0])\nreturn rows[0][2]",
            "order = torch.stack([c[0] for c in rows]).argsort(stable=True)",
        ),
        (
            "rows = sorted([*x], key=lambda r: r.sum(), reverse=True)[:1]\nreturn rows[0]",
            "rows = list(torch.stack([*x])[order][:1])",
        ),
        (
            "best = max(list(x), key=lambda r: r.abs().max())\nreturn x - best",
            "best = torch.stack(list(x))[place]",
        ),
        ("rows = sorted([2, 1], key=lambda r: -r)\nreturn x * rows[0]", ""),  # numbers of Python's
    ],
    "look-up-in-a-tensor": [
        (
            "gains, k = [0.5, 1.5, 2.0], x.sum(0).argmax() % 3\nreturn x * gains[k]",
            "x * torch.tensor(gains)[k]",
        ),
        ("gains, k = [0.5, 1.5], int(x.sum() > 0)\nreturn x * gains[k]", ""),  # Python's number
    ],
    "register-results": [("return Result(self.fc(x))", "torch.export.register_dataclass(Result)")],
    "branch-instead-of-raising": [
        (
            (
                "try:\n    s = x.std(0)\n    if s.min() < 0.5:  # flat\n        raise ValueError('flat')\n"
                "    y = x / s\nexcept ValueError:\n    y = x * 2\nreturn y"
            ),
            "if s.min() < 0.5:  # flat\n            y = x * 2\n        else:\n            y = x / s",
        ),
        (
            "try:\n    if x.sum() > 9:\n        raise KeyError\n    y = x\nexcept OSError:\n    y = -x\nreturn y",
            "",  # nobody catches it
        ),
    ],
    "choose-with-where": [
        (
            (
                "keep = torch.ones(8, dtype=torch.bool)\nfor j in range(1, 8):\n"
                "    if x[0, j] > x[0, 0]:\n        keep[j] = False\nreturn x * keep"
            ),
            "keep[j] = ~(x[0, j] > x[0, 0]) & keep[j]",
        ),
        (
            (
                "out, n = torch.zeros(8), 0\nfor k in range(8):\n    if x[0, k] > 0:\n"
                "        out[n] = x[0, k]\n        n += 1\nreturn out"
            ),
            "out[n] = torch.where(condition, x[0, k], out[n])",
        ),
        (
            "m = x[0] > 0\nif x.sum() > 0:\n    m = False\nreturn x * m",
            "m = ~(x.sum() > 0) & m",
        ),
        (
            (
                "states = [x, x + 1]\nfor i in range(2):\n    states[i] = self.fc(states[i])\n"
                "    if states[i].norm() > 1:\n        states[i].mul_(0.5)\nreturn states[0] + states[1]"
            ),
            "states[i] = torch.where(states[i].norm() > 1, states[i].mul(0.5), states[i])",
        ),
        (
            "y = x * 2\nif y.sum() > 0:\n    y.clamp_(-1, 1)\nreturn y",
            "y = torch.where(y.sum() > 0, y.clamp(-1, 1), y)",
        ),
        (
            "ys = [x, x]\nif x.sum() > 0:\n    ys[0] = x * 2\n    ys[1] = ys[0]\nreturn ys[1]",
            "",  # one place depends on the other
        ),
        (
            "m = x > 0\nif m.sum() > 3:\n    m = torch.ones_like(m)\nreturn x * m",
            "m = (condition & torch.ones_like(m)) | (~condition & m)",
        ),
        (
            "kind = 'low'\nif x.sum() > 0:\n    kind = 'high'\nreturn x * {'low': 1, 'high': 2}[kind]",
            "",  # texts are no tensors
        ),
        (
            "if x.sum() > 9:\n    y = x + 1\n    return y * 2\nelif x.sum() > 0:\n    return -x\nreturn x",
            "return torch.where(condition, y_if * 2, torch.where(x.sum() > 0, -x, x))",
        ),
        (
            "if x.max() > 5:\n    return x\ny = self.fc(x)\nif y.max() > 0:\n    return y\nreturn -y",
            "return torch.where(is_early, early, torch.where(y.max() > 0, y, -y))",
        ),
        (
            "if x.sum() > 9:\n    y = x\nelif x.sum() > 0:\n    y = -x\nelse:\n    y = x * 2\nreturn y",
            "y = torch.where(x.sum() > 9, x, torch.where(x.sum() > 0, -x, x * 2))",
        ),
        (
            (
                "if x.sum() > 0:\n    y = self.fc(x)\n    y = y + 1\n    z = y * 2\nelse:\n"
                "    y = x\n    z = x\nreturn y, z"
            ),
            "y_if_ = y_if + 1\n        y = torch.where(condition, y_if_, x)",
        ),
        (
            "if x.max() > 2:\n    return x, 2 * x\nreturn x, x * 3",
            "condition = x.max() > 2\n        return x, torch.where(condition, 2 * x, x * 3)",
        ),
        (
            "if x.max() > 2:\n    return x, -x\ny = self.fc(x)\nreturn x, y",
            "return torch.where(is_early, early[0], x), torch.where(is_early, early[1], y)",
        ),
        (
            "if x.max() > 2:\n    return x\ny = self.fc(x)\nreturn y * 2",
            "return torch.where(is_early, early, y * 2)",
        ),
        (
            "if x.sum() > 0:\n    y = self.fc(x)  # up\nelse:\n    y = -x\nreturn y",
            "y = torch.where(x.sum() > 0, self.fc(x), -x)",
        ),
        ("if x.mean() > 0:\n    x = x * 2\nreturn x", "x = torch.where(x.mean() > 0, x * 2, x)"),
        (
            "if (x > 3).any():\n    return x.clamp(max=3)\nreturn x + 1",
            "return torch.where((x > 3).any(), x.clamp(max=3), x + 1)",
        ),
        ("return x if x.max() > 1 else x * 0.5", "torch.where(x.max() > 1, x, x * 0.5)"),
    ],
    "keep-as-tensor": [
        (
            'y = x.mean().item()\nlogger.info("%s %s", y, x.max().item())\nreturn x * y',
            'y = x.mean()\n        logger.info("%s %s", y, x.max().item())',
        ),
        ("kinds = set(x.argmax(1).tolist())\nreturn x * len(kinds)", ""),
        (
            "y = x.mean().item()\nself.seen.append(x.max().item())\nreturn x * y",
            "self.seen.append(x.max().item())",  # a tensor would hold what it was computed of
        ),
        (
            "global TABLES\nTABLES = x.max().item()\nprint(TABLES)\nreturn x * x.mean().item()",
            "TABLES = x.max().item()\n        print(TABLES)\n        return x * x.mean()",
        ),
        (
            "global TABLES\nTABLES = x.max().item()\nreturn x * TABLES",
            "TABLES = x.max()\n",
        ),
        (
            "at = [0]\nat.append(int(x.sum(0).argmax()))\nreturn x[0][at] * torch.tensor(at)",
            "return x[0][torch.stack([torch.as_tensor(each) for each in at])] * torch.stack(",
        ),
        (
            "at = [x.sum(0).argmax().item(), x[0].argmax().item()]\nreturn x[0][at]",
            "return x[0][torch.stack(at)]",
        ),
        ("return x.data * 2", "x.detach() * 2"),
        (
            "make = torch.FloatTensor\nreturn x * make([x.max()])",
            "torch.stack([x.max().reshape(())]).to(torch.float32)",
        ),
        (
            "return self.fc(x) + torch.tensor([r.mean() for r in x.T])",
            "torch.stack([r.mean() for r in x.T])",
        ),
        ("return torch.tensor(x.mean()) + x", "x.mean().detach().clone() + x"),
        (
            "s = torch.tensor([x.min().item(), x.max().item()])\nreturn s.sum() + x",
            "torch.stack([x.min().reshape(()), x.max().reshape(())])",
        ),
        ("scale = float(x.abs().max())\nreturn x / max(scale, 1e-6)", "scale = x.abs().max()"),
        ("n = int((x > 0).sum())\nreturn x * n", "n = (x > 0).sum()\n"),
        ("m = x.mean().item()\nreturn x - m", "m = x.mean()"),
    ],
    "compute-with-torch": [
        ("return x * math.sqrt(x.var())", "torch.sqrt(x.var())"),
        ("return x - sum(x)", "x - x.sum(0)"),
        (
            "return sorted(x[0], reverse=True)[0] * x",
            "torch.sort(x[0], descending=True).values[0] * x",
        ),
        ("return x * any(x[0] > 0)", "return x * (x[0] > 0).any()"),
        ("return x / max(x.std(), 1e-3)", "x.std().clamp(min=1e-3)"),
        (
            "m = x.mean(0)\nreturn x[:, sorted(range(8), key=lambda i: m[i], reverse=True)]",
            "x[:, m.argsort(stable=True, descending=True)]",
        ),
        (
            (
                "m, n = x.mean(0).round(), x.sum(0)\n"
                "order = sorted(range(8), key=lambda i: (m[i], n[i]), reverse=True)\nreturn x[:, order]"
            ),
            "m[places].argsort(stable=True, descending=True)",
        ),
        ("m = x.mean(0)\nreturn x[:, max(range(8), key=lambda i: m[i])]", "x[:, m.argmax(0)]"),
        (
            "return x * any(v > 0 for v in x.mean(1))",
            "torch.vmap(lambda v: v > 0)(x.mean(1)).any()",
        ),
        (
            "return x / sum(v for v in x.mean(1).abs() if v > 0.01)",
            "torch.vmap(lambda v: torch.where(v > 0.01, v, 0))(x.mean(1).abs()).sum(0)",
        ),
        (
            "return x * next((i for i, v in enumerate(x.mean(1)) if v > 0), 2)",
            ".int().argmax(0), 2)",
        ),
        ("return x / max(x.std(), x.abs().mean())", "torch.maximum(x.std(), x.abs().mean())"),
    ],
    "join-conditions": [
        (
            "if len(x) > 1 and x.max() < 9:\n    x = x + 1\nreturn x",
            "(x.max() < 9) & (len(x) > 1)",
        ),
        (
            "return torch.where(0 < x.max() < 9, x, -x)",
            "torch.logical_and(0 < x.max(), x.max() < 9)",
        ),
        (
            "if x.sum() > 0 and x.max() < 9:\n    x = x + 1\nreturn x",
            "torch.logical_and(x.sum() > 0, x.max() < 9)",
        ),
    ],
    "compute-sizes-as-integers": [
        ("return x.reshape(len(x), 2, 4)", "x.reshape(x.shape[0], 2, 4)"),
        ("n = int(x.shape[1] / 2)\nreturn x[:, :n]", "n = x.shape[1] // 2"),
        ("n = math.ceil(x.size(1) / 3)\nreturn x[:, :n]", "n = (x.size(1) + 2) // 3"),
        (
            "m = len(x)\nn = math.ceil(x.size(1) / m)\nreturn x[:, :n]",
            "n = (x.size(1) + m - 1) // m",
        ),
        ("return x.reshape(int(x.shape[0]), -1)", "x.reshape(x.shape[0], -1)"),
    ],
    "take-batch-from-input": [
        ("h = torch.zeros(1, 2, 8)\nreturn x + h[0]", "torch.zeros(1, x.shape[0], 8)"),
        ("return self.fc(x).view(2, -1)", "self.fc(x).view(x.shape[0], -1)"),
        ("y = self.fc(x)\nreturn y.view(2, 4, 2)", "y.view(y.shape[0], 4, 2)"),
        ("h = torch.zeros(2, 8)\nreturn x + h", "torch.zeros(x.shape[0], 8)"),
    ],
    "compute-with-torch-arrays": [
        (
            (
                "edges = np.array([-0.3, 0.3])\nk = np.digitize(x.numpy(), edges)\n"
                "return x * torch.from_numpy(k)"
            ),
            "k = torch.bucketize(x.double(), torch.as_tensor(edges).double(), right=True)",
        ),
        (
            (
                "w = np.hanning(8).astype(np.float32)\n"
                "return torch.from_numpy(np.abs(x.numpy()) * w)"
            ),
            "w = torch.hann_window(8, periodic=False, dtype=torch.float64).to(torch.float32)",
        ),
        (
            (
                "w = np.array([1.0, 2.0] * 4).astype(np.float32)\n"
                "return torch.from_numpy(np.abs(x.numpy()) * w)"
            ),
            "torch.abs(x) * torch.as_tensor(w)",
        ),
        (
            (
                "w = np.roots([1.0, -3.0, 2.0]).astype(np.float32)\n"
                "return torch.from_numpy(np.abs(x.numpy()) * w.sum())"
            ),
            "",  # that it is an array is nobody's business
        ),
        (
            "rows = [row.max() for row in x]\nrows = np.array(rows, dtype=np.float32)\nreturn x * torch.tensor(rows.sum())",
            "rows = torch.stack(rows).to(torch.float32)",
        ),
        (
            "a = x.numpy().copy()\na = (a - WEIGHTS) / 2\nreturn torch.from_numpy(a).exp()",
            "a = (a - torch.as_tensor(WEIGHTS)) / 2",
        ),
        (
            "return torch.from_numpy(np.maximum(0.5, np.minimum(x.numpy(), 1)))",
            "return torch.clamp(torch.clamp(x, max=1), min=0.5)",
        ),
        (
            (
                "a = x.numpy()\nm, q = np.median(a, axis=1), np.percentile(a, 75, axis=1)\n"
                "return x + torch.from_numpy(q - m)[:, None]"
            ),
            "m, q = torch.quantile(a, 0.5, dim=1), torch.quantile(a, 75 / 100, dim=1)",
        ),
        (
            "order = np.argsort(x[0].numpy(), kind='stable')\nreturn x[:, torch.from_numpy(order)]",
            "order = torch.argsort(x[0], stable=True)",
        ),
        (
            "return x * torch.from_numpy(np.sort(x.numpy(), axis=1))",
            "return x * torch.sort(x, dim=1).values",
        ),
        (
            "n = int(np.floor(x.shape[1] / 2))\nreturn torch.from_numpy(np.abs(x.numpy()))[:, :n]",
            "n = int(np.floor(x.shape[1] / 2))\n        return torch.abs(x)[:, :n]",
        ),
        (
            (
                "self.gains = np.arange(8.0)\na = np.exp(x.numpy()) * self.gains\n"
                "return torch.from_numpy(a) + torch.tensor(self.gains)"
            ),
            "torch.exp(x) * torch.as_tensor(self.gains)\n        return a + torch.tensor(self.gains)",
        ),
        (
            (
                "a, b = np.meshgrid(np.arange(8), np.arange(x.shape[0]))\n"
                "return x + torch.from_numpy(a + b)"
            ),
            'indexing="xy")\n        return x + (a + b)',
        ),
        (
            "n = x.shape[1]\nreturn x + torch.from_numpy(np.arange(n)) + torch.tensor(np.ones(n))",
            "torch.arange(n) + torch.ones(n, dtype=torch.float64)",
        ),
        (
            (
                "a = x.numpy()\na = (a - a.mean(axis=1, keepdims=True)) / np.std(a)\n"
                "return torch.from_numpy(a.astype('float64'))"
            ),
            "torch.std(a, correction=0)\n        return a.to(torch.float64)",
        ),
        (
            (
                "a = x.detach().cpu().numpy()\nb = np.exp(a).astype(np.float32)\n"
                "return torch.from_numpy(b) + x"
            ),
            "a = x",
        ),
        (
            "y = np.concatenate([x.numpy(), x.numpy()], axis=1)\nreturn torch.from_numpy(y)",
            "torch.cat([x, x], dim=1)",
        ),
        ("return torch.from_numpy(np.clip(x.numpy(), 0, 1)) * 2", "torch.clamp(x, 0, 1)"),
    ],
    "leave-inputs-alone": [
        ("x[:, 1:] += 1  # shift\nreturn x", "x = x.clone()\n        x[:, 1:] += 1  # shift"),
        ("x += 1\nreturn self.fc(x)", "x = x.clone()\n        x += 1"),
        ("x.mul_(2)\nx[0] = 1\nreturn x", "x = x.clone()\n        x.mul_(2)\n        x[0] = 1"),
        ("x[:, 0] = 0\nreturn x", "x = x.clone()\n        x[:, 0] = 0"),
    ],
    "stop-printing": [
        (
            "low = x.min()\nused = len(set(x[0].tolist()))\nprint(f'{used} of {low}')\nreturn x",
            "def forward(self, x):\n        return x",
        ),
        (
            "low = self.fc(x)\nhigh = x + 1\nprint(low, high)\nreturn x * high",
            "low = self.fc(x)\n        high = x + 1\n        return x * high",
        ),
        (
            (
                "for i, k in enumerate(x.sum(1).tolist()):\n    if k > 0:\n        print(i)\n"
                "    else:\n        print(k)\nreturn x"
            ),
            "def forward(self, x):\n        return x",
        ),
        ('print("shape", x.shape)\nreturn x', ""),
        ('logger.info("mean %s", x.mean())\nreturn x', ""),
        ("if x.ndim == 2:\n    print(x)\nreturn x", "def forward(self, x):\n        return x"),
        (
            "if x.max() > 1e9:\n    print('large', x.max())\nreturn x",
            "def forward(self, x):\n        return x",
        ),
        ("if x.ndim == 2:\n    print(x)\nelse:\n    x = -x\nreturn x", "pass"),
    ],
    "let-dropout-follow-the-mode": [
        ("return F.dropout(x, 0.5)", "F.dropout(x, 0.5, training=self.training)")
    ],
    "stay-on-device": [
        ('return x + torch.ones(8, device="cuda")', "device=x.device"),
        ("return x + torch.ones(8).cuda()", "torch.ones(8).to(x.device)"),
        ('return self.fc(x.to("cuda:0"))', "x.to(x.device)"),
    ],
    "check-outside-of-exports": [
        (
            'assert (x < 1e6).all(), "too large"\nreturn x',
            "if not torch.compiler.is_exporting():\n            assert (x < 1e6).all()",
        ),
        (
            "try:\n    if x.sum() > 9:\n        raise ValueError\n    return x\nexcept ValueError:\n    return -x",
            "",  # what is caught again is a branch
        ),
        (
            'if torch.isnan(x).any():\n    raise ValueError("nan")\nreturn x',
            "    if torch.isnan(x).any():\n                raise ValueError",
        ),
    ],
    "compute-every-time": [
        (
            "n = x.shape[1]\nif n not in TABLES:\n    TABLES[n] = torch.ones(n)\nreturn x * TABLES[n]",
            "tables = torch.ones(n)\n        return x * tables\n",
        ),
        (
            (
                "if getattr(self, 'mask', None) is None or len(self.mask) != len(x):\n"
                "    self.mask = torch.ones(len(x), 1)\nreturn x * self.mask"
            ),
            "mask = torch.ones(len(x), 1)\n        return x * mask\n",
        ),
        (
            (
                "n = x.shape[1]\nif n not in TABLES:\n    t = torch.arange(n)  # places\n"
                "    TABLES[n] = t.cos()\nreturn x * TABLES[n]"
            ),
            "t = torch.arange(n)  # places\n        tables = t.cos()\n        return x * tables\n",
        ),
    ],
    "keep-values-local": [
        (
            "y = self.fc(x)\nself.last = y  # for later\nreturn y",
            "is_exporting():\n            self.last = y  # for later\n        return y",
        ),
        (
            "global TABLES\nTABLES = x.max().item()  # for later\nreturn self.fc(x)",
            "is_exporting():\n            TABLES = x.max().item()  # for later\n        return",
        ),
        (
            "self.seen.append(x.mean())\nreturn self.fc(x)",
            "is_exporting():\n            self.seen.append(x.mean())",
        ),
        (
            "self.last = self.fc(x)\nreturn self.last * 2",
            "last = self.fc(x)\n        return last * 2",
        ),
    ],
}


def source(body: str) -> str:
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    return HEAD + indented + "\n" + TAIL
