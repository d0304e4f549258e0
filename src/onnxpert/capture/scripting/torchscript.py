"""TorchScript read node by node in Python, so that what it calls can be recorded with open sizes.

torch's own interpreter asks every size for its number, which freezes it. The names of torch._C used
here are the same in torch 2.13 and 2.15."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._C import _jit_pass_inline
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.places import interpreted
from onnxpert.capture.scripting.torchscript_builtins import BUILTINS, NUMBERS, NotUnderstoodError
from onnxpert.core.source import Frame

_SCRIPTED = re.compile(r'File "([^"]+)", line (\d+)')
_TRACED = re.compile(r"^(.+?)\((\d+)\): (\S+)$", re.MULTILINE)
_SYMBOL = (torch.SymInt, torch.SymFloat, torch.SymBool)
_NUMBER = (int, float, bool, *_SYMBOL)


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
        self.written: list[tuple[Any, str]] = []

    @property
    def changed(self) -> dict[tuple[int, str], Any]:
        """What the run wrote to attributes."""
        return self._attributes

    def module(self, module: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.method(module, "forward", args, kwargs)

    def function(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        given = _arguments(function.schema.arguments, args, kwargs)
        return self._graph(_inlined(function.graph), given)

    def method(self, module: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        # A traced module's own `forward` is a Python function without a graph.
        method = module._c._get_method(name)
        given = _arguments(method.schema.arguments[1:], args, kwargs)
        with self._enter(module):
            return self._graph(_inlined(method.graph), [module, *given])

    def _graph(self, graph: Any, given: Sequence[Any]) -> Any:
        run = Reading(self, graph)
        results = run.block(graph, given)
        return results[0] if len(results) == 1 else tuple(results)

    def read(self, owner: Any, name: str) -> Any:
        found = self._attributes.get((id(owner), name), self)
        return getattr(owner, name) if found is self else found

    def write(self, owner: Any, name: str, value: Any) -> None:
        self._attributes[id(owner), name] = value
        self.written.append((owner, name))


class Reading:
    """One graph being run: what its values are."""

    def __init__(self, interpreter: Interpreter, graph: Any) -> None:
        self.interpreter = interpreter
        self.graph = graph
        self.values: dict[int, Any] = {}  # by the number that the graph has for each

    def block(self, block: Any, given: Sequence[Any]) -> list[Any]:
        for value, known in zip(block.inputs(), given, strict=True):
            self.values[value.unique()] = known
        for node in block.nodes():
            self.node(node)
        return [self.values[value.unique()] for value in block.outputs()]

    def node(self, node: Any) -> None:
        if node.kind() == "prim::Constant":
            (output,) = node.outputs()
            if output.type().kind() != "FunctionType":
                self.values[output.unique()] = output.toIValue()
            return
        inputs = [self.values[value.unique()] for value in node.inputs()]
        before = interpreted.get()
        token = interpreted.set((*before, *_frames(node)))
        try:
            results = self._results(node, inputs)
        except Exception as error:
            if not hasattr(error, "frames"):  # the innermost script is where it began
                error.frames = interpreted.get()  # type: ignore[attr-defined]
            raise
        finally:
            interpreted.reset(token)
        for value, result in zip(node.outputs(), results, strict=True):
            self.values[value.unique()] = result

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
            return _on_numbers(node, inputs)
        return _overload(node)(inputs)


# ---- nodes with blocks, attributes or structure ----------------------------------------------


def _branch(run: Reading, node: Any, inputs: list[Any]) -> Sequence[Any]:
    then, otherwise = node.blocks()
    return run.block(then if inputs[0] else otherwise, ())


def _loop(run: Reading, node: Any, inputs: list[Any]) -> Sequence[Any]:
    (body,) = node.blocks()
    turns, go_on, *carried = inputs
    turn, turns = 0, operator.index(turns)  # as Python's range has it
    while go_on and turn < turns:
        go_on, *carried = run.block(body, [turn, *carried])
        turn += 1
    return carried


def _get(run: Reading, node: Any, inputs: list[Any]) -> Sequence[Any]:
    return [run.interpreter.read(inputs[0], node.s("name"))]


def _set(run: Reading, node: Any, inputs: list[Any]) -> Sequence[Any]:
    run.interpreter.write(inputs[0], node.s("name"), inputs[1])
    return ()


def _call_method(run: Reading, node: Any, inputs: list[Any]) -> Sequence[Any]:
    module, *args = inputs
    return [run.interpreter.method(module, node.s("name"), args, {})]


def _nothing(_: Reading, node: Any, __: list[Any]) -> Sequence[Any]:
    return [None] * node.outputsSize()


_STRUCTURAL: dict[str, Callable[[Reading, Any, list[Any]], Sequence[Any]]] = {
    "prim::If": _branch,
    "prim::Loop": _loop,
    "prim::GetAttr": _get,
    "prim::SetAttr": _set,
    "prim::CallMethod": _call_method,
    "prim::ListUnpack": lambda _, __, inputs: tuple(inputs[0]),
    "prim::TupleUnpack": lambda _, __, inputs: tuple(inputs[0]),
    "prim::ListConstruct": lambda _, __, inputs: [list(inputs)],
    "prim::TupleConstruct": lambda _, __, inputs: [tuple(inputs)],
    "prim::DictConstruct": lambda _, __, inputs: [
        dict(zip(inputs[::2], inputs[1::2], strict=True))
    ],
    "prim::Print": _nothing,
    "prim::Uninitialized": _nothing,
    "aten::warn": _nothing,
}


def _inlined(graph: Any) -> Any:
    """The graph with the functions it calls written out; calls of modules stay, for their names."""
    if not any(True for _ in graph.findAllNodes("prim::CallFunction")):
        return graph
    copy = graph.copy()
    _jit_pass_inline(copy)
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
    called = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    formal = called._schema.arguments

    if any(a.alias_info and a.alias_info.is_write and "List" in str(a.type) for a in formal):
        raise NotUnderstoodError(node.kind())  # torch would write a copy of the list

    def call(inputs: Sequence[Any]) -> Any:
        args = [v for v, a in zip(inputs, formal, strict=True) if not a.kwarg_only]
        kwargs = {a.name: v for v, a in zip(inputs, formal, strict=True) if a.kwarg_only}
        return called(*args, **kwargs)

    return call


def _takes_number_for_tensor(node: Any, inputs: Sequence[Any]) -> bool:
    """A trace keeps sizes as tensors; here they stay the numbers that they are."""
    formal = [value.type().kind() for value in node.inputs()]
    return any(
        kind == "TensorType" and isinstance(value, _NUMBER)
        for kind, value in zip(formal, inputs, strict=True)
    ) and all(isinstance(v, _NUMBER) or _is_known(v) for v in inputs if v is not None)


def _is_known(value: Any) -> bool:
    real = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
    return real and value.numel() == 1


def _on_numbers(node: Any, inputs: Sequence[Any]) -> Any:
    with _disable_current_modes():  # a constant of the script is a number, not a thing to record
        plain = [value.item() if isinstance(value, torch.Tensor) else value for value in inputs]
    body = NUMBERS.get(node.kind().partition("::")[2])
    if body is not None:
        return body(*plain)
    if any(isinstance(value, _SYMBOL) for value in plain):  # torch would make a number of it
        raise NotUnderstoodError(node.kind())
    return _overload(node)(plain)


def _about_tensors(node: Any) -> bool:
    values = (*node.inputs(), *node.outputs())
    return any("Tensor" in value.type().annotation_str for value in values)


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
    kinds: tuple[Any, ...] = (torch.jit.ScriptModule, torch.jit.ScriptFunction)
    before = [kind.__dict__.get("__call__") for kind in kinds]

    def module(self: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreter.module(self, args, kwargs)

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreter.function(self, args, kwargs)

    for kind, call in zip(kinds, (module, function), strict=True):
        kind.__call__ = call
    try:
        yield
    finally:
        for kind, call in zip(kinds, before, strict=True):
            if call is None:
                del kind.__call__
            else:
                kind.__call__ = call
