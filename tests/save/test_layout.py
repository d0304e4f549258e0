"""Weights beside the file: in files of a size, on pages, once when tied, and gone when replaced."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

from onnxpert.save import publish, save, staging
from onnxpert.save.layout import is_data_of
from tests.save.test_save import listing, run, total

SIZES = {"a": 500, "b": 600, "c": 5000, "d": 400}  # floats: 2000, 2400, 20000 and 1600 bytes


def weights() -> dict[str, torch.Tensor]:
    return {name: torch.randn(size) for name, size in SIZES.items()}


def locations(path: Path) -> dict[str, str]:
    model = onnx.load(path, load_external_data=False)
    return {
        tensor.name: next((e.value for e in tensor.external_data if e.key == "location"), "")
        for tensor in model.graph.initializer
    }


def test_no_file_is_larger_than_asked_unless_one_weight_is(lower: Any, tmp_path: Path) -> None:
    given = weights()
    saved = save(lower(given), tmp_path / "net.onnx", external_data=5000)
    names = [f"net.onnx.0000{i}-of-00003.data" for i in (1, 2, 3)]
    assert [file.name for file in saved.files] == ["net.onnx", *names]
    assert locations(saved.path) == {"a": names[0], "b": names[0], "c": names[1], "d": names[2]}
    assert [file.stat().st_size for file in saved.files[1:]] == [2048 + 2400, 20000, 1600]
    assert run(saved.path) == pytest.approx(total(given), rel=1e-4)


def test_tied_weights_stay_one_across_files(lower: Any, tmp_path: Path) -> None:
    weight = torch.randn(1000)
    given = {"a": weight, "b": torch.randn(900), "c": weight}
    saved = save(lower(given), tmp_path / "net.onnx", external_data=4500)
    where = locations(saved.path)
    assert where["a"] == where["c"] != where["b"]
    assert sum(file.stat().st_size for file in saved.files[1:]) == 7600
    assert run(saved.path) == pytest.approx(total(given), rel=1e-4)


@pytest.mark.parametrize("second", [False, True, 5000, 3000])
def test_no_stale_data_file_stays(lower: Any, tmp_path: Path, second: bool | int) -> None:
    path = tmp_path / "net.onnx"
    publish(save(lower(weights()), path, external_data=2500), path)
    assert len(listing(tmp_path)) == 5
    (tmp_path / "net.onnx.00009-of-00009.data").write_text("somebody's")
    given = weights()
    saved = publish(save(lower(given), path, external_data=second), path)
    expected = {file.name for file in saved.files} | {"net.onnx.00009-of-00009.data"}
    assert set(listing(tmp_path)) == expected
    assert run(path) == pytest.approx(total(given), rel=1e-4)


def test_an_interruption_at_any_move_leaves_one_whole_export(
    lower: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C at each move: before or after, the old export or the new one is all there."""
    path = tmp_path / "net.onnx"
    old, new = weights(), weights()
    publish(save(lower(old), path, external_data=2500), path)
    before = listing(tmp_path)
    real = os.replace
    for stop in range(20):
        moves = 0

        def replace(source: Path, destination: Path, stop: int = stop) -> None:
            nonlocal moves
            moves += 1
            if moves == stop + 1:
                raise KeyboardInterrupt
            real(source, destination)

        staged = save(lower(new), path, external_data=5000)
        monkeypatch.setattr(staging.os, "replace", replace)
        try:
            publish(staged, path)
        except KeyboardInterrupt:
            monkeypatch.setattr(staging.os, "replace", real)
            assert listing(tmp_path) == before
            assert run(path) == pytest.approx(total(old), rel=1e-4)
            continue
        monkeypatch.setattr(staging.os, "replace", real)
        assert stop > 4
        assert run(path) == pytest.approx(total(new), rel=1e-4)
        return
    pytest.fail("it never came to an end")


def test_which_names_are_ours() -> None:
    assert is_data_of("a.onnx", "a.onnx.data")
    assert is_data_of("a.onnx", "a.onnx.00001-of-00012.data")
    assert not is_data_of("a.onnx", "aXonnx.data")
    assert not is_data_of("a.onnx", "a.onnx.weights.data")
