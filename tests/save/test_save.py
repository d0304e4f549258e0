"""What is written is what was meant, in one file or two, and never half of it."""

from __future__ import annotations

import hashlib
import os
import resource
import stat
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from onnxpert import targets
from onnxpert.core.errors import BugError, UsageError
from onnxpert.core.types import Saved
from onnxpert.save import discard, publish, save, staging, writer

WEIGHTS = {
    "float": torch.randn(40, 50),
    "transposed": torch.randn(30, 60).t(),
    "half": torch.randn(2000).half(),
    "brain": torch.randn(50, 50).bfloat16(),
    "long": torch.arange(2000),
    "flags": torch.rand(3000) > 0.5,
    "strided": torch.randn(100, 100)[::2, ::3],
    "small": torch.ones(3),
    "none": torch.ones(()),
    "empty": torch.ones(0, 4),
}


def total(weights: dict[str, torch.Tensor]) -> float:
    return float(sum(weight.float().sum() for weight in weights.values()))


def run(path: Path) -> float:
    (y,) = targets.find("ort-cpu").open(path)({"x": np.zeros(1, np.float32)})
    return float(y[0])


def listing(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def arrays(path: Path) -> dict[str, bytes]:
    model = onnx.load(path)
    return {t.name: onnx.numpy_helper.to_array(t).tobytes() for t in model.graph.initializer}


@pytest.mark.parametrize("external_data", [False, True])
def test_every_weight_arrives(lower: Any, tmp_path: Path, external_data: bool) -> None:
    lowered = lower(WEIGHTS)
    saved = save(lowered, tmp_path / "net.onnx", external_data=external_data)
    assert len(saved.files) == 1 + external_data
    assert saved.path.parent.parent == tmp_path
    assert run(saved.path) == pytest.approx(total(WEIGHTS), rel=1e-5)
    reference = tmp_path / "reference.onnx"
    ir.save(lowered.model, reference)
    assert arrays(saved.path) == arrays(reference)
    ours, theirs = (onnx.load(p, load_external_data=False) for p in (saved.path, reference))
    for model in (ours, theirs):
        del model.graph.initializer[:]
    assert ours == theirs  # all but the weights is what protobuf itself would write
    onnx.checker.check_model(saved.path, full_check=True)


@pytest.mark.parametrize("external_data", [False, True])
def test_size_and_hash_are_of_the_files(lower: Any, tmp_path: Path, external_data: bool) -> None:
    saved = save(lower(WEIGHTS), tmp_path / "net.onnx", external_data=external_data)
    content = b"".join(file.read_bytes() for file in saved.files)
    assert saved.bytes == len(content)
    assert saved.sha256 == hashlib.sha256(content).hexdigest()
    again = save(lower(WEIGHTS), tmp_path / "net.onnx", external_data=external_data)
    assert again.sha256 == saved.sha256
    silent = save(lower(WEIGHTS), tmp_path / "net.onnx", digest=False)
    assert silent.sha256 == ""


def test_the_model_is_left_as_it_was(lower: Any, tmp_path: Path) -> None:
    lowered = lower(WEIGHTS)
    before = {name: v.const_value for name, v in lowered.model.graph.initializers.items()}
    save(lowered, tmp_path / "net.onnx", external_data=True)
    after = {name: v.const_value for name, v in lowered.model.graph.initializers.items()}
    assert all(before[name] is after[name] for name in before)


def test_too_much_for_one_file_goes_into_two(
    lower: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "IN_FILE_BYTES", 4000)
    assert len(save(lower({"w": torch.ones(1000)}), tmp_path / "net.onnx").files) == 1
    saved = save(lower({"w": torch.ones(1001)}), tmp_path / "net.onnx")
    assert [file.name for file in saved.files] == ["net.onnx", "net.onnx.data"]
    assert run(saved.path) == 1001


def test_nothing_large_needs_no_second_file(lower: Any, tmp_path: Path) -> None:
    saved = save(lower({"w": torch.ones(3)}), tmp_path / "net.onnx", external_data=True)
    assert [file.name for file in saved.files] == ["net.onnx"]
    assert run(saved.path) == 3


def test_tied_weights_are_written_once(lower: Any, tmp_path: Path) -> None:
    weight = torch.randn(1000)
    weights = {"a": weight, "b": weight, "c": weight.clone(), "d": weight.reshape(50, 20).t()}
    saved = save(lower(weights), tmp_path / "net.onnx", external_data=True)
    assert saved.files[1].stat().st_size < 3 * 4000 + 200
    assert run(saved.path) == pytest.approx(total(weights), rel=1e-4)


def test_large_weights_begin_on_a_page(lower: Any, tmp_path: Path) -> None:
    weights = {"a": torch.randn(300), "b": torch.randn(1 << 18), "c": torch.randn(300)}
    saved = save(lower(weights), tmp_path / "net.onnx", external_data=True)
    model = onnx.load(saved.path, load_external_data=False)
    offsets = {
        tensor.name: int(next(e.value for e in tensor.external_data if e.key == "offset"))
        for tensor in model.graph.initializer
    }
    assert offsets == {"a": 0, "b": 4096, "c": 4096 + (1 << 20)}


def test_one_weight_at_a_time(lower: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []
    original = writer.payload

    def payload(weight: Any) -> Any:
        assert all(earlier() is None for earlier in alive)
        view = original(weight)
        alive.append(weakref.ref(view))
        return view

    monkeypatch.setattr(writer, "payload", payload)
    save(lower(WEIGHTS), tmp_path / "net.onnx")
    assert len(alive) == 7  # the small ones go with the nodes


def test_fake_weights_are_refused(lower: Any, tmp_path: Path) -> None:
    with FakeTensorMode():
        fake = {"w": torch.ones(500), "v": torch.ones(600)}
    with pytest.raises(UsageError, match="the weights are fake: w and 1 more") as caught:
        save(lower(fake), tmp_path / "net.onnx")
    assert "load the real weights" in caught.value.help
    with pytest.raises(UsageError, match="the weights are fake"):
        save(lower({"w": torch.ones(500, device="meta")}), tmp_path / "net.onnx")
    assert listing(tmp_path) == []


@pytest.mark.parametrize("external_data", [False, True])
def test_published_files_are_in_place_and_nothing_else_is(
    lower: Any, tmp_path: Path, external_data: bool
) -> None:
    path = tmp_path / "net.onnx"
    staged = save(lower(WEIGHTS), path, external_data=external_data)
    assert not path.exists()
    saved = publish(staged, path)
    assert saved.path == path
    assert listing(tmp_path) == ["net.onnx", "net.onnx.data"][: 1 + external_data]
    assert [str(file) for file in saved.files] == [str(tmp_path / n) for n in listing(tmp_path)]
    assert run(path) == pytest.approx(total(WEIGHTS), rel=1e-5)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    discard(saved)  # published: stays
    assert path.exists()


def test_discarded_files_are_gone(lower: Any, tmp_path: Path) -> None:
    discard(save(lower(WEIGHTS), tmp_path / "net.onnx"))
    assert listing(tmp_path) == []


def put(lower: Any, path: Path, size: int, *, external_data: bool) -> Saved:
    lowered = lower({"w": torch.ones(size)})
    return publish(save(lowered, path, external_data=external_data), path)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_an_earlier_export_is_replaced(
    lower: Any, tmp_path: Path, first: bool, second: bool
) -> None:
    path = tmp_path / "net.onnx"
    put(lower, path, 500, external_data=first)
    put(lower, path, 700, external_data=second)
    assert run(path) == 700
    assert listing(tmp_path) == ["net.onnx", "net.onnx.data"][: 1 + second]


def test_a_file_that_is_not_ours_stays(lower: Any, tmp_path: Path) -> None:
    (tmp_path / "net.onnx.data").write_text("somebody's")
    (tmp_path / "net.onnx").write_text("not a model")
    put(lower, tmp_path / "net.onnx", 500, external_data=False)
    assert (tmp_path / "net.onnx.data").read_text() == "somebody's"


def test_a_failed_publication_leaves_the_earlier_export(
    lower: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.onnx"
    put(lower, path, 500, external_data=True)
    staged = save(lower({"w": torch.ones(700)}), path, external_data=True)
    real = os.replace

    def replace(source: Path, destination: Path) -> None:
        if Path(destination) == path and Path(source).parent.name != "replaced":
            raise PermissionError(13, "Permission denied", str(destination))
        real(source, destination)

    monkeypatch.setattr(staging.os, "replace", replace)
    with pytest.raises(PermissionError):
        publish(staged, path)
    assert run(path) == 500
    assert listing(tmp_path) == ["net.onnx", "net.onnx.data"]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), OSError(28, "No space left")]
)
def test_an_interruption_leaves_nothing(
    lower: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def payload(weight: Any) -> bytes:
        raise error

    monkeypatch.setattr(writer, "payload", payload)
    with pytest.raises(type(error)) as caught:
        save(lower(WEIGHTS), tmp_path / "net.onnx")
    assert listing(tmp_path) == []
    if isinstance(error, OSError):
        assert str(caught.value) == f"[Errno 28] No space left: '{tmp_path / 'net.onnx'}'"


def test_a_disk_that_is_full(lower: Any, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"net\.onnx'"):
            save(lower({"w": torch.ones(100_000)}), tmp_path / "net.onnx")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert listing(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("missing/net.onnx", "the directory .*missing does not exist"),
        (".", "is a directory"),
        ("pipe", "is not a regular file"),
    ],
)
def test_an_impossible_place_is_misuse(lower: Any, tmp_path: Path, path: str, said: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=said):
        save(lower(WEIGHTS), tmp_path / path)
    assert listing(tmp_path) == ["pipe"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_place_without_permission_is_said_with_its_path(lower: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"net\.onnx"):
        save(lower(WEIGHTS), tmp_path / "net.onnx")


def test_a_link_is_followed(lower: Any, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "link.onnx").symlink_to(tmp_path / "store" / "real.onnx")
    put(lower, tmp_path / "link.onnx", 500, external_data=True)
    assert listing(tmp_path) == ["link.onnx", "store", "store/real.onnx", "store/real.onnx.data"]
    assert (tmp_path / "link.onnx").is_symlink()
    assert run(tmp_path / "store" / "real.onnx") == 500


def test_publishing_under_another_name_is_a_bug(lower: Any, tmp_path: Path) -> None:
    staged = save(lower(WEIGHTS), tmp_path / "net.onnx")
    with pytest.raises(BugError):
        publish(staged, tmp_path / "other.onnx")
    with pytest.raises(BugError):
        publish(publish(staged, tmp_path / "net.onnx"), tmp_path / "net.onnx")
