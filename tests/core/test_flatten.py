"""The outputs of a model in one order, whatever they are kept in."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict, UserDict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from onnxpert.core.flatten import flatten_outputs

T = torch.zeros(1)
Pair = namedtuple("Pair", "first second")


@dataclass
class Fields:
    b: Any
    a: Any = None


class Opaque:
    """A class nobody knows: a cache, say."""

    def __init__(self) -> None:
        self.keys = [T, 7]
        self.size = 3
        self.name = "cache"
        self._hidden = T
        self.me = self


class Listed(list[Any]):
    """A list of the user's own kind."""


@pytest.mark.parametrize(
    ("tree", "paths"),
    [
        (T, [""]),
        (3.5, [""]),
        (None, []),
        ("text", []),
        ((T, T), ["0", "1"]),
        ([T, None, T], ["0", "2"]),
        ({"z": T, "a": (T, 4)}, ["z", "a_0", "a_1"]),
        (OrderedDict(z=T, a=T), ["z", "a"]),
        (UserDict(z=T, a=T), ["z", "a"]),
        (Pair(T, [T]), ["first", "second_0"]),
        (Fields(T, {"k": True}), ["b", "a_k"]),
        (Listed([T, T]), ["0", "1"]),
        (torch.Size([2, 3]), ["0", "1"]),
        ({"loss": T, "cache": Opaque(), "note": "x"}, ["loss", "cache_keys_0"]),
        ((torch.nn.Linear(1, 1), int, T), ["2"]),
        ([[], {}, ()], []),
    ],
)
def test_paths(tree: Any, paths: list[str]) -> None:
    assert [path for path, _ in flatten_outputs(tree)] == paths


def test_the_order_is_that_of_torch_for_what_torch_knows() -> None:
    tree = {"b": [T + 1, (T + 2,)], "a": OrderedDict(x=T + 3, c=T + 4)}
    ours = [leaf for _, leaf in flatten_outputs(tree)]
    assert [int(leaf) for leaf in ours] == [1, 2, 3, 4]
    assert all(a is b for a, b in zip(ours, torch.utils._pytree.tree_leaves(tree), strict=True))


def test_a_registered_class_comes_apart_as_registered() -> None:
    class Box:
        def __init__(self, inside: Any) -> None:
            self.inside, self.other = inside, T

    torch.utils._pytree.register_pytree_node(
        Box, lambda box: ([box.inside], None), lambda items, _: Box(*items)
    )
    assert [path for path, _ in flatten_outputs((Box(T), T))] == ["0_0", "1"]


def test_numbers_stay_while_torch_is_tracing() -> None:
    seen = []

    class Sizes(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.extend(flatten_outputs((x, x.shape[0])))
            return x + 1

    dynamic = {"x": {0: torch.export.Dim("n")}}
    torch.export.export(Sizes(), (torch.ones(3),), dynamic_shapes=dynamic)
    assert isinstance(seen[1][1], torch.SymInt)


def test_importing_it_does_not_import_torch() -> None:
    code = "import sys, onnxpert.core.flatten; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_two_caches_of_an_encoder_decoder_have_names_of_their_own() -> None:
    transformers = pytest.importorskip("transformers")
    both = transformers.EncoderDecoderCache(
        transformers.DynamicCache(), transformers.DynamicCache()
    )
    for side in (both.self_attention_cache, both.cross_attention_cache):
        side.update(torch.ones(1, 1, 2, 1), torch.ones(1, 1, 2, 1), 0)
    assert [name for name, _ in flatten_outputs({"past": both})] == [
        "present.0.decoder.key",
        "present.0.decoder.value",
        "present.0.encoder.key",
        "present.0.encoder.value",
    ]
