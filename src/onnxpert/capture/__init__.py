"""Stage 2: a model with its inputs -> the graph of what it computes, or the evidence of why not."""

from __future__ import annotations

import functools
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from onnxpert.capture import strategies
from onnxpert.capture.devices import at_home
from onnxpert.capture.examples.acceptable import accepted
from onnxpert.capture.examples.growing import grown
from onnxpert.capture.examples.levelling import levelled
from onnxpert.capture.examples.remedies import working_casts, working_sizes
from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.identities import own_identities
from onnxpert.capture.kinds import own_types
from onnxpert.capture.open_sizes.numbers import Numbers, SizeTakenError
from onnxpert.capture.open_sizes.reach import reached
from onnxpert.capture.quantised.box import UnreadQuantisedError
from onnxpert.capture.quantised.training import ObservingError
from onnxpert.capture.scouting.clearing import Sorted, sort_out
from onnxpert.capture.scouting.refusing import with_refusals
from onnxpert.capture.scouting.stumbling import is_at
from onnxpert.capture.scouting.survey import scout
from onnxpert.capture.scripting.unscripted import scripts_as_python
from onnxpert.capture.state import untouched
from onnxpert.capture.stepping.over import stepping_over
from onnxpert.capture.strategy import Strategy
from onnxpert.capture.substitution import (
    beside,
    enlarged,
    is_sparse,
    is_unmade,
    learning_nothing,
    substituted,
    trains,
)
from onnxpert.capture.surrounding.facts import facts_in_order
from onnxpert.capture.surrounding.one_time import one_time
from onnxpert.capture.translating import translated
from onnxpert.capture.watching.culprits import with_lines
from onnxpert.capture.watching.evaluation import with_lasting_chance
from onnxpert.capture.watching.first_call import after_first_call
from onnxpert.capture.watching.sightings import unmet, with_sightings
from onnxpert.core.collect import collect
from onnxpert.core.observers import observing
from onnxpert.core.source import location, of_exception, parse_trace
from onnxpert.core.types import (
    Asked,
    Blocker,
    Captured,
    CaptureFailed,
    Failure,
    InputKind,
    Loaded,
    replace,
)
from onnxpert.core.whereabouts import followed

logger = logging.getLogger(__name__)
_ASKED = GuardOnDataDependentSymNode.__name__
_SYMBOL = re.compile(r"'z?u[fi]?\d+'")  # a number of the data's, as torch names it in a text


class UnmadeWeightsError(RuntimeError):
    """A lazy layer waits for its first input; nothing was tried."""


@functools.cache
def catalogue() -> Mapping[str, Strategy]:
    """Every strategy by its name, in the order of trial."""
    found = collect(strategies, Strategy, lambda strategy: (strategy.name,))
    return dict(sorted(found.items(), key=lambda item: item[1].rung))


def capture(loaded: Loaded) -> Captured | CaptureFailed:
    """The first strategy that gets the model through."""
    stands: RuntimeError | None = None  # said of what was loaded already
    if is_unmade(owner(loaded.module)) or any(is_sparse(leaf.value) for leaf in loaded.leaves):
        stands = UnmadeWeightsError()  # to run it would be to make its weights
    elif not loaded.states and any(observing(owner(loaded.module))):
        stands = ObservingError()  # each call makes another model
    if stands is not None:
        failed = CaptureFailed(loaded, (("none", failure(stands)),))
        return beside(failed, substituted(loaded), _looked_at)
    attempts: list[tuple[str, Failure]] = []
    with _undisturbed(loaded):
        for strategy in catalogue().values():
            if not strategy.takes(loaded):
                continue
            try:
                return _finished(_with_overcome(_run(strategy, loaded), attempts))
            except Exception as error:  # what a model does is evidence, never our exception
                attempts.append((strategy.name, failure(error)))
            # Out of the handler: what the model itself raises has nothing to do with that error.
            ended = None
            if len(attempts) == 1:  # no strategy can trace what does not run
                ended = (
                    _refused(loaded, attempts)
                    or _later(strategy, loaded)
                    or _at_larger(strategy, loaded)
                    or _at_level(strategy, loaded)
                )
            if ended is not None:
                return _as_far(_at_home(ended))
            if _is_about_an_offer(loaded, attempts[-1][1]):  # with less offered it may do
                break
            if loaded.numbers and attempts[-1][1].kind == _ASKED:  # it is tried with constants next
                break
            if attempts[-1][1].kind == UnreadQuantisedError.__name__:  # nor does anybody else know
                return _scouted(loaded, attempts)
        else:
            return _scouted(loaded, attempts)
    return CaptureFailed(loaded, tuple(attempts))


def _looked_at(substitute: Loaded) -> Captured | CaptureFailed:
    """A model that no proof is going to run: what it would raise there is found out here."""
    with _undisturbed(substitute):
        ended = _refused(substitute, ())
        return capture(substitute) if ended is None else _as_far(_at_home(ended))


def off_its_lines(loaded: Loaded) -> Captured | None:
    """A model that was captured before, by what its source says; None where nobody can follow that."""
    asked = replace(loaded, as_written=True, or_not=True)
    readers = (one for one in catalogue().values() if one.lines and one.takes(loaded))
    with _undisturbed(loaded):
        for strategy in readers:
            try:
                found = _run(strategy, asked)
                known = None if found.loaded is None else replace(found.loaded, or_not=False)
                return _finished(replace(found, loaded=known))
            # Whatever stops it, the file that was proven without it stays.
            except Exception:
                logger.debug("not read off its lines", exc_info=True)
    return None


@contextmanager
def _undisturbed(loaded: Loaded) -> Iterator[None]:
    with (
        _frozen(owner(loaded.module)),
        _quiet(),
        scripts_as_python(),
        one_time(),
        facts_in_order(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # advice to torch's own users; ours are findings
        yield


def _scouted(loaded: Loaded, attempts: Sequence[tuple[str, Failure]]) -> CaptureFailed:
    """The failure, with all that is in the way and what is behind it."""
    asked = [failed for _, failed in attempts if failed.kind == _ASKED and failed.location]
    # `float(str(x.item()))` raises what it likes, and says which text it was given.
    misread = [failed for _, failed in attempts[:1] if _SYMBOL.search(failed.text)]
    stopped = [failed.location for failed in (*misread, *asked[:1]) if failed.location]
    blockers, scouted, sides = scout(loaded, stopped)
    arrays = translated(loaded, blockers)
    blockers = tuple(one for one in blockers if one not in arrays)
    scouted = replace(scouted or unmet(loaded), overcome=arrays)
    scouted = _finished(_filled(scouted), blockers)
    # What has no values cannot be run to see what it takes out of its tensors.
    unfilled = _is_unfilled(owner(loaded.module))
    others = Sorted() if unfilled else sort_out(loaded, blockers, attempts[0][1], _run, failure)
    return CaptureFailed(
        loaded,
        tuple(attempts),
        blockers=blockers,
        behind=others.behind,
        cleared=others.cleared,
        scouted=with_refusals(scouted, blockers),
        sides=tuple(map(_filled, sides)),
    )


def _run(strategy: Strategy, loaded: Loaded) -> Captured:
    """Again wherever a size was made a number that can stay a size."""
    numbers, root = Numbers(), owner(loaded.module) if strategy.runs else None
    varies = any(leaf.dims or leaf.scalar is not None for leaf in loaded.leaves)
    with own_types(root), own_identities(root), numbers.watching():
        numbers.foresee(reached(root) if root is not None and varies else ())
        while True:
            try:
                found = _whole(strategy.run(loaded))
            except SizeTakenError:
                numbers.arrays.swap()
                continue
            except Exception as error:
                numbers.arrays.blame(error)
                if not (numbers.arrays.swap() or numbers.arrays.give_up()):
                    raise
                continue
            if not numbers.arrays.swap():  # what is raised inside of numpy may get lost there
                return found


def _at_home(ended: Captured | CaptureFailed) -> Captured | CaptureFailed:
    """A model that refuses its example since a device is not there, looked at where the inputs are."""
    if isinstance(ended, Captured) or ended.eager is None:
        return ended
    with at_home(ended.loaded) as places:
        again = _refused(ended.loaded, ())
        if again is not None or not places:
            return ended
        found = capture(ended.loaded)
    blockers = [Blocker(Asked.DEVICE, ended.eager.text, place) for place in places]
    if isinstance(found, CaptureFailed):
        return replace(  # type: ignore[no-any-return]
            found, eager=ended.eager, blockers=(*blockers, *found.blockers)
        )
    seen = replace(found, strategy="scout")  # nothing of it is proven
    return replace(ended, blockers=tuple(blockers), scouted=seen)  # type: ignore[no-any-return]


def _as_far(ended: Captured | CaptureFailed) -> Captured | CaptureFailed:
    """A model that refuses its example, looked at up to there; or beyond, with one that is known to do."""
    if isinstance(ended, Captured) or ended.eager is None or ended.scouted is not None:
        return ended
    if ended.sizes:
        return beside(ended, enlarged(ended.loaded, ended.sizes), capture)
    if (found := _as_one_that_learns_nothing(ended.loaded)) is not None:
        told = Blocker(Asked.CALL, "it takes a gradient of its weights", ended.eager.location)
        failed = replace(ended, eager=None, blockers=(told,))
        return beside(failed, ended.loaded, lambda _: found)
    if (other := accepted(ended.loaded, ended.eager)) is not None:
        return beside(ended, other, capture)
    with stepping_over(ended.loaded, ended.eager.error) as stepped:
        if stepped.any:
            behind = beside(ended, ended.loaded, capture)
            return replace(behind, further=tuple(map(failure, stepped.further)))  # type: ignore[no-any-return]
    at = ended.eager.location
    seen = scout(ended.loaded, refused=at)
    before = tuple(one for one in seen.blockers if at is None or not is_at(at, one))
    graph = None if seen.captured is None else _finished(_filled(seen.captured), before)
    return replace(ended, blockers=before, scouted=graph, sides=tuple(map(_filled, seen.sides)))  # type: ignore[no-any-return]


def _as_one_that_learns_nothing(loaded: Loaded) -> Captured | CaptureFailed | None:
    """None where it is not the gradients of its weights for which a model refuses its example."""
    if not trains(loaded):
        return None
    with learning_nothing():
        return capture(loaded) if _refused(loaded, ()) is None else None


def _later(strategy: Strategy, loaded: Loaded) -> Captured | None:
    captured = after_first_call(loaded, functools.partial(_run, strategy))
    return None if captured is None else _finished(captured)


def _at_larger(strategy: Strategy, loaded: Loaded) -> Captured | None:
    larger = grown(loaded)
    if larger is None:
        return None
    try:
        return replace(_finished(_run(strategy, larger)), loaded=loaded)  # type: ignore[no-any-return]
    except Exception:  # what is told is what the example met
        logger.debug("nor at a larger example", exc_info=True)
        return None


def _at_level(strategy: Strategy, loaded: Loaded) -> Captured | None:
    level = levelled(loaded)
    if level is None:
        return None
    try:
        return _finished(_run(strategy, level))
    except Exception:  # what is told is what the example met
        logger.debug("nor with its sizes of 1 as long as others", exc_info=True)
        return None


def _finished(captured: Captured, blockers: Sequence[Blocker] = ()) -> Captured:
    """With what only another look at the model tells."""
    return with_lines(with_lasting_chance(with_sightings(captured, blockers)))


def _whole(captured: Captured) -> Captured:
    """A capture whose constants have values: those that `torch.func` makes to look at have none, nor
    those that torch.export makes of NumPy's arrays on the way."""
    loaded = captured.loaded
    if loaded is None or _is_unfilled(owner(loaded.module)):
        return captured
    for entry in captured.inputs:
        if entry.kind is InputKind.CONSTANT and _is_hollow(entry.tensor):
            raise RuntimeError("a tensor without values is among the constants of the model")
    return captured


def _filled(captured: Captured) -> Captured:
    """A graph that is only looked at, with zeros for constants that are fakes of ours or torch's."""
    inputs = tuple(
        replace(
            entry, tensor=torch.zeros(list(map(int, entry.tensor.shape)), dtype=entry.tensor.dtype)
        )
        if entry.kind is InputKind.CONSTANT and isinstance(entry.tensor, FakeTensor)
        else entry
        for entry in captured.inputs
    )
    return replace(captured, inputs=inputs)  # type: ignore[no-any-return]


def _is_unfilled(module: torch.nn.Module | None) -> bool:
    tensors = () if module is None else (*module.parameters(), *module.buffers())
    return any(map(_is_hollow, tensors))


def _is_hollow(tensor: object) -> bool:
    """Whether it has a shape and no values."""
    return bool(getattr(tensor, "is_meta", False)) or isinstance(tensor, FakeTensor)


def _with_overcome(captured: Captured, attempts: Sequence[tuple[str, Failure]]) -> Captured:
    """A capture that translated NumPy, which our own recorder cannot, and where it stands."""
    if captured.loaded is None or captured.strategy != "torch.export strict" or not attempts:
        return captured
    arrays = tuple(
        blocker for blocker in scout(captured.loaded).blockers if blocker.asked is Asked.NUMPY
    )
    return replace(captured, overcome=arrays)  # type: ignore[no-any-return]


def _is_about_an_offer(loaded: Loaded, failed: Failure) -> bool:
    """Whether a size that nobody asked for by name is what a strategy stumbled over, and can be given up:
    a request that is wrong ends at its errors, whatever varies."""
    if loaded.problems:
        return False
    offered = {
        (leaf.name, axis) for leaf in loaded.leaves for axis, spec in leaf.dims if not spec.asked
    }
    return not offered.isdisjoint(failed.sizes)


def failure(error: BaseException) -> Failure:
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    module = str(getattr(error, "module_path", ""))
    place = (
        location(getattr(error, "frames", ()), module)  # TorchScript's, which Python never entered
        or of_exception(error, module)
        # Strict torch.export reads bytecode: the user's frames are only in the text.
        or location(parse_trace(str(cause)), module)
    )
    sizes, unwritten = getattr(error, "sizes", ()), getattr(error, "unwritten", None)
    return Failure(cause, place, _message(cause), sizes, unwritten)


def _message(error: BaseException) -> str:
    """The first paragraph: what follows is torch's advice on how to debug torch."""
    text = str(error).strip().split("\n\n")[0].strip()
    if isinstance(error, KeyError):  # which says the key, and not that it is one
        return f"{type(error).__name__}: {text}"
    return text or type(error).__name__


def refusal(loaded: Loaded) -> CaptureFailed | None:
    """How the model fails on its example where a graph could be made of it all the same."""
    if _is_unfilled(owner(loaded.module)):
        return None  # it cannot be run
    with _frozen(owner(loaded.module)), _quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _refused(loaded, [])


def _refused(loaded: Loaded, attempts: Sequence[tuple[str, Failure]]) -> CaptureFailed | None:
    """How the model itself fails on the example, if it does, and what would make it run."""
    if not callable(loaded.module):
        return None
    call = Flat(loaded)
    with untouched(owner(loaded.module), buffers=True):
        try:
            with followed(owner(loaded.module)):
                call(*fed_copies(loaded))
        except Exception as error:
            eager = failure(error)
        else:
            return None
        return CaptureFailed(
            loaded,
            tuple(attempts),
            eager,
            casts=working_casts(loaded, call),
            sizes=working_sizes(loaded, eager, call),
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """torch's loggers keep still: what a strategy runs into is told once, as a finding."""
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.partition(".")[0] == "torch" and isinstance(logger, logging.Logger)
    ]
    spoke = [logger for logger in loggers if not logger.disabled]
    for logger in spoke:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in spoke:
            logger.disabled = False


@contextmanager
def _frozen(module: object) -> Iterator[None]:
    """No gradients, and no parameter that asks for one: an exported model never learns."""
    trained = []
    if isinstance(module, torch.nn.Module):
        trained = [p for p in module.parameters() if p.requires_grad and p.is_leaf]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        with torch.no_grad():
            yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
