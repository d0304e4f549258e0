"""The options of `export` and `diagnose`: one list, which both calls and the command line share."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Request
from onnxpert.engine.budget.limits import read_bytes, read_external_data, read_seconds
from onnxpert.engine.calibration import read_calibration
from onnxpert.engine.kinds import check_kinds, read_path

F = TypeVar("F", bound=Callable[..., Any])

_CHOICES = {
    "repair": ("off", "safe", "all"),
    "precision": ("", "float32", "float16", "bfloat16"),
    "randomness": ("refuse", "allow"),
    "undetermined": ("refuse", "allow"),
    "state": ("refuse", "io"),
}


class Options(TypedDict, total=False):
    """What a call may be told by name; those that torch.onnx.export has mean the same here.

    A new option is a line here and a field of `Request` with its default."""

    kwargs: Mapping[str, Any] | None
    input_names: Sequence[str] | None
    output_names: Sequence[str] | None
    opset_version: int | None
    dynamic_axes: Any
    dynamic_shapes: Any  # everything torch.export takes, or "auto"
    examples: Sequence[Any] | None  # further inputs: what differs is dynamic, and all are proven
    target: str
    repair: str  # "off", "safe" or "all"
    verify: bool
    external_data: bool | int | str  # weights beside the file; "1GB": in files no larger than that
    weights: Any  # "later": the file is filled afterwards; a checkpoint: the file points into it
    plugins: Any  # a lowering, a module, a path of a Python file, or several of these
    custom_domains: Mapping[str, str] | None  # namespace or operator -> the domain of its nodes
    kernel_library: Any  # path, or paths, of what runs the nodes of those domains
    precision: str  # "float32", "float16" or "bfloat16": what the file computes in
    randomness: str  # "refuse" or "allow": results that mix computing and chance
    undetermined: str  # "refuse" or "allow": signs and orders of equals that torch leaves open
    state: str  # "refuse", or "io": what forward changes becomes inputs and outputs
    repro: str | PathLike[str] | None  # folder for scripts that show what blocks with torch alone
    runtime_version: str  # "1.17": the file is for that release of ONNX Runtime
    quantize: (
        str  # "int8-dynamic", "int8-static" or "int4-weight": the proven file in whole numbers
    )
    calibration: Iterable[Any] | None  # inputs whose activations int8-static measures
    quantize_exclude: Sequence[str] | None  # modules, or operators, that stay in float32
    quantize_bound: float | None  # largest error of an output, as a share of its norm
    timeout: float | None  # seconds; with it, the walk is in a child process
    max_memory: int | str | None  # bytes, or such as "8G"; the same


def request(model: Any, args: Any, path: str | PathLike[str] | None, options: Options) -> Request:
    """What was asked, tidied: an option that is not given, or None, has its default."""
    _check(options)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given.keys() & {"input_names", "output_names"}:
        given[name] = several(given[name])
    for name, read in (
        ("timeout", read_seconds), ("max_memory", read_bytes), ("repro", Path),
        ("external_data", read_external_data), ("weights", several)
    ):  # fmt: skip
        if name in given:
            given[name] = read(given[name])  # type: ignore[arg-type]
    for name in given.keys() & {"plugins", "kernel_library", "quantize_exclude"}:  # one may be bare
        given[name] = several(given[name])
    given_args = positional(args)
    examples = [example(each) for each in options.get("examples") or ()]
    if examples and not given_args and not given.get("kwargs"):  # the first of them is the example
        given_args, given["kwargs"] = examples.pop(0)
    given["examples"] = tuple(examples)
    if "calibration" in given:
        given["calibration"] = read_calibration(given["calibration"], example)
    if given.get("weights") == ("later",):  # nothing to run, so nothing to prove
        given["verify"] = False
    return Request(
        model=model,
        args=given_args,
        path=None if path is None else read_path(path, "f"),
        **given,  # type: ignore[arg-type]
    )


def several(value: Any) -> tuple[Any, ...]:
    """What may be given as one or as many."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def example(given: Any) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """`args`, `(args, kwargs)` or `kwargs`: what a call may be given as an example of its inputs."""
    if isinstance(given, Mapping):
        return (), given
    pair = isinstance(given, (tuple, list)) and len(given) == 2
    if pair and isinstance(given[0], (tuple, list)) and isinstance(given[1], Mapping):
        return tuple(given[0]), given[1]
    return positional(given), {}


def positional(args: Any) -> tuple[Any, ...]:
    """The positional arguments; a single one may be given bare, as torch allows."""
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)


def _check(options: Options) -> None:
    for name in options:
        if name not in Options.__annotations__:
            near = difflib.get_close_matches(name, Options.__annotations__, 1)
            known = near[0] if near else ", ".join(Options.__annotations__)
            raise UsageError(
                f"there is no option {name!r}", f"{'did you mean' if near else 'one of'} {known}"
            )
    for name, levels in _CHOICES.items():
        value = options.get(name)
        if value is not None and value not in levels:
            one_of = ", ".join(repr(level) for level in levels)
            raise UsageError(f"{name}={value!r} is not a level of {name}", f"one of {one_of}")
    check_kinds(options)


def spelled_out(call: F) -> F:
    """Shows every option, with its default, where a signature is shown (`help`, a notebook)."""
    defaults = {field.name: field.default for field in fields(Request)}
    before = inspect.signature(call)
    kept = [each for each in before.parameters.values() if each.kind is not each.VAR_KEYWORD]
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            # An empty tuple or mapping stands for "not given", which people write as None.
            default=value if isinstance(value := defaults[name], (str, bool)) else None,
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in Options.__annotations__.items()
    ]
    positional_first = [each for each in kept if each.kind is not each.KEYWORD_ONLY]
    last = [each for each in kept if each.kind is each.KEYWORD_ONLY]
    call.__signature__ = before.replace(parameters=[*positional_first, *named, *last])  # type: ignore[attr-defined]
    return call
