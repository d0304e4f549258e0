"""Stage 1: a request, or the text that names a model -> a model ready to be captured."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from onnxpert.core.collect import collect
from onnxpert.core.types import InputLeaf, Loaded, Request
from onnxpert.load import sources
from onnxpert.load.cache_windows import uncounted, windowed
from onnxpert.load.copies import copied, is_partial
from onnxpert.load.dynamic import read_wishes
from onnxpert.load.examples import read_calibration, read_examples
from onnxpert.load.explicit_state import exposed
from onnxpert.load.inputs import read_inputs
from onnxpert.load.layouts import sparse_problems
from onnxpert.load.location import forward_location
from onnxpert.load.model import check_model, has_pre_hooks, own_example
from onnxpert.load.signature import bind, given_call, signature_of
from onnxpert.load.source import Scheme, Source, open_source
from onnxpert.load.wrappers import in_training, unwrap


def load(request: Request) -> Loaded:
    """The model without its wrappers, and copies of its inputs, named and flattened."""
    model, unwrapped = unwrap(request.model)
    check_model(model)
    signature = signature_of(model)
    args, kwargs = own_example(model, request.args, request.kwargs)
    call = bind(signature, *given_call(signature, args, kwargs))
    inputs = read_inputs(call.bound)
    windows, rebuild = windowed(inputs)
    wishes = read_wishes(request, inputs, signature, windows)
    examples = read_examples(request.examples, inputs, signature, wishes)
    calibration = read_calibration(request.calibration, inputs, signature, wishes)
    leaves = tuple(
        InputLeaf(
            leaf.name,
            copied(leaf.value),
            leaf.path,
            dims=tuple(sorted(wishes.dims.get(leaf.name, {}).items(), key=lambda item: item[0])),
            scalar=wishes.scalars.get(leaf.name),
            partial=is_partial(leaf.value),
        )
        for leaf in inputs.leaves
    )
    misfits = () if has_pre_hooks(model) else call.problems
    args, kwargs = rebuild([leaf.value for leaf in leaves])
    loaded = Loaded(
        module=model,
        args=args,
        kwargs=kwargs,
        leaves=leaves,
        rebuild=rebuild,
        unwrapped=unwrapped,
        training=in_training(model),
        problems=(
            *misfits,
            *inputs.problems,
            *wishes.problems,
            *sparse_problems(leaves),
            *uncounted(inputs, windows, wishes.dims),
        ),
        source=forward_location(model),
        examples=examples,
        calibration=calibration,
        floats=frozenset(wishes.floats),
        windows=windows,
    )
    return exposed(loaded) if request.state == "io" else loaded


@functools.cache
def catalogue() -> Mapping[str, Scheme]:
    """Every way to name a model in text, by the mark it is known by."""
    return collect(sources, Scheme, lambda scheme: scheme.marks)


def resolve(text: str, known: Mapping[str, Scheme] | None = None) -> Source:
    """The model that a text such as `model.py:Net` or `timm:resnet50` names."""
    return open_source(text, catalogue() if known is None else known)
