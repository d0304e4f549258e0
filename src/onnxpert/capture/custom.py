"""Operators and functions of the user's own: followed into their bodies, or written down whole.

An operator is followed where its kernel is Python. What the body does beyond torch (NumPy, a compiled
kernel) leaves nothing to follow: then the call stays whole, and why is kept beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import fx
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.faking.learning import UnlearnableError, learned
from onnxpert.capture.unwritten import tensors
from onnxpert.core.bodies import FunctionCall, is_mutable, python_body, qualified
from onnxpert.core.source import of_exception
from onnxpert.core.storages import storage
from onnxpert.core.types import OpaqueBody, Placeholder

if TYPE_CHECKING:
    from onnxpert.capture.recorder import Recorder

aten = torch.ops.aten
Mark: TypeAlias = tuple[int, int, int]  # a point in a recording
# They read the shape of what they are given, and nothing else of it.
_SHAPE_ONLY = frozenset(
    {
        aten.empty_like,
        aten.zeros_like,
        aten.ones_like,
        aten.full_like,
        aten.new_empty,
        aten.new_zeros,
        aten.new_ones,
        aten.new_full,
        aten.rand_like,
        aten.randn_like,
    }
)


class MissingFakeError(RuntimeError):
    """An operator whose body cannot be followed, and that says nothing of its result's shape."""

    def __init__(self, op: str) -> None:
        super().__init__(f"{op} does not say what shape its result has")
        self.op = op


class Custom:
    """What a recorder does with calls of the user's making."""

    def __init__(self, recorder: Recorder, whole: frozenset[Any]) -> None:
        self._recorder = recorder
        self._whole = whole  # operators by name or namespace, functions by class
        self._values: dict[fx.Node, Any] = {}  # of the example, once somebody asked
        self.placeholders: list[Placeholder] = []
        self.running: list[Any] = []  # functions with a `symbolic`, the innermost last
        self.followed = 0  # how many bodies of operators are running, each in the one before

    # ---- operators -------------------------------------------------------------------------

    def operator(self, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        name = qualified(target)
        whole = bool(self._whole & {name, name.partition("::")[0]})
        body = python_body(target)
        opaque: OpaqueBody | None = None
        if not whole and body is None:
            opaque = OpaqueBody("it has no body in Python", None)
        elif not whole:
            mark = self._recorder.mark()
            self.followed += 1
            try:
                with self._recorder:
                    return body(*args, **kwargs)  # type: ignore[misc]
            except Exception as error:  # whatever it is: this body is not one to follow
                self._recorder.take_back(mark)
                opaque = _opaque(error)
            finally:
                self.followed -= 1
        out = self._described(target, body if whole else None, args, kwargs)
        if self._recorder.worth_recording(target, out):
            node = self._recorder.write(target, args, kwargs, out)
            node.meta["opaque"] = opaque
        return out

    def _described(
        self, target: Any, body: Callable[..., Any] | None, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """What the result looks like: by the operator's own word, by its body, or by running it."""
        with suppress(Exception):
            return target(*args, **kwargs)
        mark = self._recorder.mark()
        try:
            if body is not None:
                with suppress(Exception), self._recorder:
                    return body(*args, **kwargs)
        finally:
            self._recorder.take_back(mark)
        return self._learned(
            qualified(target), lambda given, named: target(*given, **named), args, kwargs
        )

    def _learned(self, name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The call on the example's real values; its result is only looked at."""
        given = (tuple(args), dict(kwargs))
        try:
            real = self._example(given)
            return learned(lambda one: call(*one), given, real, self._recorder.fake_mode)
        except UnlearnableError:
            raise MissingFakeError(name) from None
        except Exception as error:
            if _has_symbols(given):  # perhaps it only refuses the size that was tried
                raise MissingFakeError(name) from error
            raise

    # ---- functions -------------------------------------------------------------------------

    @contextmanager
    def functions(self) -> Iterator[None]:
        """While on, every `autograd.Function` of the user's is seen where its forward is called."""
        kinds = [
            kind
            for kind in dict.fromkeys(_subclasses(torch.autograd.Function))
            if not kind.__module__.startswith("torch.")
        ]
        # One that inherits its forward may still have a `symbolic` of its own.
        plain = {kind: (kind.forward, kind.__dict__.get("forward")) for kind in kinds}
        for kind, (forward, _) in plain.items():
            kind.forward = staticmethod(self._seen(kind, forward))
        try:
            yield
        finally:
            for kind, (_, own) in plain.items():
                if own is None:
                    del kind.forward
                else:
                    kind.forward = own

    def _seen(self, kind: Any, forward: Callable[..., Any]) -> Callable[..., Any]:
        has_context = kind.setup_context is torch.autograd.Function.setup_context

        def seen(*given: Any) -> Any:
            mark = self._recorder.mark()
            args = given[1:] if has_context else given
            opaque: OpaqueBody | None = None
            try:
                with self._run(kind):
                    out = forward(*given)
                if kind not in self._whole:
                    self._look_for_placeholder(kind, mark, args, out)
                    return out
                self._recorder.take_back(mark)
            except Exception as error:
                if kind not in self._whole and not hasattr(kind, "symbolic"):
                    raise
                self._recorder.take_back(mark)
                opaque = _opaque(error)
                context = [_Context(len(args))] if has_context else []
                out = self._learned(
                    kind.__name__, lambda real, _: forward(*context, *real), args, {}
                )
            node = self._recorder.write(FunctionCall(kind), args, {}, out)
            node.meta["opaque"] = opaque
            return out

        return seen

    @contextmanager
    def _run(self, kind: Any) -> Iterator[None]:
        if not hasattr(kind, "symbolic"):
            yield
            return
        self.running.append(kind)
        try:
            yield
        finally:
            self.running.pop()

    def _look_for_placeholder(self, kind: Any, mark: Mark, args: Any, out: Any) -> None:
        """A forward that only makes a tensor of the right shape: the rest is in its `symbolic`."""
        given = tensors(args)
        if not hasattr(kind, "symbolic") or not given:
            return
        reached = {storage(value) for value in given}
        for node in self._recorder.since(mark):
            if getattr(node.target, "overloadpacket", None) in _SHAPE_ONLY:
                continue
            touched = [storage(v) for n in node.all_input_nodes for v in tensors(n.meta["val"])]
            if reached.intersection(touched):
                reached.update(map(storage, tensors(node.meta["val"])))
                if is_mutable(node.target):
                    reached.update(touched)
        if not any(storage(value) in reached for value in tensors(out)):
            place = self._recorder.place()
            self.placeholders.append(Placeholder(kind.__name__, place))

    # ---- the example -----------------------------------------------------------------------

    def _example(self, value: Any) -> Any:
        """The same with the example's values in place of what stands for them."""
        with _disable_current_modes(), torch.no_grad():
            for node in self._recorder.graph.nodes:
                if node not in self._values:
                    self._values[node] = self._computed(node)
        return torch.utils._pytree.tree_map(self._real, value)

    def _computed(self, node: fx.Node) -> Any:
        if node.op == "placeholder":
            example = self._recorder.examples[node]
            return example.detach().clone() if isinstance(example, torch.Tensor) else example
        args, kwargs = fx.map_arg((node.args, node.kwargs), self._values.__getitem__)
        args, kwargs = torch.utils._pytree.tree_map(_number, (args, kwargs))
        return node.target(*args, **kwargs)  # type: ignore[operator]

    def _real(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            reference = self._recorder.reference(value)
            return self._values[reference] if isinstance(reference, fx.Node) else value
        return _number(value)


class _Context:
    """What a forward may say to its context when nobody will ask for a gradient."""

    def __init__(self, arguments: int) -> None:
        self.needs_input_grad = (False,) * arguments

    def save_for_backward(self, *tensors: Any) -> None:
        """Nothing is kept: there is no backward."""

    save_for_forward = mark_dirty = mark_non_differentiable = save_for_backward

    def set_materialize_grads(self, value: bool) -> None:
        """There are no gradients."""


def _opaque(error: BaseException) -> OpaqueBody:
    text = str(error).strip().partition("\n")[0].rstrip(".")
    if ".numpy()" in text:  # torch speaks of tensor subclasses, which are ours
        return OpaqueBody("its body goes on in NumPy", of_exception(error))
    if "data pointer" in text:
        return OpaqueBody("its body works on raw memory", of_exception(error))
    if "data-dependent" in text or "truth value" in text:
        return OpaqueBody("its body asks for the value of a tensor", of_exception(error))
    return OpaqueBody(f"{type(error).__name__}: {text}", of_exception(error))


def _subclasses(kind: type[Any]) -> Iterator[Any]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def _has_symbols(value: Any) -> bool:
    return any(
        isinstance(leaf, torch.SymInt)
        or (isinstance(leaf, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in leaf.shape))
        for leaf in torch.utils._pytree.tree_leaves(value)
    )


def _number(value: Any) -> Any:
    return value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat)) else value
