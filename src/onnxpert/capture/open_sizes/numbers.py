"""Python's own number functions, so that a size which goes through them stays a size.

`int(x.shape[0] / 2)`, `len(x)`, `math.sqrt(n)` and `max(a, b)` give Python a number, and with it the
size is frozen. Where user code does that, the function that does it calls ours instead while the
model is captured: they give back a symbol. Nothing of the user's is changed for longer than that.
`sym_int` and its kin are torch's own; `LOAD_GLOBAL` is CPython's, whose operand is the number of the
name, doubled, plus one where a call follows. Tried on torch 2.13 and 2.15, CPython 3.11 and 3.13."""

from __future__ import annotations

import builtins
import dis
import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType
from typing import Any

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._sympy.functions import FloorDiv

from onnxpert.capture.open_sizes.arrays import Arrays
from onnxpert.capture.open_sizes.divisors import common_divisor, common_multiple
from onnxpert.capture.open_sizes.nothing import correction
from onnxpert.capture.open_sizes.reach import running
from onnxpert.capture.reasoning import Frugal, is_otherwise_when_small
from onnxpert.capture.surrounding.messages import told
from onnxpert.core.source import Owner, ownership

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_PREFIX = "__onnxpert_"
_LARGEST_NAME = 127  # a higher one does not fit into the operand of an instruction
_MOST_RESTARTS = 16
_STEPPED = 3  # arguments of a range in steps
# Of a later Python, what `LOAD_GLOBAL` is has to be read up first.
_KNOWN_INSTRUCTIONS = sys.version_info < (3, 14)
_plain_sqrt, _plain_isqrt, _plain_pow = math.sqrt, math.isqrt, math.pow
_plain_log2 = math.log2


class SizeTakenError(BaseException):
    """A size became a number, and need not: the model shall be run again.

    No `Exception`: it is none of the model's, which must not catch it."""


# ---- the functions -----------------------------------------------------------------------------


def _int(*args: Any, **named: Any) -> Any:
    if len(args) == 1 and not named:
        (value,) = args
        if isinstance(value, torch.SymInt):
            return value
        if isinstance(value, torch.SymFloat):
            return torch.sym_int(value)  # type: ignore[no-untyped-call]
        if isinstance(value, torch.SymBool):
            return torch.sym_ite(value, 1, 0)  # type: ignore[no-untyped-call]
    return _meant("int", int)(*args, **named)


def _float(*args: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], (torch.SymInt, torch.SymFloat)):
        return torch.sym_float(args[0])  # type: ignore[no-untyped-call]
    return _meant("float", float)(*args)


def _meant(name: str, plain: type) -> Any:
    """What the caller's module means by a name: there it may leave a tensor's value open, too."""
    return sys._getframe(2).f_globals.get(name, plain)


def _len(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dim():
        return value.shape[0]
    return len(value)


def _chosen(symbolic: Callable[..., Any], one: Any, other: Any) -> Any:
    """One of the two themselves, where what is known of them tells which."""
    if _is_at_most(one, other):
        small, large = one, other
    elif _is_at_most(other, one):
        small, large = other, one
    else:
        return symbolic(one, other)
    if _is_more_when_few(small, large):
        return symbolic(one, other)
    found = large if symbolic is torch.sym_max else small
    return found + correction(found, one, other, max if symbolic is torch.sym_max else min)


def _is_more_when_few(small: Any, large: Any) -> bool:
    """Whether it is the other way round where several sizes are 0 or 1: of one alone, it is corrected."""
    node = getattr(small <= large, "node", None)
    if node is None or len(node.expr.free_symbols) < 2:
        return False
    return is_otherwise_when_small(node.expr, answer=True)


def _is_at_most(one: Any, other: Any) -> bool:
    environment = getattr(getattr(one, "node", None), "shape_env", None)
    if isinstance(environment, Frugal) and isinstance(other, int):
        block = environment.in_steps.get(one.node.expr)
        if block is not None and sum(block) <= other:
            return True
    return bool(statically_known_true(one <= other))


def _extreme(plain: Callable[..., Any], symbolic: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*args: Any, **named: Any) -> Any:
        if named or not args:
            return plain(*args, **named)
        values = args if len(args) > 1 else tuple(args[0])
        numbers = all(isinstance(value, (int, float, *_SYMBOLS)) for value in values)
        if numbers and any(isinstance(value, _SYMBOLS) for value in values):
            return functools.reduce(functools.partial(_chosen, symbolic), values)
        return plain(*values) if len(values) > 1 else plain(values)

    return chosen


def _sqrt(value: Any) -> Any:
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return torch.sym_sqrt(torch.sym_float(value))  # type: ignore[no-untyped-call]
    return _plain_sqrt(value)


def _isqrt(value: Any) -> Any:
    return _int(_sqrt(value)) if isinstance(value, torch.SymInt) else _plain_isqrt(value)


def _log2(value: Any) -> Any:
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return torch._sym_log2(torch.sym_float(value))  # type: ignore[attr-defined,no-untyped-call]
    return _plain_log2(value)


def size_bit_length(size: Any) -> Any:
    """The next power of two is `1 << (n - 1).bit_length()`."""
    return math.floor(_log2(2 * size + 1))  # without a case of its own for 0


def _pow(base: Any, exponent: Any) -> Any:
    if isinstance(base, _SYMBOLS) or isinstance(exponent, _SYMBOLS):
        return torch.sym_float(base) ** torch.sym_float(exponent)  # type: ignore[no-untyped-call]
    return _plain_pow(base, exponent)


def _range(*args: Any) -> Any:
    """One block of a size, and one turn: that it is no longer than a block is all that this assumes.

    Of more turns than one each is recorded by its number; a loop is made of them later."""
    if len(args) == _STEPPED and isinstance(args[1], torch.SymInt):
        start, stop, step = args
        if isinstance(step, torch.SymInt) and start == 0 and step.node.expr == stop.node.expr:
            return range(1)  # in one step to the end, wherever that is
        if type(start) is int and type(step) is int and step > 1 and _turns_once(start, stop, step):
            return range(start, start + step, step)
    return range(*args)


def _turns_once(start: int, stop: torch.SymInt, step: int) -> bool:
    """As the example has it, which is assumed."""
    environment, size = stop.node.shape_env, stop.node.hint
    if not isinstance(environment, Frugal) or size is None:
        return False
    turns = FloorDiv(stop.node.expr - start + step - 1, step)
    held = sympy.Eq(turns, 1, evaluate=False)
    if start < size <= start + step:
        environment.assume(held)
        environment.in_steps[stop.node.expr] = (start, step)
        return True
    if environment.doubts(held):
        raise NotImplementedError("a loop in steps that turns once, and more than once")
    return False


_CALLED: dict[Any, Callable[..., Any]] = {
    int: _int,
    float: _float,
    len: _len,
    range: _range,
    max: _extreme(max, torch.sym_max),
    min: _extreme(min, torch.sym_min),
    math.sqrt: _sqrt,  # these by the name they were imported under
    math.isqrt: _isqrt,
    math.log2: _log2,
    math.pow: _pow,
    math.gcd: common_divisor,
    math.lcm: common_multiple,
}
# Methods that symbols lack. numpy asks whatever is no number of its own for its root: `np.sqrt(n)`.
_LENT: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (torch.SymInt, "bit_length", size_bit_length),
    (torch.SymInt, "sqrt", _sqrt),
    (torch.SymInt, "log2", _log2),
    (torch.SymFloat, "sqrt", _sqrt),
    (torch.SymFloat, "log2", _log2),
)
_MATHEMATICS = {
    "sqrt": _sqrt,
    "isqrt": _isqrt,
    "log2": _log2,
    "pow": _pow,
    "gcd": common_divisor,
    "lcm": common_multiple,
}


def _replacement(name: str, scope: Mapping[str, Any]) -> Any | None:
    value = scope.get(name, getattr(builtins, name, None))
    try:
        return _CALLED.get(value)
    except TypeError:  # not hashable
        return None


# ---- the functions of the user's -----------------------------------------------------------------


def _rewritten(code: CodeType, scope: Mapping[str, Any], used: dict[str, Any]) -> CodeType:
    """The same code with its calls of number functions sent to ours; those of inner code too."""
    constants = tuple(
        _rewritten(each, scope, used) if isinstance(each, CodeType) else each
        for each in code.co_consts
    )
    names, raw = list(code.co_names), bytearray(code.co_code)
    for step in dis.get_instructions(code):
        if step.opname != "LOAD_GLOBAL" or step.arg is None or not step.arg & 1:
            continue  # no call: `isinstance(n, int)` and `dtype=int` mean what they say
        ours = _replacement(step.argval, scope)
        if ours is None:
            continue
        name = _PREFIX + step.argval
        if name not in names:
            names.append(name)
        if (number := names.index(name)) <= _LARGEST_NAME and step.arg <= 2 * _LARGEST_NAME + 1:
            raw[step.offset + 1] = 2 * number + 1
            used[name] = ours
    return code.replace(co_consts=constants, co_names=tuple(names), co_code=bytes(raw))


@functools.lru_cache(1024)
def _calls(code: CodeType) -> frozenset[int]:
    return frozenset(step.offset for step in dis.get_instructions(code) if "CALL" in step.opname)


def _holders(frame: FrameType) -> list[CodeType]:
    """The code that is running, and what it is written inside of: a comprehension has no name."""
    found = [frame.f_code]
    outer = frame.f_back
    while outer is not None:
        if contains(outer.f_code, frame.f_code):
            found.append(outer.f_code)
        outer = outer.f_back
    return found


def contains(outer: CodeType, inner: CodeType) -> bool:
    """Whether one is written inside of the other."""
    parts = [each for each in outer.co_consts if isinstance(each, CodeType)]
    return any(part is inner or contains(part, inner) for part in parts)


class Numbers:
    """Watches sizes become numbers, and sends those who make them so to our functions."""

    def __init__(self) -> None:
        self._before: dict[FunctionType, CodeType] = {}
        self._added: list[tuple[dict[str, Any], str]] = []
        self._seen: set[CodeType] = set()
        self._restarts = 0
        self.arrays = Arrays()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While on, a size that becomes a number in user code raises `SizeTakenError`, if it need
        not: the function that did it will not do so the next time."""
        kinds: tuple[tuple[Any, tuple[str, ...]], ...] = (
            (torch.SymInt, ("__int__", "__index__")),
            (torch.SymFloat, ("__int__", "__float__")),
            (torch.SymBool, ("__bool__",)),
        )
        patched: list[tuple[Any, str, Any]] = [
            (kind, name, getattr(kind, name)) for kind, names in kinds for name in names
        ]
        for kind, name, plain in patched:
            setattr(kind, name, self._noticing(plain, name))
        for name, ours in _MATHEMATICS.items():
            patched.append((math, name, getattr(math, name)))
            setattr(math, name, ours)
        for kind, name, ours in _LENT:
            setattr(kind, name, ours)
        try:
            yield
        finally:
            for kind, name, plain in patched:
                setattr(kind, name, plain)
            for kind, name, _ in _LENT:
                delattr(kind, name)
            self._restore()

    def _noticing(self, plain: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
        def noticed(size: Any) -> Any:
            frame = sys._getframe(1)
            if (said := told(frame, name, size)) is not None:
                return said
            if frame.f_code not in self._seen and self._redirected(frame, size):
                raise SizeTakenError
            return plain(size)

        return noticed

    def _redirected(self, frame: FrameType, size: Any) -> bool:
        owned = ownership(frame.f_code.co_filename) > Owner.LAYER
        # `max` asks for truth values, like any `if`; but from within a call.
        if owned and isinstance(size, torch.SymBool) and frame.f_lasti not in _calls(frame.f_code):
            return False
        self._seen.add(frame.f_code)
        if not owned:
            return self.arrays.ask(frame)
        if not _KNOWN_INSTRUCTIONS:
            return False
        used: dict[str, Any] = {}
        changed = False
        for code in _holders(frame):
            fresh = _rewritten(code, frame.f_globals, used)
            functions = running(code, frame.f_globals)
            if not _helps(used, frame) or self._restarts > _MOST_RESTARTS:
                continue
            for function in functions:
                if function.__code__ is code and function.__globals__ is frame.f_globals:
                    self._send(function, fresh)
                    changed = True
        if changed:
            self._restarts += 1
            self._lend(used, frame.f_globals)
        return changed or self.arrays.ask(frame)

    def foresee(self, functions: Iterable[FunctionType]) -> None:
        """Sends these to ours before they make a number of a size: then the model is run once more."""
        for function in functions if _KNOWN_INSTRUCTIONS else ():
            used: dict[str, Any] = {}
            fresh = _rewritten(function.__code__, function.__globals__, used)
            if any(ours is not _range or _steps(function.__code__) for ours in used.values()):
                self._send(function, fresh)
                self._lend(used, function.__globals__)

    def _send(self, function: FunctionType, fresh: CodeType) -> None:
        self._before.setdefault(function, function.__code__)
        function.__code__ = fresh
        self._seen |= {fresh, *_inner(fresh)}

    def _lend(self, used: Mapping[str, Any], scope: dict[str, Any]) -> None:
        for name, ours in used.items():
            if name not in scope:
                scope[name] = ours
                self._added.append((scope, name))

    def _restore(self) -> None:
        for function, code in self._before.items():
            function.__code__ = code
        for scope, name in self._added:
            scope.pop(name, None)
        self.arrays.restore()
        self._before.clear()
        self._added.clear()


def _helps(used: Mapping[str, Any], frame: FrameType) -> bool:
    """Whether a function of ours would do otherwise: of ranges, only those in steps."""
    if any(ours is not _range for ours in used.values()):
        return True
    running = (step for step in dis.get_instructions(frame.f_code) if step.offset == frame.f_lasti)
    return bool(used) and any(step.arg == _STEPPED for step in running)


def _steps(code: CodeType) -> bool:
    """Whether something is called there as a range in steps is."""
    calls = (step for step in dis.get_instructions(code) if "CALL" in step.opname)
    return any(step.arg == _STEPPED for step in calls)


def _inner(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _inner(each)
