"""The inputs of a model written in text: `x=float32[batch=2,3,h=224,w=224]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from onnxpert.core.errors import UsageError

EXAMPLE = 'write for example "x=float32[batch=2,3,h=224,w=224]" or "ids=int64[b=2,s=16]:0..1000"'
SHORT = {
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
NAME = re.compile(r"[^\W\d]\w*")
WORD = re.compile(r"[A-Za-z_]\w*")
WHOLE = re.compile(r"\d+")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError(text)
    return text.lower() in ("true", "1")


SCALARS: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": _truth,
    "str": str,
}


@dataclass(frozen=True, slots=True, eq=False)
class ExampleInputs:
    """Values for a call, and names for the axes that vary: by parameter, or by position."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic: Mapping[str | int, Mapping[int, str]]


def parse(specs: Sequence[str], seed: int = 0) -> ExampleInputs:
    """Values for the specs, the same in every run; raises UsageError for one that cannot be read."""
    generator = torch.Generator().manual_seed(seed)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    dynamic: dict[str | int, Mapping[int, str]] = {}
    for text in specs:
        name, value, dims = _Reader(text, generator).read()
        if name in kwargs:
            raise UsageError(f"the input `{name}` is given twice: {text}", "give each input once")
        if name is None and kwargs:
            raise UsageError(f"an input without a name comes after one with: {text}", EXAMPLE)
        if dims:
            dynamic[len(args) if name is None else name] = dims
        if name is None:
            args.append(value)
        else:
            kwargs[name] = value
    return ExampleInputs(tuple(args), kwargs, dynamic)


class _Reader:
    """Reads one spec from left to right, and knows where it stands when it cannot go on."""

    def __init__(self, text: str, generator: torch.Generator) -> None:
        self.text = text
        self.at = 0
        self.generator = generator

    def read(self) -> tuple[str | None, Any, dict[int, str]]:
        name = self._name()
        start = self.at
        word = self._take(WORD, "a dtype such as float32")
        dims: dict[int, str] = {}
        if word.lower() == "none":
            value = None
        elif self._skip("["):
            value, dims = self._tensor(self._dtype(word, start))
        else:
            value = self._scalar(word, start)
        if self.at < len(self.text):
            self._fail("the spec should end here")
        return name, value, dims

    def _name(self) -> str | None:
        match = NAME.match(self.text)
        if match is None or not self.text.startswith("=", match.end()):
            return None
        self.at = match.end() + 1
        return match.group()

    def _dtype(self, word: str, start: int) -> torch.dtype:
        dtype = SHORT.get(word) or getattr(torch, word, None)
        if not isinstance(dtype, torch.dtype):
            self.at = start
            self._fail(f"`{word}` is not a dtype")
        return dtype

    def _tensor(self, dtype: torch.dtype) -> tuple[torch.Tensor, dict[int, str]]:
        start = self.at
        shape: list[int] = []
        dims: dict[int, str] = {}
        if not self._skip("]"):
            while True:
                self._blank()
                if name := NAME.match(self.text, self.at):
                    dims[len(shape)] = name.group()
                    self.at = name.end()
                    self._need("=", "`=` and a size")
                shape.append(int(self._take(WHOLE, "a size")))
                if self._skip("]"):
                    break
                self._need(",", "`,` or `]`")
        make = self._ranged if self._skip(":") else self._default
        try:
            return make(dtype, shape), dims
        except RuntimeError:  # torch's, of a size that it cannot hold, or even count
            count = " x ".join(map(str, shape))
            self._fail_at(start, f"there is not enough memory for {count} numbers")

    def _ranged(self, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
        start = self.at
        low = self._take(NUMBER, "the least value")
        self._need("..", "`..` and the end of the range")
        high = self._take(NUMBER, "the end of the range")
        whole = not (dtype.is_floating_point or dtype.is_complex)
        if dtype is torch.bool or dtype.is_complex:
            self._fail_at(start, f"{_said(dtype)} takes no range")
        if float(high) <= float(low):
            self._fail_at(start, "the range is empty: its end is not included")
        if not whole:
            unit = torch.rand(shape, generator=self.generator, dtype=torch.float64)
            return (unit * (float(high) - float(low)) + float(low)).to(dtype)
        if not _is_whole(low) or not _is_whole(high):
            self._fail_at(start, f"a range of {_said(dtype)} has whole numbers")
        return torch.randint(int(low), int(high), shape, generator=self.generator).to(dtype)

    def _default(self, dtype: torch.dtype, shape: list[int]) -> torch.Tensor:
        if dtype is torch.bool:
            return torch.randint(0, 2, shape, generator=self.generator).to(dtype)
        if dtype.is_complex:
            return torch.randn(shape, generator=self.generator, dtype=torch.complex64).to(dtype)
        if dtype.is_floating_point:
            return torch.randn(shape, generator=self.generator).to(dtype)
        return torch.randint(0, 10, shape, generator=self.generator).to(dtype)

    def _scalar(self, word: str, start: int) -> Any:
        if word not in SCALARS:
            if isinstance(SHORT.get(word) or getattr(torch, word, None), torch.dtype):
                self._fail(f"a shape is missing: {word}[2,3], or {word}[] for a scalar tensor")
            self._fail_at(start, f"`{word}` is neither a dtype nor int, float, bool, str or none")
        self._need(":", f"`:` and a value, or a shape such as {word}[2,3]")
        value = self.text[self.at :]
        start, self.at = self.at, len(self.text)
        try:
            return SCALARS[word](value)
        except ValueError:
            self._fail_at(start, f"`{value}` is not {'an' if word == 'int' else 'a'} {word}")

    def _blank(self) -> None:
        while self.text.startswith(" ", self.at):
            self.at += 1

    def _skip(self, mark: str) -> bool:
        self._blank()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def _need(self, mark: str, what: str) -> None:
        if not self._skip(mark):
            self._fail(f"expected {what}")

    def _take(self, pattern: re.Pattern[str], what: str) -> str:
        self._blank()
        match = pattern.match(self.text, self.at)
        if match is None:
            self._fail(f"expected {what}")
        self.at = match.end()
        return match.group()

    def _fail_at(self, place: int, what: str) -> NoReturn:
        self.at = place
        self._fail(what)

    def _fail(self, what: str) -> NoReturn:
        shown = f"  {self.text}\n  {' ' * self.at}^"
        raise UsageError(f"this input spec cannot be read: {what}\n{shown}", EXAMPLE)


def _said(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _is_whole(text: str) -> bool:
    return float(text).is_integer()
