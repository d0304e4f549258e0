"""The options that several commands share, and what they mean to the engine."""

from __future__ import annotations

import time
from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from onnxpert.cli.progress import Progress
from onnxpert.core.errors import UsageError

if TYPE_CHECKING:
    from onnxpert.engine.sources import Prepared

SOURCES = """\
a source is one of
  model.py:Net               a class, a factory or a model in a file
  package.module:name        the same in an installed module
  timm:resnet50              a model of timm, torchvision or transformers
  net.pt2, net.pt            a torch.export program or a TorchScript file"""
INPUTS = """\
an input is written as
  x=float32[batch=2,3,h=224,w=224]     a name before a size makes it dynamic
  int64[2,16]:0..1000                  random integers of a range"""


def source_options(parser: ArgumentParser) -> None:
    """Where the model's inputs come from, and the mode it is in."""
    parser.add_argument(
        "--input", action="append", default=[], metavar="SPEC", help="an example input; repeatable"
    )
    parser.add_argument(
        "--inputs",
        metavar="FILE",
        help="example inputs from a .npz, .safetensors or .pt file, or from Python: file.py:name",
    )
    parser.add_argument(
        "--eval", action="store_true", help="put the model in evaluation mode first"
    )


def model_options(parser: ArgumentParser) -> None:
    """What the file shall look like, and what may be done to get it."""
    parser.add_argument("--input-names", type=_names, metavar="A,B", help="names of the inputs")
    parser.add_argument("--output-names", type=_names, metavar="A,B", help="names of the outputs")
    parser.add_argument(
        "--opset",
        dest="opset_version",
        type=_opset,
        metavar="N",
        help="default: what the target takes best",
    )
    parser.add_argument(
        "--dynamic",
        choices=("auto", "none"),
        help="auto: every size that can vary does; none: all sizes are the example's; "
        "default: the sizes named in --input",
    )
    parser.add_argument(
        "--example",
        dest="examples",
        action="append",
        default=[],
        metavar="SPECS",
        help="a further example: all its inputs as for --input, with ; between them, or a file as "
        "for --inputs; what differs from the first is dynamic, and all are proven; repeatable",
    )
    target_option(parser)
    release_option(parser)
    parser.add_argument(
        "--repair",
        choices=("off", "safe", "all"),
        default="safe",
        help="which repairs may be made: none, those that keep every output (default), or all",
    )
    parser.add_argument(
        "--precision",
        choices=("float32", "float16", "bfloat16"),
        help="what the file computes in; operators that would suffer stay in float32 "
        "(default: the model's own)",
    )
    parser.add_argument(
        "--quantize",
        metavar="SCHEME",
        help="int8-dynamic, int8-static or int4-weight: the proven file in whole numbers",
    )
    parser.add_argument(
        "--calibration",
        action="append",
        metavar="FILE",
        help="inputs that int8-static measures, as for --inputs, or a folder of such; repeatable",
    )
    parser.add_argument(
        "--quantize-exclude",
        action="append",
        metavar="MODULE",
        help="a module, or an operator, that stays in float32; repeatable",
    )
    parser.add_argument(
        "--quantize-bound",
        type=float,
        metavar="SHARE",
        help="largest error of an output, such as 0.05 (default: 0.1, with 4 bits 0.25)",
    )
    parser.add_argument(
        "--randomness",
        choices=("refuse", "allow"),
        default="refuse",
        help="a result that mixes computing and chance: an error (default), or proven in its "
        "distribution",
    )
    parser.add_argument(
        "--undetermined",
        choices=("refuse", "allow"),
        default="refuse",
        help="what torch leaves open (the sign of an eigenvector, the order of equals) and the file "
        "chooses otherwise: an error (default), or proven with the file's choice",
    )
    parser.add_argument(
        "--state",
        choices=("refuse", "io"),
        default="refuse",
        help="what forward changes (a buffer, a cache): an error where it matters (default), or "
        "inputs and outputs of the file",
    )
    parser.add_argument(
        "--plugin",
        dest="plugins",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file (or module) with lowerings of your own; repeatable",
    )
    parser.add_argument(
        "--custom-domain",
        dest="custom_domains",
        action=_Pairs,
        default={},
        metavar="NAMESPACE=DOMAIN",
        help="keep the operators of torch.ops.NAMESPACE as nodes of that domain; repeatable",
    )
    kernel_option(parser)
    parser.add_argument(
        "--no-verify", dest="verify", action="store_false", help="leave the proof out"
    )


def external_data_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--external-data",
        nargs="?",
        const=True,
        default=False,
        type=_size,
        metavar="SIZE",
        help="keep the weights in a file of their own; with a size such as 1GB, in files no "
        "larger than that",
    )


def kernel_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--kernel-library",
        action="append",
        default=[],
        metavar="FILE",
        help="a shared library that runs the nodes of custom domains in the proof; repeatable",
    )


def target_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        default="ort-cpu",
        metavar="NAME",
        help="the runtime it is for (default: ort-cpu)",
    )


def repro_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--repro",
        metavar="DIR",
        help="for each blocker, a small script that shows it with torch alone, and an issue text",
    )


def release_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--runtime-version",
        metavar="N.M",
        help="the release of ONNX Runtime it is for, such as 1.17 (default: the installed one)",
    )


def screen_options(parser: ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON, and nothing else"
    )


def prepare(asked: Namespace, source: str, told: Progress) -> Prepared:
    """The model and its example inputs; shown as the first stage, since importing torch is slow."""
    start = time.monotonic()
    told("read", "start", 0.0, source)
    from onnxpert.engine import sources

    prepared = sources.prepare(source, asked.input, asked.inputs)
    if asked.eval:
        _evaluated(prepared.model, source)
    told("read", "done", time.monotonic() - start, "; ".join(prepared.notes))
    return prepared


def request(asked: Namespace, prepared: Prepared) -> dict[str, Any]:
    """The options of export and diagnose: an argument here is named as the option is there."""
    from onnxpert.engine import sources
    from onnxpert.engine.options import Options

    given = {name: getattr(asked, name) for name in Options.__annotations__ if name in asked}
    return {
        **given,
        "kwargs": prepared.kwargs,
        "dynamic_shapes": _dynamic(asked, prepared),
        "examples": sources.further_examples(asked.examples) if asked.examples else None,
    }


def _dynamic(asked: Namespace, prepared: Prepared) -> Any:
    if asked.dynamic is None:
        return prepared.dynamic_shapes
    return "auto" if asked.dynamic == "auto" else None


def _evaluated(model: Any, source: str) -> None:
    if not hasattr(model, "eval") or not hasattr(model, "training"):
        raise UsageError(
            f"--eval: {source} is a {type(model).__name__}, which has no evaluation mode",
            "leave --eval out",
        )
    model.eval()


class _Pairs(Action):
    """`A=B` given any number of times, as a mapping."""

    def __call__(
        self, _parser: ArgumentParser, namespace: Namespace, values: Any, _option: str | None = None
    ) -> None:
        name, equals, domain = str(values).partition("=")
        if not (name and equals and domain):
            raise ArgumentError(self, f"{values!r} is not a pair such as my=com.example")
        setattr(namespace, self.dest, {**getattr(namespace, self.dest), name: domain})


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ArgumentTypeError(f"{text!r} is not a list of names such as a,b")
    return names


def _size(text: str) -> int:
    from onnxpert.engine.budget.limits import read_bytes

    try:
        return read_bytes(text)
    except UsageError as error:
        raise ArgumentTypeError(
            f"{text!r} is not a size such as 1GB; without a size, it comes last or before an option"
        ) from error


def _opset(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not an opset such as 18")
    return int(text)
