"""ONNX Runtime on the CPU."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert.core.errors import UsageError
from onnxpert.targets.capabilities import Capabilities, Restriction
from onnxpert.targets.kernels import installed
from onnxpert.targets.target import Array, Run, target
from onnxpert.targets.turned_products import smaller_constant

if TYPE_CHECKING:
    import onnx_ir as ir
    import onnxruntime

DEFAULT_OPSET = 20

# numpy has no such types: ONNX Runtime takes their bits with the element type said beside them.
_ELEMENT_TYPES = {
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
    "float8_e8m0fnu": 24,
}
_NAMES = {number: name for name, number in _ELEMENT_TYPES.items()}


def _reduces(*ways: str) -> Callable[[ir.Node], bool]:
    def told(node: ir.Node) -> bool:
        how = node.attributes.get("reduction")
        return how is not None and how.as_string() in ways

    return told


def _is_batchwise(node: ir.Node) -> bool:
    layout = node.attributes.get("layout")
    return layout is not None and layout.as_int() != 0


RESTRICTIONS = (
    # Kernels that are in the table and raise when they run; tried in 1.17 to 1.31.
    *(
        Restriction(name, "with a reduction", _reduces(*ways), dtypes=frozenset(dtypes))
        for name in ("ScatterElements", "ScatterND")
        for ways, dtypes in (
            (("add", "mul"), ("float16", "bfloat16")),
            (("max", "min"), ("float16", "bfloat16", "bool")),
        )
    ),
    *(
        Restriction(name, "the layout with time first", _is_batchwise, "layout=0")
        for name in ("GRU", "LSTM", "RNN")
    ),
)
# WebAssembly reads what was freed there, and goes on.
CRASH = Restriction(
    "MatMul",
    "a constant of no fewer dimensions than what it multiplies, where that is transposed and cast: "
    "else it crashes while it loads the file",
    lambda node: smaller_constant(node) is not None,
    "give the constant leading dimensions of size 1",
)


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise UsageError(
            f"onnxruntime cannot be imported: {error}", "pip install onnxruntime"
        ) from error
    return onnxruntime


def session(
    model: str | bytes,
    libraries: tuple[str, ...] = (),
    providers: tuple[str, ...] = ("CPUExecutionProvider",),
) -> onnxruntime.InferenceSession:
    """The file, opened by the first of the providers that can."""
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # what it has to say comes as an exception, not on stderr
    threads = os.environ.get("OMP_NUM_THREADS", "")
    options.intra_op_num_threads = int(threads) if threads.isdecimal() and int(threads) else 1
    for library in libraries:
        _register(options, os.fspath(library))
    return runtime.InferenceSession(model, options, providers=list(providers))


def _register(options: Any, library: str) -> None:
    try:
        options.register_custom_ops_library(library)
    except Exception as error:  # as below
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"the kernel library {library} cannot be loaded: {reason}",
            "give the path of a shared library that exports RegisterCustomOps",
        ) from error


def _probe(opset: int, ir_version: int) -> bytes:
    """A model of one node."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "probe", [x], [y])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )
    return bytes(model.SerializeToString())


def _accepts(opset: int, ir_version: int) -> bool:
    try:
        session(_probe(opset, ir_version))
    except Exception:  # its exceptions share no base class but this one
        return False
    return True


def unusable(provider: str) -> str:
    """Why a provider that is built in cannot be used; "" where it can."""
    try:
        used = session(_probe(13, 8), (), (provider,)).get_providers()
    except Exception as error:  # as above
        return str(error).strip().partition("\n")[0]
    return "" if provider in used else f"the {provider} could not be started"


@cache
def limits() -> tuple[int, int] | None:
    """The highest opset and IR version of the installed runtime, asked of itself; None without."""
    try:
        _runtime()
    except UsageError:
        return None
    opset, ir_version = 13, 8  # taken by every version that runs on our Python floor
    while _accepts(opset + 1, 8):
        opset += 1
    while _accepts(13, ir_version + 1):
        ir_version += 1
    return opset, ir_version


@target(
    "ort-cpu",
    opsets=range(11, 27),
    default_opset=DEFAULT_OPSET,
    limits=limits,
    capabilities=Capabilities(
        source="the kernel table of the installed ONNX Runtime",
        domains=frozenset({"", "ai.onnx.ml", "com.microsoft"}),
        kernels=lambda older: installed("ort-cpu", older),
        widens=frozenset({"float16"}),
        inlines=True,
        restrictions=(*RESTRICTIONS, CRASH),
        layout="channels first",
    ),
)
def ort_cpu(path: Path, libraries: tuple[str, ...] = ()) -> Run:
    """ONNX Runtime on the CPU, with one thread unless OMP_NUM_THREADS says otherwise."""
    return runner(session(os.fspath(path), libraries))


def runner(opened: onnxruntime.InferenceSession) -> Run:
    """How a session is run, whatever the types of its inputs and outputs."""
    ends = [*opened.get_inputs(), *opened.get_outputs()]
    if any("float8" in end.type or "bfloat16" in end.type for end in ends):
        return lambda feeds: _run_by_bits(opened, feeds)
    return lambda feeds: list(opened.run(None, dict(feeds)))


def _run_by_bits(opened: onnxruntime.InferenceSession, feeds: Mapping[str, Array]) -> list[Array]:
    values = {name: _to_value(array) for name, array in feeds.items()}
    return [_to_array(value) for value in opened.run_with_ort_values(None, values)]


def _to_value(array: Array) -> Any:
    import numpy as np

    make = _runtime().OrtValue
    number = _ELEMENT_TYPES.get(str(array.dtype))
    if number is None:
        return make.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    # Of no dimensions, an array cannot be viewed as another type.
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")
    return make.ortvalue_from_numpy_with_onnx_type(bits.reshape(array.shape), number)


def _to_array(value: Any) -> Array:
    name = _NAMES.get(value.element_type())
    if name is None:
        return value.numpy()
    import ml_dtypes
    import numpy as np

    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return np.frombuffer(raw, getattr(ml_dtypes, name)).reshape(value.shape())
