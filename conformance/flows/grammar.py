"""What a random program is made of: phrases with gaps for other phrases, of each kind.

The names that phrases may use are those of `BEGINNINGS` and `INPUTS`; a program has those that it mentions.
"""

from __future__ import annotations

from textwrap import dedent

# {c}: a real constant; {d}: a small whole one; {i}: the index of the loop around; {new}: a name of its own.
_EXPRESSIONS = {
    "condition": """
        s > {c}
        a.sum() > {c} * 4
        (a > {c}).any()
        (b < {c}).all()
        n > {d} + 1
        n % 2 == 0
        n % 3 == 1
        v[0] > v[{d}]
        v.max().item() > {c}
        float(s) < {c}
        f > {c}
        s.item() > f
        k > {d}
        0 < k < 3
        k == {d}
        k % 2
        k
        k < n
        k in (0, 2)
        {number} > {number}
        not outs
        len(outs) > 1
        h is None
        any(row.sum() > {c} for row in a)
        all(float(z) < {c} for z in v)
        torch.equal(a[0], b[0])
        (x > {c}).sum() > {d} + 1
        t[0] > t[1]
        t[{d}] == {d}
        m == n
        y.sum() > s
        {i} % 2 == 0
        a[{i}, 0] > {c}
        {i} == k
        {condition} and {condition}
        {condition} or {condition}
        not ({condition})
    """,
    "read": """
        int(x.sum())
        int(s * 3)
        x[0, 0].long().item()
        (x > {c}).sum().item()
        int(t[{d}])
        t[{d}].item()
        t.tolist()[{d}]
        int(v.argmax())
        len(x[x[:, 0] > {c}])
        torch.nonzero(x[:, 1] > {c}).shape[0]
        round(s.item())
        math.floor(float(s))
        int(x.max().item() * 2)
    """,
    "start": """
        float(s)
        s.item()
        x[0, 1].item()
        float(x.max())
    """,
    "number": """
        k
        k
        k + {d}
        -k
        k // 2
        k % 3
        abs(k)
        min(k, n)
        max(k, {d})
        min(k, {d})
        min(max(k, 0), n)
        k * 2
        n - k
        k ** 2
        n // (abs(k) + 1)
        divmod(k, 3)[1]
        count
        len(outs)
        int(f)
        int(k > {d})
        (k if k > 0 else n)
        sum(1 for z in v if z > {c})
        {read}
    """,
    "index": """
        {number} % 3
        min(abs({number}), 2)
        max(0, min(2, {number}))
        int(v.argmax())
    """,
    "real": """
        f
        f * 0.5
        abs(f)
        max(f, {c})
        min(f, 1.0)
        f if f > 0 else {c}
        math.tanh(f)
        math.sqrt(abs(f))
        float(s)
        v[{d}].item()
        k / 2
        f / (1 + abs(k))
        k * 0.1
        round(f)
        WEIGHTS[{index}]
        sum(float(z) for z in v)
        sum(WEIGHTS[:{number}])
    """,
    "vector": """
        a.mean(0)
        b.max(0).values
        a[0]
        b[-1]
        v * 0.5
        torch.tanh(v)
        v.flip(0)
        torch.where(v > 0, v, s)
        v * {real}
        v + {number}
        v + {real}
        a[:k].sum(0)
        b[{number}:].sum(0)
        a[k % n]
        a[{number}:{number}].sum(0)
        v.roll({number})
        v if {condition} else a[0]
        a[a[:, 0] > {c}].sum(0)
        a[torch.nonzero(b[:, 1] > {c}).flatten()].sum(0)
        torch.full((3,), {real})
        v * torch.arange(abs({number}) % 5).sum()
        self.layers[{index}](v)
        scaled(v, {real})
        scaled(v, power={index})
        gated(v, {c})
        first_large(a)
        torch.stack([p * q for p, q in zip(a, b)]).sum(0)
        sum((p for p in a), v)
        state["last"] * 0.5
        y.mean(0)
        t * 0.1 + v
        a[{i}]
        a[{i}]
        v * 0.5 + a[{i}]
        torch.tanh(v + b[{i}])
        b[: {i} + 1].mean(0)
        v + {i}
    """,
    "matrix": """
        torch.tanh(a + b)
        a * 0.7 - v
        b + s
        a.flip(0)
        torch.relu(b)
        a.clone()
        b - a.mean(0)
        torch.cumsum(a, 0) / n
        a * (torch.arange(n).unsqueeze(1) / n)
        torch.cat([a[1:], b[:1]])
        torch.stack([x[i] * (i + 1) for i in range(n)]) / n
        a.roll({number}, 0)
        self.layers[{index}](a)
        a * {real}
        torch.stack([row if row[0] > {c} else row * 0.5 for row in a])
        torch.cat([part * (j + 1) for j, part in enumerate(a.split(2))])
        torch.cat(a.tensor_split(2)[::-1])
        torch.where(a > {c}, a, b)
        a if {condition} else b
    """,
    "scalar": """
        a.mean()
        v.sum() * 0.3
        s * 0.5
        b.max()
        torch.tanh(s + v[0])
        a.abs().sum() / n
        s * {real}
        s + {number}
        x[x > {c}].sum()
        torch.tensor({real})
        max(s, v[0])
        s + a[{i}].mean() * 0.5
        s + a[{i}].mean() * 0.5
    """,
}

_STATEMENTS = {
    "assignment": """
        a = {matrix}

        b = {matrix}

        v = {vector}

        v = {vector}

        s = {scalar}

        k = {number}

        k = {read}

        f = {real}

        count += {number}

        h = v

        h = None

        a, b = b, a

        v, s = v + s, v.sum() * 0.1

        k, f = {number}, {real}

        state["last"] = {vector}

        state["on"] = {condition}

        v = self.{helper}(a, b, v, s, n)

        v = self.{helper}(a, b, v, s, n, limit={c})
    """,
    "writing": """
        a += 0.25

        b.mul_(0.5)

        a[a > {c}] = {c}

        a[1:] = b[1:]

        b[0] = v

        a[::2] *= 0.5

        a[:, 1] = s

        a[k % n] = v

        b[:{number}] = {c}

        b[{number}:] += v

        a[a[:, 0] > {c}] = v

        b = b.masked_fill(b > {c}, 0.0)

        {new} = a
        {new} *= 0.5

        {new} = a[0]
        {new} += v

        v = v.clone()
        v[{index}] = {real}

        outs.append(v)

        outs.append(a.mean(0))

        outs = outs + [v * 2]

        outs[-1:] = [v]

        a[{i}] = v

        b[{i}] += v * 0.5

        a[{i}, 1] = s
    """,
    "branch": """
        if {condition}:
            {block}

        if {condition}:
            {block}

        if {condition}:
            {block}
        else:
            {block}

        if {condition}:
            {block}
        elif {condition}:
            {block}
        else:
            {block}

        if {condition}:
            {return}

        if {condition}:
            {block}
            {return}

        if {condition}:
            h = v * 0.5
        {statement}
        if h is not None:
            v = v + h

        try:
            if {condition}:
                raise ValueError
            {block}
        except ValueError:
            {block}

        try:
            v = v * WEIGHTS[{number}]
        except IndexError:
            {block}

        v = -v if {condition} else v

        def {new}(z, by={c}):
            return z * by + s if {condition} else z
        v = {new}(v)
    """,
    "leaving": """
        if {condition}:
            break

        if {condition}:
            continue

        if {condition}:
            {block}
            break

        if {condition}:
            {return}
    """,
    "loop": """
        for {index_name} in range(n):
            {body}

        for {index_name} in range(n):
            {body}

        for {index_name} in range(1, n):
            {body}

        for {index_name} in reversed(range(n)):
            {body}

        for {index_name} in range(0, n, 2):
            {body}

        for {index_name} in range(min(n, 3)):
            {body}

        for {index_name}, row in enumerate(x):
            v = v * 0.5 + row
            {body}

        for {new} in range({number}):
            {turns}

        for {new} in range(min(abs(k), 4)):
            v = v * 0.5 + {new}
            {turns}

        for {new} in range(k, {d} + 2):
            {turns}

        for {new} in range(0, n, abs(k) + 1):
            v = v * 0.5 + a[{new}]
            {turns}

        for p, q in zip(a, b):
            v = v * 0.5 + p - q
            {turns}

        for layer in self.layers:
            v = torch.tanh(layer(v))
            {turns}

        for {new}, w in enumerate(WEIGHTS):
            v = v * w + {new}
            {turns}

        for part in a.split(2):
            v = v * 0.5 + part.sum(0)
            {turns}

        for j in torch.nonzero(a[:, 0] > {c}).flatten():
            v = v * 0.5 + b[j]
            {turns}

        for j in t.tolist():
            v = v * 0.5 + j
            {turns}

        for {index_name} in range(n):
            if a[{index_name}, 0] > {c}:
                v = a[{index_name}]
                break
        else:
            {block}

        {new} = 0
        while v.abs().sum() > 0.5 and {new} < 6:
            {new} += 1
            {turns}
            v = v * 0.6

        {new} = 0
        while {new} < n:
            {new} += 1
            {turns}

        {new} = 0
        while {new} < 5 and s < 0.8:
            {new} += 1
            {turns}
            s = s + 0.2

        {new} = 0
        while True:
            {new} += 1
            v = v * 0.6
            {turns}
            if v.abs().sum() < 0.5 or {new} > 6:
                break

        while k > 0:
            k = k // 2
            {block}
    """,
}

# What a name starts as where a function mentions it, in the order in which they may use each other.
BEGINNINGS = {
    "n": "n = x.shape[0]",
    "m": "m = y.shape[0]",
    "a": "a = x * 0.9",
    "b": "b = torch.tanh(x) + 0.1",
    "v": "v = x.mean(0)",
    "s": "s = x.sum() * 0.1",
    "k": "k = {read}",
    "f": "f = {start}",
    "h": "h = None",
    "count": "count = 0",
    "outs": "outs = []",
    "state": 'state = {"last": v, "on": True}',
}
# What a function ends with where it mentions the name.
ENDINGS = {
    "k": "v = v + k % 7",
    "f": "v = v + f",
    "h": "if h is not None:\n    v = v + h",
    "count": "v = v + count",
    "outs": "if len(outs) > 0:\n    v = v + torch.stack(outs).mean(0)",
    "state": 'v = v + state["last"] if state["on"] else v',
}
INPUTS = ("x", "y", "t")
INSIDE = {"x": "x = a", "y": "y = b", "t": "t = v.round().long()"}  # what inputs are in a helper

MODULE = '''\
"""Random program {seed}."""

import math

import torch

WEIGHTS = (0.5, -1.0, 0.25, 1.5)


def scaled(v, by=0.5, *, power=1):
    return v * by**power


def gated(v, threshold=0.0):
    if v.sum() > threshold:
        return v
    return v * 0.5


def first_large(rows):
    for row in rows:
        if row.sum() > 0.5:
            return row
    return rows[-1]


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))
'''


def _phrases(text: str, parted_by: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in dedent(text).split(parted_by) if phrase.strip())


PHRASES = {kind: _phrases(text, "\n") for kind, text in _EXPRESSIONS.items()} | {
    kind: _phrases(text, "\n\n") for kind, text in _STATEMENTS.items()
}
