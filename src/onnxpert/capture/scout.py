"""A capture that only looks: where a graph ends, it takes the example's values and goes on.

It runs when every strategy has failed. Beside each fake tensor it keeps the real one, so that it can
answer what Python asks of the data, and each question is a blocker with its line. What comes back is
a graph with stand-ins, good for diagnosing what lies behind the first blocker and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import sympy
import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.flat import owner
from onnxpert.capture.knowing import Knowing, knowing_mode
from onnxpert.capture.recorder import Recorder
from onnxpert.capture.state import untouched
from onnxpert.capture.strategies.recorded import record
from onnxpert.capture.strategy import runs_as_python
from onnxpert.core.source import of_exception
from onnxpert.core.statement import Statement, statement
from onnxpert.core.types import Asked, Blocker, Captured, GraphInput, InputKind, Loaded, Location

_SYMBOL = (torch.SymInt, torch.SymFloat, torch.SymBool)
_ARRAYS = frozenset({"numpy", "__array__", "__array_wrap__"})
_MISSING = object()
_ASKED = {Statement.WHILE: Asked.LOOP, Statement.ASSERT: Asked.ASSERTION}


def scout(loaded: Loaded) -> tuple[tuple[Blocker, ...], Captured | None]:
    """Everything in the way of a capture, and the graph behind it as far as it was reached."""
    if not runs_as_python(loaded) or isinstance(loaded.module, torch.jit.ScriptModule):
        return (), None
    made: list[Scout] = []

    def make(_: FakeTensorMode, *rest: Any) -> Scout:
        made.append(Scout(*rest))
        return made[0]

    try:
        with untouched(owner(loaded.module), buffers=True):
            captured = record(loaded, "scout", lambda _: made[0].watching(), make)
    except Exception:  # not even the example's values helped: what was found until then counts
        return tuple(made[0].blockers) if made else (), None
    return tuple(made[0].blockers), captured


class Scout(Recorder):  # type: ignore[no-untyped-call]
    """A recorder with the real values beside the fake ones."""

    def __init__(
        self, names: Mapping[int, tuple[InputKind, str]], whole: frozenset[Any] = frozenset()
    ) -> None:
        super().__init__(knowing_mode(self._answered), names, whole)
        self.blockers: list[Blocker] = []
        self._real: dict[int, torch.Tensor] = {}  # id of a fake -> what it stands for
        self._stood_in: set[int] = set()  # ids of real tensors that came from outside the graph
        self._left = (
            False  # whether NumPy has been handed anything: what it gives back is no constant
        )
        self._is_outside = False  # whether a module is being run for real

    @property
    def _environment(self) -> Knowing:
        environment = self.fake_mode.shape_env
        assert isinstance(environment, Knowing)
        return environment

    # ---- what Python asked -----------------------------------------------------------------

    def _answered(self, value: Any, text: str) -> None:
        if value not in (sympy.true, sympy.false):
            self._block(Asked.NUMBER, text)
            return
        place = self.place()
        kind = statement(place) if place is not None else None
        self._block(_ASKED.get(kind, Asked.BRANCH) if kind else Asked.BRANCH, text, place)

    def _block(self, asked: Asked, text: str, at: Location | None = None) -> None:
        first = text.strip().split("\n\n")[0].strip()
        self.blockers.append(Blocker(asked, first, at or self.place()))

    # ---- the values ------------------------------------------------------------------------

    def placeholder(self, entry: GraphInput, value: Any, example: Any = None) -> Any:
        real = entry.tensor if example is None else example
        if isinstance(value, torch.Tensor) and isinstance(real, torch.Tensor):
            is_user = entry.kind is InputKind.USER  # the model may write to it
            self._keep(value, real.detach().clone() if is_user else real)
        return super().placeholder(entry, value, example)

    def _keep(self, fake: torch.Tensor, real: torch.Tensor) -> None:
        if real.is_meta or isinstance(real, FakeTensor):
            return
        self._real[id(fake)] = real
        for size, known in zip(fake.shape, real.shape, strict=False):
            if isinstance(size, torch.SymInt):
                self._environment.learn(size, known)

    def _lift(self, real: torch.Tensor) -> torch.Tensor:
        outside = self._left and id(real) not in self._names
        if id(real) in self._fakes or not (outside or id(real) in self._stood_in):
            return super()._lift(real)
        with self.fake_mode:
            fake = torch.empty(self._sizes(real), dtype=real.dtype)
        self._kept.append(real)
        self._fakes[id(real)] = fake
        name = f"outside_{len(self.inputs)}"
        self.placeholder(GraphInput(InputKind.CONSTANT, name, real), fake)
        return fake

    def _sizes(self, real: torch.Tensor) -> list[Any]:
        """The shape of a stand-in: a size that an input's dynamic one has is taken to be that one,
        lest it be said of the user's model that it fixes a size which only the stand-in fixed."""
        return [self._dynamic().get(size, size) for size in real.shape]

    def _dynamic(self) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for node in self.graph.nodes:
            if node.op != "placeholder":
                break
            value = node.meta["val"]
            for size in value.shape if isinstance(value, torch.Tensor) else ():
                if isinstance(size, torch.SymInt) and size.node.hint is not None:
                    found.setdefault(size.node.hint, size)
        return found

    def real(self, value: Any) -> Any:
        """The example's value of what stands for it; raises LookupError where it is not known."""
        if isinstance(value, torch.Tensor):
            if id(value) in self._real:
                return self._real[id(value)]
            if isinstance(value, FakeTensor) or value.is_meta:
                raise LookupError("no value is known")
            return value
        if isinstance(value, _SYMBOL):
            number = self._environment.number(value)
            if number is None:
                raise LookupError("no value is known")
            return number
        return value

    def _reals(self, tree: Any) -> Any:
        return pytree.tree_map(self.real, tree)

    def stand_in(self, tree: Any) -> Any:
        """Real results, as tensors that the run can go on with."""

        def one(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            self._stood_in.add(id(value))
            self._kept.append(value)
            return self._lift(value)

        return pytree.tree_map(one, tree)

    # ---- the calls -------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        args, kwargs = pytree.tree_map(self._stand_in, (tuple(args), kwargs))
        if func is torch.ops.aten.is_nonzero.default and id(args[0]) in self._real:
            return self._truth(args[0])
        try:
            out = super().__torch_dispatch__(func, types, args, kwargs)
        except Exception as error:
            if not isinstance(func, HigherOrderOperator):  # torch.export knows how to follow those
                wants = isinstance(error, GuardOnDataDependentSymNode)  # `tensor_split(x, n)`
                asked = Asked.NUMBER if wants else Asked.CALL
                self._block(asked, f"{type(error).__name__}: {error}")
            return self.stand_in(self._run(func, args, kwargs, error))
        self._follow(func, args, kwargs, out)
        return out

    def _truth(self, value: torch.Tensor) -> bool:
        """`if tensor:`, where torch asks and is answered in one breath."""
        with _disable_current_modes():
            found = bool(self._real[id(value)])
        if id(value) not in self._constants:
            self._answered(
                sympy.true if found else sympy.false, "a tensor was asked for its truth value"
            )
        return found

    def _run(self, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
        try:
            given, named = self._reals((args, kwargs))
            with _disable_current_modes():
                return func(*given, **named)
        except Exception:
            raise error from None

    def _follow(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """The same call on the real values; where one is missing, so is the result's."""
        if func is torch.ops.aten.lift_fresh.default:
            return
        try:
            given, named = self._reals((args, kwargs))
            with _disable_current_modes():
                real = func(*given, **named)
        except Exception:
            return
        pairs = zip(pytree.tree_leaves(out), pytree.tree_leaves(real), strict=False)
        for fake, value in pairs:
            if isinstance(fake, torch.Tensor) and isinstance(value, torch.Tensor):
                self._keep(fake, value)
            elif isinstance(fake, _SYMBOL):
                self._environment.learn(fake, value)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While on, calls that take a tensor out of torch and modules that raise are stood in for."""
        plain = torch.nn.Module.__call__

        def guarded(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if self._is_outside:
                return self._looked_into(guarded, plain, module, args, kwargs)
            depth = len(self.modules)
            try:
                if isinstance(module, torch.jit.ScriptModule):
                    return self._outside(plain, module, args, kwargs)
                return plain(module, *args, **kwargs)
            except Exception as error:
                at = of_exception(error, self.modules[-1])
                del self.modules[depth:]
                try:
                    out = self._outside(plain, module, args, kwargs)
                except Exception:
                    raise error from None
                self._block(Asked.CALL, f"{type(error).__name__}: {error}", at)
                return out

        with patch.object(torch.nn.Module, "__call__", guarded), _Leaving(self):
            try:
                yield
            finally:
                self._environment.settle()

    def _outside(self, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """A module run for real, its result as a stand-in; the modules below it are looked into."""
        given, named = self._reals((args, kwargs))
        self._is_outside = True
        try:
            with _disable_current_modes():
                result = call(module, *given, **named)
        finally:
            self._is_outside = False
        return self.stand_in(result)

    def _looked_into(self, inside: Any, plain: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """A module below one that is run for real: scouted with stand-ins, and real again after."""
        self._is_outside = False
        depth = len(self.modules)
        try:
            given, named = self.stand_in((args, kwargs))
            with self.fake_mode, self:
                out = inside(module, *given, **named)
            result = self._reals(out)
        except Exception:  # then nothing is learnt about it, and the run goes on
            del self.modules[depth:]
            result = _MISSING
        finally:
            self._is_outside = True
        return plain(module, *args, **kwargs) if result is _MISSING else result

    def left(self, name: str, error: Exception) -> None:
        """A call took a tensor out of torch, or failed to."""
        self._left = True
        asked = Asked.NUMPY if name in _ARRAYS else Asked.CALL
        self._block(asked, f"{type(error).__name__}: {error}")


class _Leaving(TorchFunctionMode):
    """Sees the calls that never reach the dispatcher: `.numpy()`, `data_ptr()`, `from_numpy`."""

    def __init__(self, scout: Scout) -> None:
        super().__init__()
        self._scout = scout

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        scout = self._scout
        name = getattr(func, "__name__", "")
        try:
            if name == "__reduce_ex__" and isinstance(args[0], FakeTensor):
                raise TypeError("a tensor is pickled")  # noqa: TRY301  a fake one can be, up to a point
            out = func(*args, **kwargs)
        except Exception as error:
            try:
                given, named = scout._reals((tuple(args), kwargs))
                with _disable_current_modes():
                    out = func(*given, **named)
            except Exception:
                raise error from None
            scout.left(name, error)
            return scout.stand_in(out)
        return out
