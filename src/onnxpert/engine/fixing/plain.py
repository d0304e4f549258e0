"""What torch's own exporter makes of a model, without any help, at the sizes that shall be dynamic."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import io
import itertools
import logging
import sys
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from onnxpert.core.flatten import flatten_outputs
from onnxpert.core.hearing import hearing
from onnxpert.engine.fixing.other_values import EDGES, UNUSUAL, edged, lengthened, redrawn, scaled
from onnxpert.engine.fixing.plain_loops import plain_loops
from onnxpert.engine.sources import Prepared

Call: TypeAlias = tuple[list[Any], dict[str, Any]]

_SEED = 0
_FACTORS = (1.0, -1.0, 0.1, 10.0)  # of the example's values: other sides of comparisons
_LONGER = (1, 3)  # by which every dynamic size is, all at once and one by one
_TAKING = frozenset(
    {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__index__", "__array__"}
)
DRAWN = 12  # other orders of the example's values
_WEIGHED = (-1.0, 3.0)  # times the weights: other sides of what is asked of results


def traced(prepared: Prepared) -> bool:
    """Whether torch.export follows it."""
    import torch

    if not isinstance(prepared.model, torch.nn.Module):
        return False
    dims = {
        name: dict.fromkeys(axes, torch.export.Dim.DYNAMIC) if axes else None
        for name, axes in (_named(prepared) or {}).items()
    }
    try:
        with quiet():
            torch.export.export(
                prepared.model,
                _copied(prepared.args),
                dict(_copied(prepared.kwargs)),
                dynamic_shapes=dims or None,
                strict=False,
            )
    except Exception:  # whatever torch raises, it is its way of saying no, which is what was asked
        return False
    return True


def plain_export(prepared: Prepared, path: Path) -> None:
    """What torch.onnx.export writes of it, if it writes anything, with the names that sizes have here."""
    import torch

    if not isinstance(prepared.model, torch.nn.Module):
        return
    with contextlib.suppress(Exception), quiet():  # as above
        torch.onnx.export(
            prepared.model,
            _copied(prepared.args),
            str(path),
            kwargs=dict(_copied(prepared.kwargs)),
            dynamic_shapes=_named(prepared),
            dynamo=True,
            verbose=False,
        )


def _named(prepared: Prepared) -> dict[str, Mapping[int, str] | None] | None:
    """The sizes that shall be dynamic, for every argument; None where there are none."""
    names = _names(prepared)
    return {name: names.get(name) for name in _bound(prepared).arguments} if names else None


def open_axes(prepared: Prepared, call: Call) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """The inputs of a call, each with its axes that shall be dynamic: the first where none is named."""
    names = _names(prepared)
    for name, value in _bound(prepared, call).arguments.items():
        yield value, tuple(names.get(name, ())) if names else (0,)


def _bound(prepared: Prepared, call: Call | None = None) -> inspect.BoundArguments:
    args, kwargs = call or (prepared.args, prepared.kwargs)
    called = getattr(prepared.model, "forward", prepared.model)
    return inspect.signature(called).bind(*args, **kwargs)


def _names(prepared: Prepared) -> Mapping[str, Mapping[int, str]]:
    """Input -> axis -> its name."""
    named = prepared.dynamic_shapes if isinstance(prepared.dynamic_shapes, Mapping) else {}
    return {name: axes for name, axes in named.items() if isinstance(axes, Mapping) and axes}


def files_run(prepared: Prepared) -> Iterable[str]:
    """The files whose functions a call of the model goes through, in the order of their first call."""
    import torch

    found: dict[str, None] = {}

    def note(frame: FrameType) -> None:
        found.setdefault(frame.f_code.co_filename)

    with (
        quiet(),
        torch.no_grad(),
        contextlib.suppress(Exception),  # it may end early: so does the list
        hearing(note),
    ):
        prepared.model(*_copied(prepared.args), **_copied(prepared.kwargs))
    return found


def outcomes(
    prepared: Prepared, drawn: int = DRAWN, edges: Sequence[str] = ()
) -> list[list[Any] | None]:
    """What a model gives at the example, at multiples of it, at other sizes, at so many draws of
    other values, at these edges of what values there are, and at a few with other weights; None: it refuses."""
    import torch

    with quiet(), torch.no_grad(), plain_loops():
        calls = itertools.chain(_trials(prepared), _draws(prepared, drawn), _edges(prepared, edges))
        found = [_outcome(prepared, call) for call in calls]
        for factor in _WEIGHED:
            with _weighed(prepared.model, factor):
                calls = itertools.chain(multiples(prepared), _draws(prepared, drawn // 4))
                found += [_outcome(prepared, call) for call in calls]
    return found


def unlike(expected: Prepared, actual: Prepared) -> Iterator[str]:
    """The unusual values of inputs at which the second gives something else than the first."""
    import torch

    with quiet(), torch.no_grad(), plain_loops():
        for name, edges in UNUSUAL.items():
            found = [
                [_outcome(each, call) for call in _edges(each, edges)]
                for each in (expected, actual)
            ]
            if not _as_before(*found):
                yield name


def learn_alike(expected: Prepared, actual: Prepared) -> bool:
    """Whether weights have the gradients in the second that they have in the first, if they have any."""
    one, other = map(_gradients, (expected, actual))
    return one is None or (other is not None and all(map(_close, one, other)))


def _gradients(prepared: Prepared) -> list[Any] | None:
    """Of the weights at the example, of a mixture of all that the model gives."""
    import torch

    model = prepared.model
    weights = model.parameters() if isinstance(model, torch.nn.Module) else ()
    learning = [each for each in weights if each.requires_grad]
    with quiet(), torch.enable_grad(), plain_loops(), contextlib.suppress(Exception):
        given = _outcome(prepared, (_copied(prepared.args), _copied(prepared.kwargs))) or []
        dice = torch.Generator().manual_seed(_SEED)
        mixed = [
            (leaf * torch.randn(leaf.shape, generator=dice).to(leaf)).sum()
            for leaf in given
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.requires_grad
        ]
        found = torch.autograd.grad(
            torch.stack(mixed).sum(), learning, allow_unused=True, materialize_grads=True
        )
        return list(found)
    return None  # it has no weights, or cannot be learnt


def catches_sometimes(prepared: Prepared, files: Container[str]) -> bool:
    """Whether an error is caught in these files at some values and not at others: a file of the model
    raises none, so that it goes the one way or the other at all of them."""
    import torch

    found: set[bool] = set()
    raised = False

    def note(frame: FrameType, event: str, about: Any) -> Any:
        nonlocal raised
        if frame.f_code.co_filename not in files:
            return None
        if event == "exception" and not issubclass(about[0], (StopIteration, GeneratorExit)):
            raised = True
        return note

    before = sys.gettrace()
    with quiet(), torch.no_grad(), plain_loops():
        for call in itertools.chain(
            multiples(prepared), _draws(prepared, DRAWN), _edges(prepared, EDGES)
        ):
            raised = False
            sys.settrace(note)
            try:
                given = _outcome(prepared, call)
            finally:
                sys.settrace(before)
            if given is not None:
                found.add(raised)
    return len(found) > 1


def _outcome(prepared: Prepared, call: Call) -> list[Any] | None:
    import torch

    torch.manual_seed(_SEED)
    try:
        return [leaf for _, leaf in flatten_outputs(prepared.model(*call[0], **call[1]))]
    except Exception:  # the model refuses these values, or these sizes
        return None


@contextlib.contextmanager
def _weighed(model: Any, factor: float) -> Iterator[None]:
    """While on, the weights are so many times what they were: nobody has trained the example's."""
    import torch

    weights = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    floats = [each for each in weights if each.is_floating_point()]
    kept = [each.detach().clone() for each in floats]
    try:
        for each in floats:
            each.mul_(factor)
        yield
    finally:
        for each, before in zip(floats, kept, strict=True):
            each.copy_(before)


def values_taken(prepared: Prepared) -> int:
    """How often Python takes values out of tensors at the example."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Counting(TorchFunctionMode):
        taken = 0

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.taken += getattr(function, "__name__", "") in _TAKING
            return function(*args, **(kwargs or {}))

    counting = Counting()
    with quiet(), torch.no_grad(), plain_loops(), contextlib.suppress(Exception), counting:
        prepared.model(*_copied(prepared.args), **_copied(prepared.kwargs))
    return counting.taken


def refused_by_itself(prepared: Prepared) -> str:
    """What it raises at the example as users run it: with gradients kept, and with torch's own loops.

    "" where it runs."""
    try:
        with quiet():
            prepared.model(*_copied(prepared.args), **_copied(prepared.kwargs))
    except Exception as error:  # whatever it is, it is not what they had
        said = str(error).strip().partition("\n")[0]
        return f"{type(error).__name__}: {said}" if said else type(error).__name__
    return ""


def agree(expected: Sequence[Sequence[Any] | None], actual: Sequence[Sequence[Any] | None]) -> bool:
    """Whether the second gives what the first does, wherever that gives anything."""
    return expected[0] is not None and _as_before(expected, actual)


def _as_before(
    expected: Sequence[Sequence[Any] | None], actual: Sequence[Sequence[Any] | None]
) -> bool:
    return all(
        one is None
        or (other is not None and len(one) == len(other) and all(map(_close, one, other)))
        for one, other in zip(expected, actual, strict=True)
    )


def multiples(prepared: Prepared) -> Iterator[Call]:
    """The example, and multiples of it, which may go through other branches."""
    for factor in _FACTORS:
        yield (
            [scaled(each, factor) for each in _copied(prepared.args)],
            {key: scaled(each, factor) for key, each in _copied(prepared.kwargs).items()},
        )


def _trials(prepared: Prepared) -> Iterator[Call]:
    yield from multiples(prepared)
    named, bound = _names(prepared), _bound(prepared)
    given = dict(bound.arguments)
    names = list(dict.fromkeys(name for axes in named.values() for name in axes.values()))
    for chosen in [set(names), *({name} for name in names if len(names) > 1)] if names else []:
        for more in _LONGER:
            for name in given.keys() & named.keys():
                bound.arguments[name] = lengthened(given[name], named[name], chosen, more)
            yield list(_copied(bound.args)), _copied(bound.kwargs)


def _draws(prepared: Prepared, many: int) -> Iterator[Call]:
    """The example's values in other orders, every other time with others close to them."""
    import torch
    from torch.utils._pytree import tree_map

    for number in range(many):
        dice = torch.Generator().manual_seed(number)
        drawn = functools.partial(redrawn, dice=dice, near=bool(number % 2))
        args, kwargs = tree_map(drawn, _copied((list(prepared.args), dict(prepared.kwargs))))
        yield args, kwargs


def _edges(prepared: Prepared, edges: Sequence[str]) -> Iterator[Call]:
    from torch.utils._pytree import tree_map

    for each in edges:
        edge = functools.partial(edged, edge=each)
        args, kwargs = tree_map(edge, _copied((list(prepared.args), dict(prepared.kwargs))))
        yield args, kwargs


def _close(one: Any, other: Any) -> bool:
    import torch

    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        one, other = torch.as_tensor(one), torch.as_tensor(other)
        return bool(one.shape == other.shape and torch.allclose(one.double(), other.double()))
    same = one.shape == other.shape and one.dtype == other.dtype
    return same and torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)


def _copied(value: Any) -> Any:
    return copy.deepcopy(value)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the model prints, logs and warns of is known by now."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            yield
    finally:
        logging.disable(before)
