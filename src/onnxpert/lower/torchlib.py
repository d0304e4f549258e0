"""onnxscript's torchlib as the second source of lowerings, written through our emitter.

The names of onnxscript used here and in `evaluator` are those of 0.7.2."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch._ops import OpOverload

from onnxpert.lower.complex_pairs import is_complex
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.evaluator import Evaluator, Operand

SINCE = 18  # torchlib is written for this opset

# What torchlib of onnxscript 0.7.2 gets wrong, each seen in ONNX Runtime beside torch; torch's own
# decomposition serves instead, or the operator is said to be missing.
_STATISTICS = "in training the running statistics and the saved ones are others than torch's"
_DIVISOR = "divisor_override is ignored"
DENIED: Mapping[str, str] = {
    "aten::_native_batch_norm_legit_functional": _STATISTICS,
    "aten::_upsample_bilinear2d_aa": "scale factors are ignored where they differ from the sizes' ratio",
    "aten::as_strided": "the elements of a transposed tensor are taken to lie in its own order",
    "aten::avg_pool2d": _DIVISOR,
    "aten::avg_pool3d": _DIVISOR,
    "aten::native_batch_norm": _STATISTICS,
    "aten::nonzero": "of a 0-d tensor it gives one index column, torch none",
    "aten::scaled_dot_product_attention": "a row that is masked out as a whole gives other values than torch's zeros",
    "aten::scatter_reduce.two": "the mean counts the elements that were there as none",
    "aten::special_erfcx": "exp and erfc overflow one by one",
    "aten::stft": "a signal without a batch axis comes out with the wrong one",
    "aten::topk": "sorted=False is passed on, and the order is then the runtime's own",
}


def call(op: Emitter, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of torchlib's function for an overload; NotImplemented when it has none.

    Raises Refusal, with one line of reason, for whatever goes wrong inside."""
    function = find(target) if isinstance(target, OpOverload) else None
    if function is None:
        return NotImplemented
    if op.opset < SINCE:
        raise Refusal(f"torchlib's lowering needs opset {SINCE}", SINCE)
    if target.namespace == "quantized_decomposed" and _narrow(target, args):
        raise Refusal("ONNX quantises to the whole range of a dtype, not to a part of it")
    try:
        return _called(op, function, args, kwargs)
    except Refusal:
        raise
    except Exception as error:  # a library's assertion, a type it did not expect: all are reasons
        text = (str(error).strip().splitlines() or [""])[0]
        raise Refusal(f"torchlib's lowering failed ({type(error).__name__}: {text})") from error


@functools.cache
def find(target: OpOverload) -> Any | None:
    """torchlib's function for real tensors, or None when it has none that can be trusted."""
    name: str = target.name()  # type: ignore[no-untyped-call]
    if name in DENIED:
        return None
    known = _registry().get(name)
    return known.overloads[0] if known is not None and known.overloads else None


@functools.cache
def _registry() -> dict[str, Any]:
    # Not `get_torchlib_ops`, which parses the source of every function: half a second.
    from onnxscript.function_libs.torch_lib import ops, registration

    del ops  # importing it is what fills the registry
    return dict(registration.default_registry.items())


def _narrow(target: OpOverload, args: Sequence[Any]) -> bool:
    """Whether a quantisation keeps to a part of its dtype: torchlib does not look."""
    given = {a.name: value for a, value in zip(target._schema.arguments, args, strict=False)}
    if "::quantize" not in target._schema.name or "dtype" not in given:
        return False
    limits = torch.iinfo(given["dtype"])
    return (given["quant_min"], given["quant_max"]) != (limits.min, limits.max)


def _called(op: Emitter, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    from onnxscript import evaluator

    if _is_complex((tuple(args), tuple(kwargs.values()), op.out)):
        raise Refusal("ONNX has no complex numbers")
    ours = Evaluator(op)
    given = [ours.wrap(_argument(value)) for value in args]
    named = {key: ours.wrap(_argument(value)) for key, value in kwargs.items()}
    if named.get("dtype", 0) is None:
        named["dtype"] = -1  # as torchlib spells "as it comes"
    out = op.out
    given, named = _promoted(ours, function, given, named, out)
    with evaluator.default_as(ours):
        result = ours.unwrap(ours.eval_function(function, given, named))
    return _checked(op, result, out)


def _argument(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        if value not in TO_ONNX:
            raise Refusal(f"ONNX has no {value}")
        return int(TO_ONNX[value])
    return [_argument(item) for item in value] if isinstance(value, (list, tuple)) else value


def _is_complex(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_complex, value))
    if isinstance(value, ir.Value):
        return is_complex(value)
    if isinstance(value, torch.dtype):
        return value.is_complex
    return isinstance(value, complex) or (isinstance(value, torch.Tensor) and value.is_complex())


# ---- dtypes: torchlib expects arguments that were promoted before --------------------------------


def _promoted(
    ours: Evaluator, function: Any, given: list[Any], named: dict[str, Any], out: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of one type variable in one dtype, which is one that the function takes."""
    formal = [p for p in function.op_signature.params if p.is_param()]
    names = [p.name for p in function.op_signature.params]
    everything = {**dict(zip(names, given, strict=False)), **named}
    groups: dict[str, list[Any]] = {}
    for parameter in formal:
        value = everything.get(parameter.name)
        if isinstance(value, (Operand, bool, int, float)):
            groups.setdefault(parameter.type_constraint.name, []).append(parameter)
    for parameters in groups.values():
        values = [everything[parameter.name] for parameter in parameters]
        operands = [value for value in values if isinstance(value, Operand)]
        if not operands:
            continue
        dtype = ours.op.result_type(*(v.value if isinstance(v, Operand) else v for v in values))
        dtype = _allowed(parameters[0], dtype, out)
        for parameter, value in zip(parameters, values, strict=True):
            if isinstance(value, Operand):
                everything[parameter.name] = ours.wrap(ours.op.cast(value.value, dtype))
    return (
        [everything[name] for name in names[: len(given)]] + given[len(names) :],
        {name: everything[name] for name in named},
    )


def _allowed(parameter: Any, dtype: torch.dtype, out: Any) -> torch.dtype:
    allowed = {
        kind.dtype for kind in parameter.type_constraint.allowed_types if hasattr(kind, "dtype")
    }
    if TO_ONNX.get(dtype) in allowed:
        return dtype
    # An integer where a float is wanted: torch computes in the dtype of the result.
    wanted = out.dtype if isinstance(out, torch.Tensor) else None
    if wanted is not None and wanted.is_floating_point and TO_ONNX.get(wanted) in allowed:
        return wanted
    raise Refusal(f"torchlib's lowering does not take {str(dtype).removeprefix('torch.')}")


def _checked(op: Emitter, result: Any, out: Any) -> Any:
    """The result, if it is of the kind that torch says it is."""
    if isinstance(out, (list, tuple)):
        if not isinstance(result, tuple) or len(result) != len(out):
            raise Refusal("torchlib's lowering gives a sequence")
        return result
    if isinstance(out, torch.Tensor) and not isinstance(result, ir.Value):
        if isinstance(result, tuple):
            raise Refusal("torchlib's lowering gives several results")
        return op.const(result, out.dtype)
    if isinstance(out, torch.Tensor) and len(result.meta.get("shape", out.shape)) != out.dim():
        raise Refusal(f"torchlib's lowering gives a result of rank {len(result.meta['shape'])}")
    return result
