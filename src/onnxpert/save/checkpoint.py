"""Tensors by the keys of a state dict, wherever they are: described at once, read one at a time."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from onnxpert.core.errors import UsageError

if TYPE_CHECKING:
    import torch

# A state dict, or the path of a file or folder that holds one.
Source: TypeAlias = "Mapping[str, torch.Tensor] | str | PathLike[str]"
_PICKLES = (".pt", ".pth", ".bin", ".ckpt")
_HELP = "give a .safetensors or .pt file, a folder of them, or a state dict"
# The names that safetensors gives to dtypes whose bytes are also ONNX's.
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of a checkpoint: what it is, and where its bytes lie if they lie in a file."""

    dtype: str  # as torch names it
    shape: tuple[int, ...]
    file: Path | None = None
    offset: int = 0
    length: int = 0

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class _Part(Protocol):
    """One source: all its entries, and a tensor on demand."""

    entries: Mapping[str, Entry]

    def tensor(self, key: str) -> torch.Tensor: ...


class Checkpoint:
    """The tensors of all sources; of two with one key the later counts, as in `dict.update`."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._parts: dict[str, _Part] = {}
        files = []
        for source in sources:
            for part in _parts(source):
                self._parts.update(dict.fromkeys(part.entries, part))
                files.append(part)
        self.name = _named(sources, len(files))

    def __contains__(self, key: str) -> bool:
        return key in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def entry(self, key: str) -> Entry:
        return self._parts[key].entries[key]

    def tensor(self, key: str) -> torch.Tensor:
        """The tensor itself; of a file, memory that is mapped and read page by page."""
        return self._parts[key].tensor(key)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that a tensor can be pointed at in."""
        entries = (part.entries[key] for key, part in self._parts.items())
        return tuple(dict.fromkeys(one.file for one in entries if one.file is not None))


class _Dict:
    def __init__(self, tensors: Mapping[str, Any]) -> None:
        import torch

        self._tensors = {k: v for k, v in tensors.items() if isinstance(v, torch.Tensor)}
        self.entries: Mapping[str, Entry] = {
            key: Entry(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
            for key, tensor in self._tensors.items()
        }

    def tensor(self, key: str) -> torch.Tensor:
        return self._tensors[key]


class _Safetensors:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.entries: Mapping[str, Entry] = dict(_header(path))
        self._open: Any = None

    def tensor(self, key: str) -> torch.Tensor:
        from safetensors import safe_open

        if self._open is None:
            self._open = safe_open(self._path, framework="pt")
        found: torch.Tensor = self._open.get_tensor(key)
        return found


def _parts(source: Source) -> Iterator[_Part]:
    if isinstance(source, Mapping):
        yield _Dict(source)
        return
    path = Path(fspath(source))
    if path.name.endswith(".index.json"):
        path = path.parent
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if not files:
            raise UsageError(f"{path} holds no .safetensors file", _HELP)
        for file in files:
            yield _Safetensors(file)
    elif not path.is_file():
        raise UsageError(f"there is no checkpoint {path}", _HELP)
    elif path.suffix in _PICKLES:
        yield _Dict(_unpickled(path))
    else:
        yield _Safetensors(path)


def _header(path: Path) -> Iterator[tuple[str, Entry]]:
    """The entries of a safetensors file: eight bytes of length, JSON, then the tensors' bytes."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            described: Any = json.loads(file.read(length)) if length < 1 << 27 else None
        found = {key: one for key, one in described.items() if key != "__metadata__"}
        for key, one in found.items():
            begin, end = one["data_offsets"]
            dtype = _DTYPES.get(one["dtype"], str(one["dtype"]))
            yield key, Entry(dtype, tuple(one["shape"]), path, 8 + length + begin, end - begin)
    except (struct.error, ValueError, AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no safetensors file", _HELP) from error


def _unpickled(path: Path) -> Mapping[str, Any]:
    import torch

    try:
        # Mapped, so that only what is asked for is read; and nothing in it is run.
        found = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except Exception as error:  # pickle, zip and torch each have errors of their own
        raise UsageError(
            f"{path} cannot be read as a state dict: {str(error).splitlines()[0]}", _HELP
        ) from error
    inner = found.get("state_dict", found) if isinstance(found, Mapping) else None
    if not isinstance(inner, Mapping):
        raise UsageError(f"{path} holds {type(found).__name__}, not a state dict", _HELP)
    return inner


def _named(sources: Sequence[Source], parts: int) -> str:
    if len(sources) == 1:
        (only,) = sources
        return "the state dict" if isinstance(only, Mapping) else Path(fspath(only)).name
    return f"{parts} sources"
