"""Checkpoints of every kind: described without being read, read one tensor at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from onnxpert.core.errors import UsageError
from onnxpert.save.checkpoint import Checkpoint

TENSORS = {
    "float": torch.randn(4, 5),
    "brain": torch.randn(7).bfloat16(),
    "eight": torch.randn(3).to(torch.float8_e4m3fn),
    "flags": torch.rand(3) > 0.5,
    "scalar": torch.tensor(3),
    "complex": torch.randn(2, dtype=torch.complex64),
}


def check(checkpoint: Checkpoint) -> None:
    assert set(checkpoint) == set(TENSORS)
    for key, tensor in TENSORS.items():
        entry = checkpoint.entry(key)
        assert (entry.dtype, entry.shape) == (str(tensor.dtype)[6:], tuple(tensor.shape))
        read = checkpoint.tensor(key)
        plain = read.float() if read.dtype is torch.float8_e4m3fn else read
        assert torch.equal(plain, tensor.to(plain.dtype))


def test_a_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save_file(TENSORS, path, metadata={"format": "pt"})
    checkpoint = Checkpoint([path])
    check(checkpoint)
    assert (checkpoint.name, checkpoint.files) == ("m.safetensors", (path,))
    entry = checkpoint.entry("float")
    stored = path.read_bytes()[entry.offset : entry.offset + entry.length]
    assert stored == TENSORS["float"].numpy().tobytes()


def test_a_folder_and_an_index(tmp_path: Path) -> None:
    keys = list(TENSORS)
    save_file({key: TENSORS[key] for key in keys[:3]}, tmp_path / "m-1.safetensors")
    save_file({key: TENSORS[key] for key in keys[3:]}, tmp_path / "m-2.safetensors")
    index = tmp_path / "m.safetensors.index.json"
    index.write_text("{}")
    check(Checkpoint([tmp_path]))
    check(Checkpoint([index]))
    assert len(Checkpoint([str(tmp_path)]).files) == 2


@pytest.mark.parametrize("inside", [False, True])
def test_a_pickle(tmp_path: Path, inside: bool) -> None:
    path = tmp_path / "m.pt"
    torch.save({"state_dict": TENSORS, "epoch": 3} if inside else TENSORS, path)
    check(Checkpoint([path]))
    assert Checkpoint([path]).files == ()


def test_a_later_source_counts() -> None:
    checkpoint = Checkpoint([TENSORS, {"float": torch.zeros(2)}])
    assert checkpoint.entry("float").shape == (2,)
    assert checkpoint.name == "2 sources"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.safetensors", None, "there is no checkpoint"),
        ("bad.safetensors", b"not one", "is no safetensors file"),
        ("bad.safetensors", b"\x05\0\0\0\0\0\0\0hello", "is no safetensors file"),
        ("bad.pt", b"not one", "cannot be read as a state dict"),
        ("", None, "holds no .safetensors file"),
    ],
)
def test_what_is_no_checkpoint(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=said):
        Checkpoint([tmp_path / name])


def test_a_pickle_of_something_else(tmp_path: Path) -> None:
    torch.save([1, 2], tmp_path / "m.pt")
    with pytest.raises(UsageError, match="holds list, not a state dict"):
        Checkpoint([tmp_path / "m.pt"])
