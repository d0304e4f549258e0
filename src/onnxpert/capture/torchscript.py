"""TorchScript read node by node in Python, so that what it calls can be recorded with open sizes.

torch's own interpreter asks every size for its number, which freezes it. The names of torch._C used
here are the same in torch 2.13 and 2.15."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from onnxpert.capture.places import interpreted
from onnxpert.capture.torchscript_builtins import BUILTINS, NUMBERS, NotUnderstoodError
from onnxpert.core.source import Frame

_SCRIPTED = re.compile(r'File "([^"]+)", line (\d+)')
_TRACED = re.compile(r"^(.+?)\((\d+)\): (\S+)$", re.MULTILINE)
_NUMBER = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)


def script_parts(model: Any) -> list[Any]:
    """What of a model is TorchScript: itself, or modules inside it."""
    if isinstance(model, torch.jit.ScriptFunction):
        return [model]
    if not isinstance(model, torch.nn.Module):
        return []
    return [part for part in model.modules() if isinstance(part, torch.jit.ScriptModule)]


class Interpreter:
    """Runs graphs; `enter` is told which module is running."""

    def __init__(self, enter: Callable[[Any], Any]) -> None:
        self._enter = enter
        self._attributes: dict[tuple[int, str], Any] = {}  # what a run wrote; the module stays

    def module(self, module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self._method(module, "forward", args, kwargs)

    def function(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        given = _arguments(function.schema.arguments, args, kwargs)
        return self._graph(_inlined(function.graph), given)

    def _method(self, module: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        method = getattr(module, name)
        given = _arguments(method.schema.arguments[1:], args, kwargs)
        with self._enter(module):
            return self._graph(_inlined(method.graph), [module, *given])

    def _graph(self, graph: Any, given: Sequence[Any]) -> Any:
        run = _Run(self)
        results = run.block(graph, given)
        return results[0] if len(results) == 1 else tuple(results)

    def read(self, owner: Any, name: str) -> Any:
        found = self._attributes.get((id(owner), name), self)
        return getattr(owner, name) if found is self else found

    def write(self, owner: Any, name: str, value: Any) -> None:
        self._attributes[id(owner), name] = value


class _Run:
    """One graph being run: what its values are."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._values: dict[int, Any] = {}

    def block(self, block: Any, given: Sequence[Any]) -> list[Any]:
        for value, known in zip(block.inputs(), given, strict=True):
            self._values[value.unique()] = known
        for node in block.nodes():
            self._node(node)
        return [self._values[value.unique()] for value in block.outputs()]

    def _node(self, node: Any) -> None:
        if node.kind() == "prim::Constant":
            (output,) = node.outputs()
            if output.type().kind() != "FunctionType":
                self._values[output.unique()] = output.toIValue()
            return
        inputs = [self._values[value.unique()] for value in node.inputs()]
        before = interpreted.get()
        token = interpreted.set((*before, *_frames(node)))
        try:
            results = self._results(node, inputs)
        finally:
            interpreted.reset(token)
        for value, result in zip(node.outputs(), results, strict=True):
            self._values[value.unique()] = result

    def _results(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        kind = node.kind()
        structural = _STRUCTURAL.get(kind)
        if structural is not None:
            found: Sequence[Any] = structural(self, node, inputs)
            return found
        result = self._call(node, kind, inputs)
        return tuple(result) if node.outputsSize() > 1 else [result] * node.outputsSize()

    def _call(self, node: Any, kind: str, inputs: list[Any]) -> Any:
        builtin = BUILTINS.get(kind)
        if builtin is not None:
            return builtin(*inputs)
        if not node.schema() or node.schema() == "(no schema)":
            raise NotUnderstoodError(kind)
        if _takes_number_for_tensor(node, inputs) or not _about_tensors(node):
            return _on_numbers(kind, inputs)
        return _overload(node)(inputs)

    # ---- what has blocks, attributes or structure --------------------------------------------

    def _branch(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        then, otherwise = node.blocks()
        return self.block(then if inputs[0] else otherwise, ())

    def _loop(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        (body,) = node.blocks()
        turns, go_on, *carried = inputs
        turn = 0
        while go_on and turn < turns:
            go_on, *carried = self.block(body, [turn, *carried])
            turn += 1
        return carried

    def _get(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        return [self._interpreter.read(inputs[0], node.s("name"))]

    def _set(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        self._interpreter.write(inputs[0], node.s("name"), inputs[1])
        return ()

    def _call_method(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        module, *args = inputs
        return [self._interpreter._method(module, node.s("name"), args, {})]

    def _unpack(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        return tuple(inputs[0])

    def _list(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        return [list(inputs)]

    def _tuple(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        return [tuple(inputs)]

    def _dict(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        return [dict(zip(inputs[::2], inputs[1::2], strict=True))]

    def _nothing(self, node: Any, inputs: list[Any]) -> Sequence[Any]:
        return [None] * node.outputsSize()


_STRUCTURAL: dict[str, Callable[[_Run, Any, list[Any]], Sequence[Any]]] = {
    "prim::If": _Run._branch,
    "prim::Loop": _Run._loop,
    "prim::GetAttr": _Run._get,
    "prim::SetAttr": _Run._set,
    "prim::CallMethod": _Run._call_method,
    "prim::ListUnpack": _Run._unpack,
    "prim::TupleUnpack": _Run._unpack,
    "prim::ListConstruct": _Run._list,
    "prim::TupleConstruct": _Run._tuple,
    "prim::DictConstruct": _Run._dict,
    "prim::Print": _Run._nothing,
    "prim::Uninitialized": _Run._nothing,
    "aten::warn": _Run._nothing,
}


def _inlined(graph: Any) -> Any:
    """The graph with the functions it calls written out; calls of modules stay, for their names."""
    if not any(True for _ in graph.findAllNodes("prim::CallFunction")):
        return graph
    copy = graph.copy()
    torch._C._jit_pass_inline(copy)
    return copy


def _arguments(formal: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    given = list(args)
    for argument in formal[len(given) :]:
        if argument.name in kwargs:
            given.append(kwargs[argument.name])
        elif argument.has_default_value():
            given.append(argument.default_value)
        else:
            raise TypeError(f"no value for `{argument.name}`")
    return given


def _overload(node: Any) -> Callable[[Sequence[Any]], Any]:
    """The operator that a node calls, on its inputs in the order of the schema."""
    name, _, overload = node.schema().partition("(")[0].partition(".")
    namespace, _, packet = name.partition("::")
    operator = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    formal = operator._schema.arguments

    def call(inputs: Sequence[Any]) -> Any:
        args = [v for v, a in zip(inputs, formal, strict=True) if not a.kwarg_only]
        kwargs = {a.name: v for v, a in zip(inputs, formal, strict=True) if a.kwarg_only}
        return operator(*args, **kwargs)

    return call


def _takes_number_for_tensor(node: Any, inputs: Sequence[Any]) -> bool:
    """A trace keeps sizes as tensors; here they stay the numbers that they are."""
    formal = [value.type().kind() for value in node.inputs()]
    return any(
        kind == "TensorType" and isinstance(value, _NUMBER)
        for kind, value in zip(formal, inputs, strict=True)
    ) and all(isinstance(v, _NUMBER) or _is_known(v) for v in inputs if v is not None)


def _is_known(value: Any) -> bool:
    fake = torch._subclasses.fake_tensor.FakeTensor
    return isinstance(value, torch.Tensor) and not isinstance(value, fake) and value.numel() == 1


def _on_numbers(kind: str, inputs: Sequence[Any]) -> Any:
    plain = [value.item() if isinstance(value, torch.Tensor) else value for value in inputs]
    body = NUMBERS.get(kind.partition("::")[2])
    if body is None:
        raise NotUnderstoodError(kind)
    return body(*plain)


def _about_tensors(node: Any) -> bool:
    values = (*node.inputs(), *node.outputs())
    return any("Tensor" in value.type().str() for value in values)


def _frames(node: Any) -> tuple[Frame, ...]:
    text = node.sourceRange()
    scripted = _SCRIPTED.findall(text)
    if scripted:
        return tuple((file, int(line), "forward") for file, line in scripted)
    traced = [(file, int(line), name) for file, line, name in _TRACED.findall(text)]
    # Outermost first, and without the script that made the trace.
    inside = next((i for i, frame in enumerate(traced) if frame[2] == "trace_module"), len(traced))
    return tuple(reversed(traced[:inside]))


@contextmanager
def interpreting(interpreter: Interpreter) -> Iterator[None]:
    """While on, calls of TorchScript from Python are read instead of run."""
    kinds = (torch.jit.ScriptModule, torch.jit.ScriptFunction)
    before = [kind.__dict__.get("__call__") for kind in kinds]

    def module(self: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreter.module(self, args, kwargs)

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreter.function(self, args, kwargs)

    torch.jit.ScriptModule.__call__ = module
    torch.jit.ScriptFunction.__call__ = function
    try:
        yield
    finally:
        for kind, call in zip(kinds, before, strict=True):
            if call is None:
                del kind.__call__
            else:
                kind.__call__ = call
