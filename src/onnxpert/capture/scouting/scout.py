"""A capture that only looks: where a graph ends, it takes the example's values and goes on.

It runs when every strategy has failed. Beside each fake tensor it keeps the real one, so that it can
answer what Python asks of the data, and each question is a blocker with its line. What comes back is
a graph with stand-ins, good for diagnosing what lies behind the first blocker and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest.mock import patch

import sympy
import torch
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    free_unbacked_symbols,
)
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.examples.stretching import numbers_left_out, ways
from onnxpert.capture.forking.truths import TRUTHS
from onnxpert.capture.recorder import UnseenTensorError
from onnxpert.capture.scouting.arrays import goes_to
from onnxpert.capture.scouting.doubles import SYMBOLS, Doubles
from onnxpert.capture.scouting.giving import Given, GivenUpError
from onnxpert.capture.scouting.holding import Handover
from onnxpert.capture.scouting.hurrying import HurriedError, Hurry
from onnxpert.capture.scouting.knowing import Number, knowing_mode
from onnxpert.capture.scouting.leaving import leaving
from onnxpert.capture.scouting.picking import wanted
from onnxpert.capture.scouting.stumbling import (
    branch,
    in_library_check,
    is_at,
    is_librarys,
    same,
    stumbled,
    symbols_at,
)
from onnxpert.capture.scouting.witness import (
    LEAVES,
    SPARSE,
    Witness,
    is_odd,
    oddity,
)
from onnxpert.capture.uncaught import UncatchableError, itself
from onnxpert.capture.unwritten import tensors
from onnxpert.capture.watching.reads import condition
from onnxpert.core.belongings import names_and_containers
from onnxpert.core.source import of_exception
from onnxpert.core.statement import called_at, is_only_computed, leads_elsewhere, statement
from onnxpert.core.tables import Table
from onnxpert.core.types import Asked, Blocker, InputKind, Location

_ARRAYS = frozenset({"numpy", "__array__", "__array_wrap__", "tolist"})
_MISSING = object()
# Calls by which Python asks for a value; what others ask about their sizes is torch's business.
_ASKING = frozenset(
    {"__bool__", "__int__", "__index__", "__float__", "__len__", "__contains__", "item", "tolist",
     "is_nonzero", "equal", "allclose"}
)  # fmt: skip
_ITEMS = frozenset({torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default})
_NUMBERS = frozenset({"__int__", "__index__", "__float__"})


def _symbols(sizes: Sequence[Any]) -> Iterator[Any]:
    for size in sizes:
        if isinstance(size, SYMBOLS):
            yield from size.node.expr.free_symbols


def _blank(fake: torch.Tensor) -> torch.Tensor | None:
    """Zeros where nothing better is known; None where the data would say how many."""
    if any(free_unbacked_symbols(size) for size in fake.shape):
        return None
    sizes = [size.node.hint if isinstance(size, torch.SymInt) else size for size in fake.shape]
    with _disable_current_modes():
        return torch.zeros(sizes, dtype=fake.dtype)


class Scout(Doubles):  # type: ignore[no-untyped-call]
    """A recorder that goes on where a graph ends, and notes why it does."""

    def __init__(
        self,
        names: Mapping[int, tuple[InputKind, str]],
        whole: frozenset[Any] = frozenset(),
    ) -> None:
        super().__init__(knowing_mode(self._answered), names, whole)
        self.blockers: list[Blocker] = []
        self.implied: list[Blocker] = []  # what operators asked
        self.answers: dict[tuple[str, int], set[bool]] = {}  # line of a branch -> which way it went
        self.turned: Mapping[tuple[str, int], bool] = {}  # lines, and what they are answered first
        self.hurry = Hurry()
        self.given = Given()
        self._calls: list[str] = []  # the functions of torch's that are running
        self._dispatched = 0
        self._wanted = 0  # how many numbers the operators asked for
        self._witness: Witness | None = None  # while a module is being run for real
        self.threads = False  # whether a thread was started
        self.refused: Location | None = None  # where the model raises by itself
        self._stretches = False  # whether it was made to go on there
        self._reading = False  # whether a list is being made of a tensor
        self._taken: dict[Any, Location | None] = {}  # a number's symbol -> where it was taken
        self._listed: set[Any] = set()  # the symbols among them that `.tolist()` gave
        self._read: set[tuple[str, int] | None] = set()  # lines whose numbers a graph can have

    # ---- what Python asked -----------------------------------------------------------------

    def _answered(self, value: Any, text: str, symbols: frozenset[Any] = frozenset()) -> Any:
        """Notes what was asked, and gives the answer to go on with."""
        place = self.place()
        is_truth = value in (sympy.true, sympy.false)
        if self._dispatched and not is_truth:
            self._wanted += 1
        if in_library_check() and (place is None or statement(place) is None):
            return value  # what it would raise for, it raises for when the model runs
        taken = next((at for one in symbols if (at := self._taken.get(one)) is not None), None)
        if self._reading:  # torch asks on the way, for the length of a list
            self.block(Asked.NUMPY, text, place)
        elif not is_truth or (self._calls and self._calls[-1] in _NUMBERS and not condition(place)):
            asked = wanted(place, self._calls)
            self.block(asked, text, taken or place if asked is Asked.NUMBER else place, place)
        elif not self._asks() or (taken is not None and is_librarys()):
            asked = Asked.BRANCH if taken is None else Asked.NUMBER
            self.implied.append(Blocker(asked, text, taken or place, place))
        elif symbols & self._listed and not condition(place) and called_at(place) != "sorted":
            listed = next((at for s in symbols & self._listed if (at := self._taken.get(s))), None)
            # `sorted(x.tolist())`
            self.block(Asked.NUMPY, text, listed or place, place)
        else:
            return self._decided(value, text, place)
        return value

    def _asks(self) -> bool:
        """Whether it is Python that wants to know, and not an operator about its sizes."""
        return not self._dispatched and (not self._calls or self._calls[-1] in _ASKING)

    def _decided(self, value: Any, text: str, place: Location | None) -> Any:
        self.block(branch(place), text, place)
        if place is None:
            return value
        line = place.file, place.line
        if line in self.turned and line not in self.answers:
            value = sympy.true if self.turned[line] else sympy.false
        self.answers.setdefault(line, set()).add(value == sympy.true)
        return sympy.false if value == sympy.true and self.hurry.leaves(place) else value

    def decided(self, answer: bool) -> bool:
        """What a comparison of a plain number of the data's gives, which is noted where it decides."""
        place = self.place()
        if self._witness is not None or condition(place) is None:
            return answer
        value = sympy.true if answer else sympy.false
        return bool(self._decided(value, "a number was compared", place))

    def other_sides(self) -> dict[tuple[str, int], bool]:
        """The answers that lines did not have which had but one, and that would lead elsewhere."""
        return {
            line: not next(iter(answers))
            for line, answers in self.answers.items()
            if len(answers) == 1 and leads_elsewhere(Location(*line), *answers)
        }

    def was_read(self, *, truth: bool) -> None:
        """A value that Python took out of a tensor of its own, where nothing tells what for."""
        place = self.place()
        if place is None or (place.file, place.line) in self._read:
            return  # it was followed, or blocked, when the value was a symbol
        if truth or statement(place) is not None:
            self.block(branch(place), "a tensor was asked for its truth value", place)
        elif not is_only_computed(place):
            self.block(Asked.NUMBER, "a tensor was asked for its value", place)

    def _stopped(self, error: Exception, asked: Asked, at: Location | None = None) -> None:
        if self.threads and isinstance(error, UnseenTensorError):
            return  # the thread has been named
        if self.turned:
            return  # a side that the example does not take may be none for its values
        place = at or self.place()
        text = f"{type(error).__name__}: {error}"
        if asked is Asked.NUMBER:
            self.block(asked, text, self._number_behind(error, place) or place, place)
        elif place is None or not any(is_at(place, one) for one in self.blockers):
            self.block(asked, text, place)  # else it is what came of that

    def _number_behind(self, error: Exception, place: Location | None) -> Location | None:
        taken = (self._taken.get(symbol) for symbol in symbols_at(error, place))
        return next(filter(None, taken), None)

    def block(
        self, asked: Asked, text: str, at: Location | None = None, needed: Location | None = None
    ) -> None:
        first = text.strip().split("\n\n")[0].strip()
        if self.custom.followed:  # an operator that is no body to follow, which says it all
            raise NotImplementedError(first)
        found = Blocker(asked, first, at or self.place(), needed)
        if self._witness is not None and any(same(found, one) for one in self.blockers):
            return  # met on the first time through
        self.blockers.append(found)

    def _lift(self, real: torch.Tensor) -> torch.Tensor:
        # One that came of a call that was told of is told already, and a weight is in the file.
        known = real.layout in SPARSE and id(real) in self._names
        known = known or id(real) in self._fakes or id(real) in self._stood_in
        if is_odd(real) and not known:
            self.block(Asked.CALL, f"a {oddity(real)} tensor is used")
        return super()._lift(real)

    def as_number(self, symbol: torch.SymInt) -> Number | None:
        """The example's value of a number of the data's that Python needs; None of any other."""
        if free_unbacked_symbols(symbol.node.expr):
            taken = next(filter(None, map(self._taken.get, _symbols([symbol]))), None)
            self.block(Asked.NUMBER, "a number is hashed", taken, self.place())
            return self._environment.number(symbol)
        return None

    # ---- the calls -------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        args, kwargs = pytree.tree_map(self._stand_in, (tuple(args), kwargs))
        if func in TRUTHS and all(id(each) in self._real for each in tensors(args)):
            return self._truth(func, args, kwargs)
        if func in _ITEMS and self._witness is None and id(args[0]) in self._real:
            blocker = self.given.blocker(self.place(), listed=self._reading)
            if blocker is not None:
                self.blockers.append(blocker)
                self.looked_at(args)
                return self._really(func, args, kwargs)
        mark, wanted = self.mark(), self._wanted
        try:
            with self._dispatching(), self._doubting((args, kwargs)):
                out = super().__torch_dispatch__(func, types, args, kwargs)
        except Exception as error:
            # Behind a loop that was left, an error is the model's own if real tensors know nothing of it.
            self.looked_at((args, kwargs))
            real = self._run(func, args, kwargs, error) if self.hurry.left else _MISSING
            if real is _MISSING and (found := self._stretched(func, args, kwargs)) is not _MISSING:
                return found
            follows = any(is_odd(self._real.get(id(each))) for each in tensors((args, kwargs)))
            # torch.export knows how to follow the former; the latter is told of what made it.
            if not isinstance(func, HigherOrderOperator) and not follows:
                wants = isinstance(error, GuardOnDataDependentSymNode)  # `tensor_split(x, n)`
                self._stopped(error, Asked.NUMBER if wants else Asked.CALL)
            if real is _MISSING:
                real = self._run(func, args, kwargs, error)
            return self.stand_in(real)
        mixed = self._wanted > wanted and all(id(each) in self._real for each in tensors(args))
        if mixed or any(is_odd(each) and each.layout not in SPARSE for each in tensors(out)):
            # Made of a number here and of a symbol there, it may be anything; of a nested one a
            # graph has nothing.
            self.take_back(mark)
            return self.stand_in(self._run(func, args, kwargs, RuntimeError(str(func))))
        self._follow(func, args, kwargs, out)
        for each in tensors(out) if self._is_doubtful((args, kwargs)) else ():
            self._doubt(each)
        return out

    def _is_doubtful(self, given: Any) -> bool:
        return bool(self._doubtful) and any(id(each) in self._doubtful for each in tensors(given))

    @contextmanager
    def _doubting(self, given: Any) -> Iterator[None]:
        environment = self._environment
        before, environment.doubting = environment.doubting, self._is_doubtful(given)
        try:
            yield
        finally:
            environment.doubting = before

    @contextmanager
    def _dispatching(self) -> Iterator[None]:
        self._dispatched += 1
        try:
            yield
        finally:
            self._dispatched -= 1

    def _truth(self, func: Any, args: Any, kwargs: Any) -> bool:
        """`if tensor:`, where torch asks and is answered in one breath."""
        given, named = self.reals((args, kwargs))
        with _disable_current_modes():
            found = bool(func(*given, **named))
        self.looked_at(args)
        if not all(id(value) in self._constants for value in tensors(args)):
            text = "a tensor was asked for its truth value"
            return bool(self._answered(sympy.true if found else sympy.false, text))
        return found

    def _run(self, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
        try:
            return self._really(func, args, kwargs)
        except Exception:  # it fails on real tensors too: the first error is the one to tell
            raise error from None

    def _stretched(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What comes of a call that the model itself ends at, and of what then does not fit, where
        sizes are in the way: the rest of the model is looked at all the same."""
        end, place = self.refused, self.place()
        if end is None or place is None or self._witness is not None:
            return _MISSING
        if not self._stretches and (place.file, place.line) != (end.file, end.line):
            return _MISSING
        given, named = self.reals((args, kwargs))
        with suppress(Exception):
            self._really(func, args, kwargs)
            return _MISSING
        for way in (*ways(given), *numbers_left_out(given)):
            with suppress(RuntimeError, IndexError):
                with _disable_current_modes():
                    func(*way.taken(given), **named)
                self._stretches = True
                with self:
                    return func(*way.taken(args), **kwargs)
        return _MISSING

    def _follow(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """The same call on the real values; where one is missing, so is the result's."""
        if func is torch.ops.aten.lift_fresh.default:
            return
        try:
            real = self._really(func, args, kwargs)
        except Exception:  # without a real value nothing is known of it, and nothing is claimed
            if self.refused is None:
                return
            real = pytree.tree_map_only(torch.Tensor, _blank, out)  # an index that is too large
        origin = self._origin((args, kwargs))
        pairs = zip(pytree.tree_leaves(out), pytree.tree_leaves(real), strict=False)
        for fake, value in pairs:
            if isinstance(fake, torch.Tensor) and isinstance(value, torch.Tensor):
                self._keep(fake, value)
                for symbol in _symbols(fake.shape) if origin is not None else ():
                    self._taken.setdefault(symbol, origin)
            elif isinstance(fake, SYMBOLS):
                self._environment.learn(fake, value)
                self._note_taken(fake)

    def _origin(self, given: Any) -> Location | None:
        """Where the number was taken that is among what an operator is given: `x[:, :n.item()]`."""
        numbers = [each for each in pytree.tree_leaves(given) if isinstance(each, SYMBOLS)]
        return next((at for one in _symbols(numbers) if (at := self._taken.get(one))), None)

    def _note_taken(self, number: Any) -> None:
        place = self.place()
        if place is not None:
            self._read.add((place.file, place.line))
        for symbol in number.node.expr.free_symbols:
            # Of a number that is taken twice, what is asked next is of this.
            self._taken[symbol] = place
            if self._reading:
                self._listed.add(symbol)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While on, calls that take a tensor out of torch and modules that raise are stood in for."""
        plain = torch.nn.Module.__call__

        def guarded(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if self._witness is not None:
                return self._looked_into(guarded, plain, module, args, kwargs)
            mark, before = self.mark(), self._held_by(module)
            try:
                if isinstance(module, torch.jit.ScriptModule):
                    return self._outside(plain, module, args, kwargs)
                return plain(module, *args, **kwargs)
            except (Exception, UncatchableError) as stopped:
                error = itself(stopped)
                if self.hurry.left:
                    raise HurriedError from error
                at = of_exception(error, self.modules[-1])
                if stumbled(error) is Asked.NUMBER:
                    taken = self._number_behind(error, at) or at
                    if self.given.adds(f"{type(error).__name__}: {error}", taken, at):
                        raise GivenUpError from error
                self.take_back(mark)
                for table in before:  # `self.rows.append(x.item())`: no symbol is left in it
                    table.restore()
                try:
                    out = self._outside(plain, module, args, kwargs)
                except Exception:  # as above
                    raise error from None
                self._stopped(error, stumbled(error), at)
                return out

        with (
            patch.object(torch.nn.Module, "__call__", guarded),
            leaving(self),
        ):
            try:
                yield
            finally:
                self._environment.settle()

    def _held_by(self, module: torch.nn.Module) -> list[Table]:
        """What a body may have changed when it raises."""
        if isinstance(module, torch.jit.ScriptModule):
            return []
        return names_and_containers(module, code=len(self.modules) == 1)

    def _outside(self, call: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """A module run for real, its result as a stand-in; the modules below it are looked into."""
        handover = Handover(self._handed_over)
        given, named = handover.given((args, kwargs))
        self._witness = Witness(self)
        try:
            # While torch says that it is exporting, it hands a scripted method its module twice.
            with (
                self._witness.watching(),
                patch.object(torch.compiler, "_is_exporting_flag", False),
            ):
                result = call(module, *given, **named)
        finally:
            self._witness = None
        handover.taken_back(self.stand_in)
        return Handover(self.stand_in).given(result)

    def _handed_over(self, value: Any) -> Any:
        self.looked_at(value)
        return self.real(value)

    def _looked_into(self, inside: Any, plain: Any, module: Any, args: Any, kwargs: Any) -> Any:
        """A module below one that is run for real: scouted with stand-ins, and real again after."""
        witness, self._witness = self._witness, None
        depth = len(self.modules)
        try:
            with _disable_current_modes():
                handover = Handover(self.stand_in)
                given, named = handover.given((args, kwargs))
                with self.fake_mode, self:
                    out = inside(module, *given, **named)
                handover.taken_back(self.reals)
                result = Handover(self.real).given(out)
        except Exception:  # then nothing is learnt about it, and the run goes on
            del self.modules[depth:]
            result = _MISSING
        finally:
            self._witness = witness
        return plain(module, *args, **kwargs) if result is _MISSING else result

    def left(self, name: str, error: Exception | None = None) -> None:
        """A call took a tensor out of torch, or failed to."""
        self._left = True
        asked = Asked.NUMPY if name in _ARRAYS else Asked.CALL
        text = f"{type(error).__name__}: {error}" if error else f"`{name}` was called"
        place = self.place()
        self.block(asked, text, place, goes_to(place) if asked is Asked.NUMPY else None)

    def take_back(self, mark: Any) -> None:
        for node in self.since(mark):
            for given in node.all_input_nodes:  # what is done again beside the graph reads it too
                given.meta["taken_out"] = True
        super().take_back(mark)

    def looked_at(self, given: Any) -> None:
        """Python has the values, though no call in the graph says so."""
        for tensor in tensors(given):
            if (node := self._nodes.get(id(tensor))) is not None:
                node.meta["taken_out"] = True

    def is_constant(self, given: Any) -> bool:
        """Whether it is a tensor of the model's own that holds the same for every input."""
        if self._witness is not None or not isinstance(given, torch.Tensor):
            return False
        fake = self._fakes.get(id(given), given)
        return id(fake) in self._constants or (fake is given and id(given) in self._names)

    def is_real(self, given: Any) -> bool:
        return self._witness is not None and not isinstance(given, FakeTensor)

    def copied(self, func: Any, args: Any) -> Any:
        """A deep copy, which torch makes out of its memory: to a graph it is a clone."""
        with _disable_current_modes():
            copy = func(*args)
        if self._witness is not None:
            self._witness.follow(args[0], copy)
        return copy

    def takes_out(self, name: str, args: Any) -> bool:
        """Whether a call on real values hands over some that depend on the input."""
        given = args[0] if args else None
        return (
            self._witness is not None
            and name in LEAVES
            and isinstance(given, torch.Tensor)
            and not isinstance(given, FakeTensor)
            and not self._witness.knows(given)
        )

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """While a function of torch's is running."""
        before, self._reading = self._reading, self._reading or name == "tolist"
        outside, self._dispatched = self._dispatched, 0
        self._calls.append(name)
        try:
            yield
        finally:
            self._calls.pop()
            self._reading, self._dispatched = before, outside
