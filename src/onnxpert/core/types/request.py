"""What a user asks for, as it was given, and what was planned of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from onnxpert.core.types.findings import Location

# What torch leaves untyped (example inputs, outputs, pytrees), behind one name.
Tree: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, as it was asked."""

    model: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    opset_version: int | None = None
    dynamic_axes: Tree = None
    dynamic_shapes: Tree = None
    examples: tuple[tuple[tuple[Any, ...], Mapping[str, Any]], ...] = ()  # beside args and kwargs
    target: str = "ort-cpu"
    repair: str = "safe"  # off | safe | all
    verify: bool = True
    plugins: tuple[Any, ...] = ()  # lowerings of the user's, or what holds them
    custom_domains: Mapping[str, str] = field(default_factory=dict)  # "my" -> "com.example"
    kernel_library: tuple[str, ...] = ()  # of custom operators, for the proof to run with
    # Weights beside the file even when they would fit inside; bytes: the most that one file holds.
    external_data: bool | int = False
    weights: tuple[Any, ...] = ()  # ("later",), or the checkpoint that has them
    precision: str = ""  # float32 | float16 | bfloat16; "": the model's own
    randomness: str = "refuse"  # refuse | allow: results that mix computing and chance
    undetermined: str = "refuse"  # refuse | allow: signs and orders that torch leaves open
    state: str = "refuse"  # refuse | io: what forward changes becomes inputs and outputs
    repro: Path | None = None  # a folder for scripts that show what blocks
    runtime_version: str = ""  # release of ONNX Runtime that the file is for; "": the installed
    quantize: str = ""  # int8-dynamic | int8-static | int4-weight; "": as it is
    calibration: tuple[
        tuple[tuple[Any, ...], Mapping[str, Any]], ...
    ] = ()  # what int8-static measures
    quantize_exclude: tuple[str, ...] = ()  # modules that stay in float32
    quantize_bound: float | None = None  # the largest error of an output; None: the scheme's
    timeout: float | None = None  # seconds, for all of it
    max_memory: int | None = None  # bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The versions an export will be written for, before anything is captured."""

    opset: int
    ir_version: int
    asked: int | None  # the opset that was asked for, if any
    target: str
    lowest: int  # opset the target's lowerings reach down to
    highest: int  # opset the installed runtime takes
    source: Location | None = None  # where the model is written that it is for


@dataclass(frozen=True, slots=True)
class Misfit:
    """Installed packages that exclude each other, by their own metadata."""

    message: str
    cure: str  # a command
    needed: bool  # about what an export needs


class Stop(StrEnum):
    """Why a child process did not come to its end."""

    TIME = "time"
    MEMORY = "memory"
    KILLED = "killed"  # from outside: most often by a system that is out of memory
    CRASH = "crash"  # a segmentation fault, an abort


@dataclass(frozen=True, slots=True)
class Stopped:
    """A walk that was ended, or died, and where it was then."""

    why: Stop
    limit: str  # what it went beyond (`60 s`, `8 GiB`), or the signal it died of
    stage: str
    module: str  # path of the module that ran, "" outside of all
    location: Location | None
