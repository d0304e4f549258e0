"""Names that a number of the data's is part of: `heads[str(k)]`, `getattr(self, f"scale_{k}")`.

The text of such a number is that of its symbol. Whoever looks something up by it means one of the names
that are there, the one with the right number in that place."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from onnxpert.capture.written.choices import Choose, Options, chosen_of
from onnxpert.capture.written.exits import UnwritableError

_BY_NAME = (dict, torch.nn.ModuleDict, torch.nn.ParameterDict)
Worded = Mapping[str, Any]  # a text -> the number that it is of


def is_worded(held: Any, name: Any, worded: Worded) -> bool:
    """Whether `held[name]` asks for a name that only a run of the file knows."""
    if not isinstance(name, str) or not isinstance(held, _BY_NAME) or name in held:
        return False
    return any(text in name for text in worded)


def entry(held: Any, name: str, worded: Worded, choose: Choose) -> Any:
    """`held[name]`, which `is_worded`."""
    return chosen_of(list(_options(name, list(held.items()), worded)), choose)


def attribute(module: Any, name: str, worded: Worded, choose: Choose) -> Any:
    """`getattr(module, name)` of a name with such a number in it."""
    known = {**vars(type(module)), **vars(module)}
    for kind in ("_parameters", "_buffers", "_modules"):
        known |= vars(module).get(kind, {})
    items = [(key, getattr(module, key)) for key in known]
    return chosen_of(list(_options(name, items, worded)), choose)


def _options(name: str, items: Iterable[tuple[Any, Any]], worded: Worded) -> Iterator[Any]:
    texts = sorted((text for text in worded if text in name), key=len, reverse=True)
    parts = re.split("(" + "|".join(map(re.escape, texts)) + ")", name)
    numbers = [worded[part] for part in parts if part in worded]
    if not all(isinstance(number, torch.SymInt) for number in numbers):
        raise UnwritableError("a name is made of a number that is not whole")
    likeness = re.compile("".join(r"(-?\d+)" if p in worded else re.escape(p) for p in parts))
    options: Options = [
        (functools.partial(_is_each, numbers, [int(group) for group in match.groups()]), one)
        for key, one in items
        if isinstance(key, str) and (match := likeness.fullmatch(key))
    ]
    if not options:
        raise UnwritableError("nothing has a name like that")
    yield from options


def _is_each(numbers: Sequence[Any], values: Sequence[int]) -> torch.Tensor:
    tests = [torch.scalar_tensor(n) == v for n, v in zip(numbers, values, strict=True)]
    return functools.reduce(torch.logical_and, tests)


def formatted(text: str, values: Any) -> str:
    """`text % values`: a number that is not there goes by its symbol's text."""
    many = values if isinstance(values, tuple) else (values,)
    if not any(isinstance(one, torch.SymInt) for one in many):
        return str(text % values)
    parts = re.split(r"(%(?:%|[-#0 +]*\d*[a-zA-Z]))", text)
    left = iter(many)
    for place, part in enumerate(parts):
        if not part.startswith("%") or part == "%%":
            continue
        if isinstance(next(left, None), torch.SymInt):
            if part not in ("%d", "%i", "%s"):
                raise UnwritableError(f"a number that is not there is written as `{part}`")
            parts[place] = "%s"
    return str("".join(parts) % values)


def is_about_text(error: BaseException) -> bool:
    """Whether something was looked up by the text of a number that is not there."""
    return isinstance(error, (KeyError, AttributeError)) and bool(re.search(r"u\d+", str(error)))
