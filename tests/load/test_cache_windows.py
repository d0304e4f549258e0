"""Caches with a window: the number of tokens they saw goes with the sizes of the call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.core.types import Loaded, Request, Window
from onnxpert.load import load

transformers = pytest.importorskip("transformers")
WINDOW = 4


class Net(nn.Module):
    """One layer that keeps a window, and attends with a mask made as transformers makes it."""

    def forward(
        self, input_ids: Any, attention_mask: Any = None, past_key_values: Any = None
    ) -> Any:
        cache = past_key_values
        seen = cache.get_seq_length(0)
        length, offset = cache.get_mask_sizes(input_ids.shape[1], 0)
        at = torch.arange(length) + offset
        new = input_ids[:, None, :, None].to(torch.float32)
        keys, values = cache.update(new, 2 * new, 0)
        near = (seen + torch.arange(input_ids.shape[1]))[:, None] - at < WINDOW
        if attention_mask is not None:
            near = near & (attention_mask[:, None, None, at] > 0)
        return (keys * at[:, None] + values).transpose(2, 3) * near, cache


def filled(*, seen: int, batch: int = 2, whole: bool = False) -> Any:
    types = ["sliding_attention", "full_attention"] if whole else ["sliding_attention"]
    config = transformers.MistralConfig(num_hidden_layers=len(types), sliding_window=WINDOW)
    config.layer_types = types
    cache = transformers.DynamicCache(config=config)
    torch.manual_seed(seen)
    for layer in range(len(types)):
        cache.update(torch.randn(batch, 1, seen, 1), torch.randn(batch, 1, seen, 1), layer)
    return cache


def call(*, seen: int, new: int = 2, batch: int = 2, whole: bool = False) -> dict[str, Any]:
    return {
        "input_ids": torch.arange(batch * new).reshape(batch, new),
        "attention_mask": torch.ones(batch, seen + new, dtype=torch.int64),
        "past_key_values": filled(seen=seen, batch=batch, whole=whole),
    }


def loaded(kwargs: dict[str, Any], shapes: Any = None) -> Loaded:
    return load(Request(Net(), (), kwargs=kwargs, dynamic_shapes=shapes))


def test_the_mask_says_what_was_seen() -> None:
    found = loaded(call(seen=6))
    assert found.windows[0] == Window(
        "past_key_values.0.key", 2, WINDOW - 1, ("attention_mask", 1), ("input_ids", 1)
    )
    values = [leaf.value for leaf in found.leaves]
    assert found.rebuild(values)[1]["past_key_values"].get_seq_length() == 6
    values[1] = torch.ones(2, 11, dtype=torch.int64)
    assert found.rebuild(values)[1]["past_key_values"].get_seq_length() == 9


def test_a_layer_that_keeps_everything_says_what_was_seen() -> None:
    shapes = {"past_key_values": {2: "past"}}
    found = loaded(call(seen=6, whole=True), shapes)
    assert {window.seen for window in found.windows} == {("past_key_values.1.key", 2)}
    dims = {leaf.name: dict(leaf.dims) for leaf in found.leaves}
    assert dims["past_key_values.1.key"][2].name == "past"
    assert dims["past_key_values.0.key"][2].name == "past_window"


@pytest.mark.parametrize(("seen", "shapes"), [(6, None), (2, {"past_key_values": {2: "past"}})])
def test_nothing_says_what_was_seen(seen: int, shapes: Any) -> None:
    kwargs = call(seen=seen)
    del kwargs["attention_mask"]
    found = loaded(kwargs, shapes)
    assert found.windows == ()
    (problem,) = found.problems
    assert problem.kind == "unsupported-input"
    assert "`past_key_values.layers[0]` counts its tokens" in problem.message
    assert "attention_mask" in problem.help


def test_a_window_that_is_not_full_says_itself_what_was_seen() -> None:
    kwargs = call(seen=2)
    del kwargs["attention_mask"]
    assert not loaded(kwargs).problems


def test_a_static_cache_with_a_window() -> None:
    config = transformers.MistralConfig(num_hidden_layers=1, sliding_window=WINDOW)
    cache = transformers.StaticCache(config=config, max_cache_len=8)
    cache.update(torch.randn(2, 1, 2, 1), torch.randn(2, 1, 2, 1), 0)
    (problem,) = loaded({**call(seen=2), "past_key_values": cache}).problems
    assert "pass a DynamicCache" in problem.help


def test_the_length_of_the_window_is_no_input() -> None:
    names = [leaf.name for leaf in loaded(call(seen=6)).leaves if leaf.value is not None]
    assert not [name for name in names if "sliding_window" in name]


def test_the_file_is_right_once_the_window_is_full(tmp_path: Path) -> None:
    import onnxruntime

    shapes = {
        "input_ids": {0: "batch", 1: "new"},
        "attention_mask": {0: "batch", 1: "total"},
        "past_key_values": {0: "batch", 2: "past"},
    }
    path = tmp_path / "net.onnx"
    report = onnxpert.export(Net(), (), path, kwargs=call(seen=2), dynamic_shapes=shapes)
    assert "total=7" in str(report)  # the proof filled the window, too
    session = onnxruntime.InferenceSession(path)
    for seen, new, batch in ((2, 2, 2), (3, 1, 1), (4, 1, 3), (9, 3, 1)):
        kwargs = call(seen=seen, new=new, batch=batch)
        layer = kwargs["past_key_values"].layers[0]
        fed = [kwargs["input_ids"], kwargs["attention_mask"], layer.keys, layer.values]
        names = [each.name for each in session.get_inputs()]
        got = session.run(None, {n: v.numpy() for n, v in zip(names, fed, strict=True)})
        want, cache = Net()(**kwargs)
        for result, expected in zip(got, (want, cache.layers[0].keys), strict=False):
            torch.testing.assert_close(torch.from_numpy(result), expected)


def test_an_empty_cache_has_nothing_to_take() -> None:
    config = transformers.MistralConfig(num_hidden_layers=1, sliding_window=WINDOW)
    kwargs = {**call(seen=2), "past_key_values": transformers.DynamicCache(config=config)}
    found = loaded(kwargs)
    assert not found.problems
    assert [leaf.name for leaf in found.leaves] == ["input_ids", "attention_mask"]
    for _ in range(2):
        cache = found.rebuild([leaf.value for leaf in found.leaves])[1]["past_key_values"]
        assert cache.get_seq_length() == 0
        cache.update(torch.ones(2, 1, 1, 1), torch.ones(2, 1, 1, 1), 0)
