"""What a finding tells the user to do, done: the model then exports, and is proven."""

from __future__ import annotations

import json
import math
import statistics
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import onnxpert

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [3.0, 1.0, -2.0]])
TABLE = torch.arange(15.0).reshape(5, 3)


def stuck(x: Tensor) -> Tensor:
    """What no strategy gets past, so that the others cannot be avoided either."""
    return torch.from_numpy(numpy.unwrap(x.numpy()))


def sorts(x: Tensor) -> Tensor:
    y = torch.from_numpy(numpy.sort(x.numpy()))
    return y + stuck(x)


def sparse(x: Tensor) -> Tensor:
    return torch.sparse.mm(x.to_sparse(), x)


def dense(x: Tensor) -> Tensor:
    return torch.mm(x, x)


def checks(x: Tensor) -> Tensor:
    if type(x) is not Tensor:
        raise TypeError("plain tensors only")
    return stuck(x * 2)


def checks_outside(x: Tensor) -> Tensor:
    if not torch.compiler.is_compiling() and type(x) is not Tensor:
        raise TypeError("plain tensors only")
    return x * 2


def in_thread(x: Tensor) -> Tensor:
    results: list[Tensor] = []
    worker = threading.Thread(target=lambda: results.append(x * 2))
    worker.start()
    worker.join()
    return results[0] + 1


def nested(x: Tensor) -> Tensor:
    return torch.nested.nested_tensor([x[0], x[1]]).to_padded_tensor(0.0)


def padded(x: Tensor) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([x[0], x[1]], batch_first=True)


CURES: dict[str, tuple[Callable[..., Any], str, Callable[..., Any]]] = {
    "numpy, same name": (
        sorts,
        "torch.sort is what numpy.sort is to arrays",
        lambda x: torch.sort(x).values,
    ),
    "numpy, nothing like it": (
        stuck,
        "torch has no unwrap",
        lambda x: x - 2 * torch.pi * torch.round(x / (2 * torch.pi)),
    ),
    "a list that Python takes": (
        lambda x: x - statistics.median(x.flatten().tolist()),
        "use torch.quantile(x, 0.5) on the tensor",
        lambda x: x - torch.quantile(x.flatten(), 0.5),
    ),
    "numpy, the call that has the array": (
        lambda x: x * numpy.log1p(numpy.std(x.numpy())) + stuck(x),
        "torch.std(x, correction=0) is what numpy.std is to arrays",
        lambda x: x * torch.log1p(torch.std(x, correction=0)),
    ),
    "a set of what is in a list": (
        lambda x: x * torch.tensor(sorted(set(x.round().flatten().tolist())))[:3],
        "use torch.unique on the tensor",
        lambda x: x * torch.unique(x.round().flatten())[:3],
    ),
    "a list that is sent away": (
        lambda x: x * len(json.dumps(x.tolist())),
        "return the tensor, and write it down",
        lambda x: (x, x),
    ),
    "an index of a list": (
        lambda x: x * [1.0, 2.0, 3.0][int(x[0].argmax())],
        "torch.stack the choices, then index_select",
        lambda x: x * torch.tensor([1.0, 2.0, 3.0]).index_select(0, x[0].argmax().reshape(1)),
    ),
    "mathematics": (
        lambda x: x * math.lgamma(x.abs().max().item()),
        "use torch.lgamma on the tensor",
        lambda x: x * torch.lgamma(x.abs().max()),
    ),
    "a sparse tensor": (sparse, "torch.mm for torch.sparse.mm", dense),
    "a nested tensor": (nested, "pad to one tensor", padded),
    "an exception": (checks, "if not torch.compiler.is_compiling()", checks_outside),
    "a thread": (in_thread, "compute it where forward runs", lambda x: x * 2 + 1),
}


def model(function: Callable[..., Any]) -> nn.Module:
    class Model(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return function(x)

    return Model().eval()


@pytest.mark.parametrize("name", CURES)
def test_the_cure_is_true(name: str) -> None:
    ill, help, well = CURES[name]
    report = onnxpert.diagnose(model(ill), (X,))
    assert help in " ".join(f.help for f in report.findings if f.blocks), report.findings
    assert onnxpert.diagnose(model(well), (X,)).ok


class Adds(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.cut = cut
        self.register_buffer("table", TABLE)

    def forward(self, x: Tensor) -> Tensor:
        return x + (self.table[: x.shape[0]] if self.cut else self.table)


def test_a_table_is_cut_to_the_size() -> None:
    rows = ({0: "rows"},)
    report = onnxpert.diagnose(Adds(cut=False).eval(), (torch.randn(5, 3),), dynamic_shapes=rows)
    (finding,) = report.findings
    assert finding.rule == "SHP201"
    assert "[..., :x.shape[0]]" in finding.help
    assert finding.notes == ("the run assumed x.shape[0] == 5",)
    assert onnxpert.diagnose(Adds(cut=True).eval(), (torch.randn(5, 3),), dynamic_shapes=rows).ok
