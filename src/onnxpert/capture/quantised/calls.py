"""Calls on quantised tensors while a model is recorded, said in floats that are rounded to a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.quantised.box import Affine, Boxed, Channels, UnreadQuantisedError, boxed
from onnxpert.capture.quantised.kept import KEPT, MOVED, OWN_SCALE, ROUNDED
from onnxpert.capture.quantised.kernels import KERNELS
from onnxpert.capture.quantised.recurrent import RECURRENT
from onnxpert.capture.quantised.training import TRAINING
from onnxpert.capture.quantised.weights import Weights, really
from onnxpert.core.ranges import RANGE_OF, STEPS_OF
from onnxpert.core.types import InputKind

if TYPE_CHECKING:
    from onnxpert.capture.recorder import Recorder

aten = torch.ops.aten
# They are met without a quantised tensor among their arguments.
_OF_FLOATS = frozenset(
    {
        *RECURRENT,
        *TRAINING,
        aten.quantize_per_tensor.default,
        aten.quantize_per_tensor.tensor_qparams,
        aten.quantize_per_tensor_dynamic.default,
        aten.quantize_per_channel.default,
        aten.quantized_lstm.data,
        aten.quantized_gru.data,
    }
)


class Quantisation:
    """What a recorder does with quantised tensors and with the operators on them."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._read: dict[Any, Any] = {}  # what was unpacked, by what it was packed in
        self._met = False  # a quantised tensor, so far

    def takes(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
        if func.namespace == "quantized" or func in _OF_FLOATS:
            return True
        return self._met and any(
            isinstance(leaf, Boxed) for leaf in _leaves((args, tuple(kwargs.values())))
        )

    def call(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        with self.recorder:
            return self._called(func, args, kwargs)

    def _called(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if func.namespace == "quantized" and str(func).endswith(("_unpack.default", "_unpack")):
            real = really(func, *args, **kwargs)
            return (
                tuple(map(self.constant, real)) if isinstance(real, tuple) else self.constant(real)
            )
        kernel = KERNELS.get(func)
        if kernel is not None:
            return kernel(self, *args, **kwargs)
        packet = func.overloadpacket
        if packet in KEPT or packet in MOVED or packet in ROUNDED or packet in OWN_SCALE:
            return self._same_or_rounded(func, args, kwargs)
        raise UnreadQuantisedError(str(func).removesuffix(".default"))

    def lifted(self, real: torch.Tensor) -> Boxed:
        """The stand-in of a quantised tensor that the model holds."""
        with self.recorder:
            return self.constant(real)  # type: ignore[no-any-return]

    # ---- what kernels are written with -----------------------------------------------------

    def rounded(
        self, value: torch.Tensor, scale: float, zero_point: int, dtype: torch.dtype
    ) -> Boxed:
        """A float result as the quantised tensor that torch's kernel makes of it."""
        affine = Affine(float(scale), int(zero_point), dtype)
        decomposed = _decomposed()
        integers = decomposed.quantize_per_tensor(value, *affine.arguments())
        plain = decomposed.dequantize_per_tensor(integers, *affine.arguments())
        return self._box(plain, affine, integers)

    def rounded_by_channel(self, value: torch.Tensor, channels: Channels) -> Boxed:
        """The same with a scale for each slice along an axis."""
        decomposed = _decomposed()
        integers = decomposed.quantize_per_channel(value, *channels.arguments())
        plain = decomposed.dequantize_per_channel(integers, *channels.arguments())
        return self._box(plain, channels, integers)

    def in_range(self, x: torch.Tensor, reduce_range: bool) -> torch.Tensor:
        """A float rounded to the 8 bits that its own smallest and largest value call for."""
        return self.to_range(x, self.range_of(x, reduce_range))

    def range_of(self, x: torch.Tensor, reduce_range: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """The scale and zero point of those bits."""
        with _disable_current_modes(), self.recorder.fake_mode:
            found = (x.new_empty(()), x.new_empty((), dtype=torch.uint8))
        self.recorder.write(RANGE_OF, (x, self._reduced(reduce_range)), {}, found)
        return found

    def to_range(self, x: torch.Tensor, found: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """A float rounded to a range that was read off the data."""
        decomposed = _decomposed()
        integers = decomposed.quantize_per_tensor.tensor(x, *found, 0, 255, torch.uint8)
        plain: torch.Tensor = decomposed.dequantize_per_tensor.tensor(
            integers, *found, 0, 255, torch.uint8
        )
        return plain

    def _reduced(self, wish: bool) -> bool:
        # qnnpack reads this wish and does not follow it.
        return wish and torch.backends.quantized.engine != "qnnpack"

    def weights(self, read: Any, packed: Any, *rest: Any) -> Any:
        """What was packed; read once, so that a layer which is called twice has one weight."""
        key = (read, str(type(packed)), hash(packed))
        if key not in self._read:
            self._read[key] = packed, read(packed, *rest)
        return self._read[key][1]

    def steps(
        self,
        kind: str,
        gates: torch.Tensor,
        states: Sequence[torch.Tensor],
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        reduce_range: bool,
        reverse: bool,
    ) -> tuple[torch.Tensor, ...]:
        """The output of all steps of a recurrence, and the states after the last."""
        with _disable_current_modes(), self.recorder.fake_mode:
            size = (gates.shape[0], *states[0].shape)
            found = (states[0].new_empty(size), *(torch.empty_like(state) for state in states))
        # Constants that no call has met yet become inputs of the graph by one that does.
        bias = None if bias is None else aten.alias.default(bias)
        given = (kind, gates, list(states), weight, bias, self._reduced(reduce_range), reverse)
        self.recorder.write(STEPS_OF, given, {}, found)
        return found

    def floats(
        self, weights: Weights, prefix: str = ""
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Weight and bias as they enter a float operator."""
        return self.plain(self.constant(weights.weight, f"{prefix}weight")), (
            None if weights.bias is None else self.constant(weights.bias, f"{prefix}bias")
        )

    def called(self, real: torch.Tensor, name: str) -> torch.Tensor:
        """A tensor of the running module's, under a name of its own."""
        self._name(real, name)
        return real

    def number(self, value: Any) -> Any:
        """A scale that may come as a tensor of the model's."""
        return value.item() if isinstance(value, torch.Tensor) else value

    def plain(self, value: Any) -> Any:
        return value.plain if isinstance(value, Boxed) else value

    def constant(self, real: Any, called: str = "") -> Any:
        """The stand-in of a tensor that the model holds, quantised or not."""
        if not isinstance(real, torch.Tensor):
            return real
        if not real.is_quantized:
            self._name(real, called)
            return real
        key = ("constant", id(real))
        if key not in self._read:
            self._read[key] = real, self._constant(real, called)
        return self._read[key][1]

    def _constant(self, real: torch.Tensor, called: str) -> Boxed:
        decomposed = _decomposed()
        integers = really(real.int_repr)
        self._name(integers, called)
        scheme = really(real.qscheme)
        if scheme in {torch.per_tensor_affine, torch.per_tensor_symmetric}:
            affine = Affine(really(real.q_scale), really(real.q_zero_point), real.dtype)
            plain = decomposed.dequantize_per_tensor(integers, *affine.arguments())
            return self._box(plain, affine, integers)
        if scheme not in {torch.per_channel_affine, torch.per_channel_symmetric}:
            raise UnreadQuantisedError(str(scheme).removeprefix("torch."))
        axis = really(real.q_per_channel_axis)
        scales = really(lambda: real.q_per_channel_scales().float())
        zero_points = really(lambda: real.q_per_channel_zero_points().long())
        self._name(scales, f"{called}_scales" if called else "")
        self._name(zero_points, f"{called}_zero_points" if called else "")
        channels = Channels(scales, zero_points, axis, real.dtype)
        plain = decomposed.dequantize_per_channel(integers, *channels.arguments())
        return self._box(plain, channels, integers)

    def _name(self, real: torch.Tensor, called: str) -> None:
        """Weights that torch has packed are in the file under their module's name."""
        if called and id(real) not in self.recorder._names:
            module = self.recorder.modules[-1]
            kind = InputKind.PARAMETER if called.endswith(("weight", "bias")) else InputKind.BUFFER
            self.recorder._names[id(real)] = kind, f"{module}.{called}" if module else called

    # ---- torch's own operators on quantised tensors ----------------------------------------

    def _same_or_rounded(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        packet = func.overloadpacket
        first = next(
            leaf for leaf in _leaves((args, tuple(kwargs.values()))) if isinstance(leaf, Boxed)
        )
        if packet is aten.cat:  # the others come to the scale of the first
            args = (tuple(self._like(first, part) for part in args[0]), *args[1:])
        into = args[0] if func._schema.is_mutable and isinstance(args[0], Boxed) else None
        if func._schema.is_mutable:
            func = _new_one(func)
        args, kwargs = _unboxed(args), {key: _unboxed(value) for key, value in kwargs.items()}
        out = func(*args, **kwargs)
        if packet in KEPT:  # gives no quantised tensor
            return out
        result = self._reboxed(packet, out, first.affine)
        if into is None:
            return result
        into.plain, into.affine, into.integers = result.plain, result.affine, result.integers
        self.recorder._remember(into, self.recorder._nodes[id(result.plain)])
        return into

    def _like(self, first: Boxed, part: Boxed) -> Boxed:
        if part.affine == first.affine or not isinstance(first.affine, Affine):
            return part
        own = first.affine
        return self.rounded(part.plain, own.scale, own.zero_point, own.dtype)

    def _reboxed(self, packet: Any, out: Any, affine: Affine | Channels) -> Any:
        if isinstance(out, (list, tuple)):
            return type(out)(self._reboxed(packet, part, affine) for part in out)
        if not isinstance(out, torch.Tensor) or not out.is_floating_point():
            return out
        if packet in MOVED:
            return self._box(out, affine)
        if not isinstance(affine, Affine):
            raise UnreadQuantisedError(f"{packet} on scales per channel")
        if packet in OWN_SCALE:
            affine = OWN_SCALE[packet](affine)
        return self.rounded(out, affine.scale, affine.zero_point, affine.dtype)

    def box(self, plain: torch.Tensor, affine: Affine) -> Boxed:
        """A value that is a multiple of its scale already."""
        return self._box(plain, affine)

    def _box(
        self, plain: torch.Tensor, affine: Affine | Channels, integers: torch.Tensor | None = None
    ) -> Boxed:
        with _disable_current_modes(), self.recorder.fake_mode:
            box = boxed(plain, affine, integers)
        self.recorder._remember(box, self.recorder._nodes[id(plain)])
        self._met = True
        return box


def _decomposed() -> Any:
    """The operators on plain integers; importing them is what registers them."""
    import torch.ao.quantization.fx._decomposed as registered

    del registered
    return torch.ops.quantized_decomposed


def _new_one(func: Any) -> Any:
    """`relu` of `relu_`."""
    name = func._schema.name.split("::")[1].removesuffix("_")
    packet = getattr(aten, name)
    overload = func._schema.overload_name or "default"
    return getattr(packet, overload)


def _unboxed(value: Any) -> Any:
    if isinstance(value, Boxed):
        return value.plain
    if isinstance(value, (list, tuple)):
        return type(value)(_unboxed(item) for item in value)
    return value


def _leaves(value: Any) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
