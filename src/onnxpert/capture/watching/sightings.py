"""What a call of the model was seen to do, line by line: an eager run, which no capture can fail.

A graph knows its own calls. Where many lines became one loop, or another strategy read the bytecode, the
lines are gone; where nothing could follow the model, they were never met. Here each is noted as it runs.
`Tag` is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from onnxpert.capture.entering import tensor_names
from onnxpert.capture.flat import Flat, classes, fed, fed_copies, owner
from onnxpert.capture.holder import Recorded
from onnxpert.capture.places import user_frames
from onnxpert.capture.state import untouched
from onnxpert.capture.surrounding.pools import pools_at_once
from onnxpert.capture.surrounding.surroundings import module_paths
from onnxpert.capture.unwritten import Unwritten, tensors
from onnxpert.capture.watching.answering import answered
from onnxpert.capture.watching.caching import Caching, properties
from onnxpert.capture.watching.deeds import Deeds
from onnxpert.capture.watching.handing_on import HandingOn, marked
from onnxpert.capture.watching.reads import condition
from onnxpert.capture.watching.returning import returning
from onnxpert.capture.watching.size_questions import OpenSizes, joins_a_list, questions
from onnxpert.capture.watching.size_refusals import refusals
from onnxpert.core.belongings import held_tensors
from onnxpert.core.bodies import FunctionCall, is_custom, qualified
from onnxpert.core.calls import calls
from onnxpert.core.effort import Effort
from onnxpert.core.number_formats import formats
from onnxpert.core.rarities import is_rare
from onnxpert.core.source import Owner, location, ownership
from onnxpert.core.storages import storage_if_any, written
from onnxpert.core.surrounding import returned
from onnxpert.core.types import (
    Answer,
    Asked,
    Blocker,
    Captured,
    Done,
    InputKind,
    Loaded,
    Location,
    Read,
    Sight,
    Sighting,
    replace,
)

aten = torch.ops.aten
_READS = frozenset({aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default})
# What hands a tensor's memory to something that is not torch, without a call that is dispatched.
_ARRAYS = frozenset({"numpy", "__array__", "tolist"})
_INDEXING = frozenset({aten.index.Tensor, aten._unsafe_index.Tensor})
_DIFFERENTIATING = (torch.autograd.grad, torch.autograd.backward, torch.Tensor.backward)
_ATTENTION = torch.nn.functional.scaled_dot_product_attention
# Torch's own Python that asks on its own account: what a distribution is given, what a layer is.
_ASKING = tuple(
    os.sep + os.path.join("torch", name) + os.sep for name in ("distributions", "nn", "optim")
)


def with_sightings(captured: Captured, blockers: Sequence[Blocker] = ()) -> Captured:
    """The capture, and what a call of the model itself was seen to do at lines of the user's."""
    if captured.loaded is None:
        return captured
    seen = _watched(captured.loaded, _whole(captured))
    places = [one.location for one in captured.reads] + [one.location for one in blockers]
    known = set(map(_line, places))
    reads = [one for one in seen.reads if _line(one.location) not in known]
    told = {(one.deed, one.what, _line(one.location)) for one in captured.done}
    named = {one.what for one in captured.done}
    done = [
        one
        for one in seen.done
        if (one.deed, one.what, _line(one.location)) not in told
        and not (one.guessed and one.what in named)
    ]
    assigned = [name for name in seen.written if name not in captured.written]
    others = [one for one in seen.others if not _is_blocked(one, blockers)]
    return replace(  # type: ignore[no-any-return]
        captured,
        reads=(*captured.reads, *reads),
        seen=(*others, *refusals(captured)),
        done=marked((*captured.done, *done), seen.handed_on, seen.cached),
        written=(*captured.written, *assigned),
        answer=seen.answer,
    )


def _is_blocked(one: Sighting, blockers: Sequence[Blocker]) -> bool:
    """Whether it says of an operator that the file has it where nothing could follow it."""
    operators = (Sight.OPERATOR, Sight.RARE)
    return one.sight in operators and _line(one.location) in {_line(b.location) for b in blockers}


def unmet(loaded: Loaded) -> Captured:
    """A model that not even a scout gets through: no graph, and all that is seen of it beside."""
    graph = fx.Graph()
    graph.output((0,))  # something: that a model gives nothing is an error of its own
    return Captured(Recorded(graph), (), "scout", loaded=loaded)


def _objects(loaded: Loaded, given: Sequence[str], lines: Sequence[int]) -> Iterator[Sighting]:
    """Where something comes out, and what goes in or comes out whose class torch's own exporter
    would not open."""
    at = loaded.source
    if at is None or ownership(at.file) != Owner.USER:
        return
    args, kwargs = loaded.rebuild([leaf.value for leaf in loaded.leaves])
    refused = {problem.subject for problem in loaded.problems}  # no file has what is in it
    for name in [one for one in classes((args, kwargs)) if one not in refused]:
        yield Sighting(Sight.OBJECT, name, at)
    end = returned(at, lines[-1] if lines else 0) or at
    yield Sighting(Sight.RETURN, "", end)
    for name in given:
        yield Sighting(Sight.OBJECT, name, end)


def _line(at: Location | None) -> tuple[str, int] | None:
    return None if at is None else (at.file, at.line)


def _whole(captured: Captured) -> set[Any]:
    """The functions that are written down whole: what their bodies do is nobody's business."""
    targets = [node.target for node in calls(captured.root)]
    return {target.function for target in targets if isinstance(target, FunctionCall)}


@contextmanager
def _closed(kinds: Collection[Any], sights: Sights) -> Iterator[None]:
    """While on, nothing that is in the forward of these functions is seen."""

    def closed(forward: Callable[..., Any]) -> Callable[..., Any]:
        def unseen(*given: Any) -> Any:
            sights.inside += 1
            try:
                return forward(*given)
            finally:
                sights.inside -= 1

        return unseen

    with ExitStack() as stack:
        for kind in kinds:
            stack.enter_context(patch.object(kind, "forward", staticmethod(closed(kind.forward))))
        yield


def _watched(loaded: Loaded, whole: Collection[Any]) -> Sights:
    module = owner(loaded.module)
    sights = Sights(module)
    values = sights.entered(loaded)
    if module is None or isinstance(module, torch.jit.ScriptModule):
        return sights
    deeds = Deeds(module, lambda: sights.modules[-1])
    with ExitStack() as stack:
        changes = stack.enter_context(untouched(module, buffers=True))
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.random.fork_rng([]))
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(suppress(Exception))  # what it raises has been told
        stack.enter_context(deeds.watching(closely=True))
        stack.enter_context(module_paths(sights, module))
        stack.enter_context(pools_at_once())
        stack.enter_context(_closed(whole, sights))
        stack.enter_context(_Calls(sights))
        stack.enter_context(Unwritten(module))
        stack.enter_context(_Dispatched(sights))
        flat, caching = Flat(loaded), Caching(module, changes.tables)
        with returning(loaded.source) as lines:
            sights.answer = answered(lambda: flat(*values), sights.formats, sights.effort)
        sights.others += _objects(loaded, flat.classes, lines)
        keeps = caching.called() or any(table.is_changed() for table in changes.tables)
        keeps = keeps or bool(deeds.assigned)
        if keeps or any(one.sight is Sight.WRITE for one in sights.others):
            again = stack.enter_context(HandingOn(module, deeds.assigned, changes.tables))
            flat(*sights.entered(loaded))  # `if self.best is None or score > self.best`
            sights.handed_on = again.names
            kept = caching.names(sights.is_decided, again.written, read=sights.has_values)
            sights.cached = kept
    sights.cached |= set(properties(module, changes))
    sights.written = (*changes.attributes, *deeds.advanced)
    sights.done = deeds.done(changes.attributes, changes.owners)
    if sights.done or sights.written or any(one.sight is Sight.WRITE for one in sights.others):
        sights.answer = None
    return sights


class Sights:
    """What was seen, each thing once per line; and which memory holds what the inputs decide."""

    def __init__(self, module: torch.nn.Module | None) -> None:
        self.reads: list[Read] = []
        self.others: list[Sighting] = []
        self.done: tuple[Done, ...] = ()
        self.written: tuple[str, ...] = ()
        self.handed_on: frozenset[str] = frozenset()  # of these, what no call leaves to the next
        self.cached: frozenset[str] = frozenset()  # ... what is made of sizes, and kept
        self.answer: Answer | None = None
        self.formats: set[torch.dtype] = set()  # floating ones
        self.effort = Effort()
        self.sizes = OpenSizes()
        self.modules = [""]  # which part of the model is running
        self.inside = 0  # in how many operators of somebody's own
        self._known: set[tuple[Any, ...]] = set()
        self._decided: set[int] = set()  # storages of which the inputs, or chance, decide
        self._owners: dict[int, tuple[InputKind, str]] = {}
        named = tensor_names(module)
        for tensor in held_tensors(module) if module is not None else ():
            if (key := storage_if_any(tensor)) is not None and id(tensor) in named:
                self._owners[key] = named[id(tensor)]
        self._given: list[list[Any]] = []  # kept, so that nothing else comes to lie in their memory
        self._readers: set[tuple[str, str]] = set()  # the functions that read values: file, name
        self.has_values = False  # whether Python does: what it makes tensors of may hold them

    def entered(self, loaded: Loaded) -> list[Any]:
        """The inputs of a call, which decide from here on."""
        values = fed_copies(loaded)
        for leaf, value in zip(fed(loaded), values, strict=True):
            if isinstance(value, torch.Tensor) and (key := storage_if_any(value)) is not None:
                self._decided.add(key)
                self._owners[key] = InputKind.USER, leaf.name
                self.sizes.entered(leaf, value)
        self._given.append(values)
        return values

    def is_decided(self, given: Any) -> bool:
        """Whether the value of something differs from call to call."""
        return any(storage_if_any(each) in self._decided for each in tensors(given))

    def read(self, asked: Asked) -> None:
        frames = user_frames()
        self.has_values |= bool(frames)
        # With what is inside of a comprehension, the function that it is in.
        self._readers.update((frame[0], frame[2]) for frame in frames[-2:])
        self.note(asked, "")

    def called(self, func: Any, given: Any, out: Any) -> None:
        """An operator has run."""
        decided = self.is_decided(given) or _draws(func)
        if _draws(func) and not _is_layers(func):
            self.note(Sight.DRAW, str(func.overloadpacket.__name__))
        if func is aten.lift_fresh.default:
            decided = decided or self.has_values
        held = {storage_if_any(each) for each in tensors(given)}
        # `set_` has a tensor look at other memory, and writes to none; it is how a deep copy is made.
        targets = [] if func.overloadpacket is aten.set_ else list(written(func, *given))
        for target in tensors(targets):
            owner = self._owners.get(storage_if_any(target) or 0)
            if owner is not None:
                self.note(Sight.WRITE, owner[1], owner[0])
                self._decided.add(storage_if_any(target) or 0)
            elif decided and (key := storage_if_any(target)) is not None:
                self._decided.add(key)
        for each in tensors(out):
            key = storage_if_any(each)
            if key is not None and decided:
                self._decided.add(key)
            elif key is not None and key not in held:
                self._decided.discard(key)  # memory that is used again
        by_data = decided and _is_sized_by_data(func, given[0])
        if by_data:
            self.note(Sight.SIZE, str(func.overloadpacket.__name__))
        # A list is as long as what Python read before it was made has decided.
        by_data = by_data or joins_a_list(func, self._readers)
        self.sizes.called(func, given, out, by_data=by_data)
        if is_custom(func):
            if not _is_librarys(qualified(func)):
                self.note(Sight.OPERATOR, qualified(func))
        elif is_rare(name := str(func.overloadpacket.__name__)):
            self.note(Sight.RARE, name.strip("_"))

    def asked(self, func: Any, args: Any) -> None:
        """Python is about to be told the size of a tensor, if that is what it asks for."""
        for at in questions(func, args, self.sizes, self._place):
            key = (Sight.QUESTION, at.file, at.line)
            if key not in self._known:
                self._known.add(key)
                self.others.append(Sighting(Sight.QUESTION, "", at))

    def _place(self) -> Location | None:
        frames = user_frames()
        if not frames or ownership(frames[-1][0]) != Owner.USER or self.inside:
            return None
        return location(frames, self.modules[-1])

    def note(self, kind: Asked | Sight, name: str, owner: InputKind | None = None) -> None:
        frames = user_frames()
        if not frames or ownership(frames[-1][0]) != Owner.USER or self.inside:
            return
        if isinstance(kind, Asked) and _is_torchs_own():
            return
        at = location(frames, self.modules[-1])
        key = (kind, name, frames[-1][0], frames[-1][1])
        if key in self._known or at is None:
            return
        self._known.add(key)
        if isinstance(kind, Asked):
            asked = kind if kind is Asked.NUMPY else condition(at) or kind
            self.reads.append(Read(asked, at))
        else:
            self.others.append(Sighting(kind, name, at, owner))


class _Dispatched(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, sights: Sights) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._sights = sights

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        sights = self._sights
        if func in _READS and sights.is_decided(args):
            sights.read(Asked.NUMBER if func is _LOCAL else Asked.BRANCH)
        sights.inside += 1
        try:
            out = func(*args, **kwargs)
        finally:
            sights.inside -= 1
        if not isinstance(func, HigherOrderOperator):
            sights.called(func, (args, kwargs), out)
        return out


_LOCAL = aten._local_scalar_dense.default


class _Calls(TorchFunctionMode):
    """Sees the calls that never reach the dispatcher."""

    def __init__(self, sights: Sights) -> None:
        super().__init__()
        self._sights = sights

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in _ARRAYS and self._sights.is_decided(args[:1]):
            self._sights.read(Asked.NUMPY)
        self._sights.asked(func, args)
        if func is _ATTENTION and _masks_a_row(*args, **(kwargs or {})):
            self._sights.note(Sight.MASKED, "")
        if func in _DIFFERENTIATING:
            self._sights.note(Sight.GRADIENT, func.__name__)
        result = func(*args, **(kwargs or {}))
        self._sights.formats.update(formats(func, result))
        self._sights.effort.note((args, tuple((kwargs or {}).values())), result)
        return result


def _masks_a_row(*given: Any, attn_mask: Any = None, **_: Any) -> bool:
    """Whether some position of an attention is left nothing to attend to."""
    mask = given[3] if len(given) > 3 else attn_mask
    if not isinstance(mask, torch.Tensor) or not mask.dim() or not mask.numel():
        return False
    with _disable_current_modes():  # it is nobody's question but ours
        masked = mask.logical_not() if mask.dtype is torch.bool else mask.isneginf()
        return bool(masked.all(-1).any())


def _draws(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(func, "tags", ())


def _is_layers(func: Any) -> bool:
    """Whether it is a dropout that draws, or an operator that computes and could drop."""
    if "attention" in func.overloadpacket.__name__ or "dropout" in func.overloadpacket.__name__:
        return True
    frame = sys._getframe(2)
    while frame is not None and ownership(frame.f_code.co_filename) != Owner.USER:
        if "dropout" in frame.f_code.co_name:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _is_librarys(name: str) -> bool:
    """Whether an operator is that of a library, which is called as its operators are, or torch's."""
    namespace = name.partition("::")[0]
    module = sys.modules.get(namespace)
    theirs = (
        module is not None and ownership(getattr(module, "__file__", None) or "<>") != Owner.USER
    )
    return theirs or namespace.startswith(("quantized", "torch", "_"))


def _is_sized_by_data(func: Any, args: Any) -> bool:
    if func in _INDEXING:
        kinds = (torch.bool, torch.uint8)
        return any(each.dtype in kinds for each in tensors(args[1]))
    return torch.Tag.dynamic_output_shape in getattr(func, "tags", ())


def _is_torchs_own() -> bool:
    """Whether torch asks on its own account, before any other code does."""
    frame = sys._getframe(2)
    while frame is not None and not ownership(frame.f_code.co_filename):
        if any(part in frame.f_code.co_filename for part in _ASKING):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
