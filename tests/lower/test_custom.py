"""What the user says of their own operators: lowerings, and domains that keep them as nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch.library import custom_op

import onnxpert
from onnxpert.core.errors import UsageError

Tensor = torch.Tensor


@custom_op("test_lowered::amplify", mutates_args=())
def amplify(x: Tensor, alpha: float, beta: float = 0.5) -> Tensor:
    return torch.from_numpy(x.numpy() * alpha + beta)


@custom_op("test_lowered::best", mutates_args=())
def best(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    values, indices = torch.from_numpy(x.numpy()).topk(k)
    return values, indices


@custom_op("test_lowered::mixed", mutates_args=("into",))
def mixed(
    xs: list[Tensor], into: Tensor, w: Tensor | None, axes: list[int], mode: str, flag: bool = True
) -> Tensor:
    into.add_(1)
    return torch.stack(xs).sum(0)


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, by: float) -> Tensor:
        return torch.from_numpy(x.numpy() / by)


@onnxpert.lowering(amplify)
def amplify_in_onnx(op: Any, x: Any, alpha: float, beta: float = 0.5) -> Any:
    return op.Add(op.Mul(x, alpha), beta)


@onnxpert.lowering("test_lowered::best")
def best_in_onnx(op: Any, x: Any, k: int) -> Any:
    return op.TopK(x, [k], _outputs=2)


@onnxpert.lowering(Halved)
def halved_in_onnx(op: Any, x: Any, by: float) -> Any:
    return op.Div(x, by)


class Model(torch.nn.Module):
    def __init__(self, call: Any) -> None:
        super().__init__()
        self.call = call

    def forward(self, x: Tensor) -> Any:
        return self.call(x)


def diagnosed(call: Any, **options: Any) -> onnxpert.Report:
    return onnxpert.diagnose(Model(call).eval(), (torch.randn(3, 4),), **options)


def rules(report: onnxpert.Report) -> list[str]:
    return [finding.rule for finding in report.findings]


@pytest.mark.parametrize(
    ("call", "plugin"),
    [
        (lambda x: amplify(x, 2.5) + amplify(x, alpha=1.5, beta=1.0), amplify_in_onnx),
        (lambda x: best(x, 2), best_in_onnx),
        (lambda x: Halved.apply(x, 2.0), halved_in_onnx),
    ],
    ids=["operator", "several results", "function"],
)
def test_an_opaque_call_is_said_by_the_users_lowering(call: Any, plugin: Any) -> None:
    report = diagnosed(call, plugins=plugin)
    assert report.ok, str(report)
    assert report.findings == ()


def test_a_lowering_goes_before_the_body() -> None:
    @onnxpert.lowering("test_lowered::mixed")
    def refuses(op: Any, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    report = diagnosed(lambda x: mixed([x, x], x.clone(), None, [1], "m"), plugins=[refuses])
    (finding,) = report.findings
    assert finding.rule == "OPS505"
    assert finding.message == "the lowering `refuses` fails with ZeroDivisionError"
    assert finding.location is not None
    assert Path(finding.location.file) == Path(__file__)


def test_a_lowering_that_refuses_on_purpose_leaves_the_call_to_others() -> None:
    @onnxpert.lowering(torch.ops.aten.relu)
    def never(op: Any, x: Any) -> Any:
        raise onnxpert.Refusal("not today")

    report = diagnosed(torch.relu, plugins=[never])
    assert report.ok
    assert report.findings == ()


@pytest.mark.parametrize("key", [torch.ops.aten.relu.default, torch.ops.aten.relu, "aten::relu"])
def test_overriding_ours_is_said(key: Any) -> None:
    @onnxpert.lowering(key)
    def clipped(op: Any, x: Any) -> Any:
        return op.Clip(x, 0.0)

    report = diagnosed(torch.relu, plugins=[clipped])
    assert report.ok
    assert rules(report) == ["OPS506"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (lambda op, x: op.Rellu(x), "opset 20 has no Rellu"),
        (lambda op, x: None, "gives nothing"),
        (lambda op, x: 3, "gives something of type int"),
        (lambda op, x: (op.Relu(x), op.Neg(x)), "gives 2 values where torch gives 1"),
        (lambda op: op.Relu(), "fails with TypeError"),
    ],
)
def test_a_broken_lowering_is_told_and_nothing_takes_its_place(body: Any, says: str) -> None:
    report = diagnosed(torch.relu, plugins=[onnxpert.lowering("aten::relu")(body)])
    assert rules(report) == ["OPS505"]
    assert says in report.findings[0].message


def test_a_wrong_lowering_does_not_pass_the_proof() -> None:
    @onnxpert.lowering(amplify)
    def wrong(op: Any, x: Any, alpha: float) -> Any:
        return op.Mul(x, alpha)

    report = diagnosed(lambda x: amplify(x, 2.0), plugins=[wrong])
    assert rules(report) == ["NUM701"]


@pytest.mark.parametrize("given", ["relu", 3, lambda op, x: op.Relu(x), ["aten::relu"]])
def test_what_is_not_an_operator_cannot_be_lowered(given: Any) -> None:
    with pytest.raises(UsageError, match="operator"):
        onnxpert.lowering(given)


# ---- domains ---------------------------------------------------------------------------------


def test_a_kept_operator_has_its_tensors_as_inputs_and_the_rest_as_attributes(
    tmp_path: Path,
) -> None:
    def call(x: Tensor) -> Any:
        into = x * 2
        total = mixed([x, x + 1], into, None, [0, 2], "sum")
        return total, into

    path = tmp_path / "kept.onnx"
    report = onnxpert.export(
        Model(call),
        (torch.randn(3, 4),),
        path,
        custom_domains={"test_lowered": "com.example@3"},
        verify=False,
    )
    assert [(f.rule, f.severity) for f in report.findings] == [
        ("OPS507", onnxpert.Severity.WARNING)
    ]
    model = onnx.load(path)
    assert {entry.domain: entry.version for entry in model.opset_import}["com.example"] == 3
    (node,) = [node for node in model.graph.node if node.domain]
    assert (node.op_type, len(node.input), len(node.output)) == ("mixed", 3, 2)
    assert {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} == {
        "axes": [0, 2],
        "mode": b"sum",
        "flag": 1,
    }


def test_without_kernels_a_kept_operator_cannot_be_proven() -> None:
    report = diagnosed(lambda x: amplify(x, 2.0), custom_domains={"test_lowered": "com.example"})
    assert not report.ok
    assert rules(report) == ["OPS507"]
    assert "kernel_library" in report.findings[0].help


def test_a_dynamic_size_cannot_be_an_attribute() -> None:
    report = diagnosed(
        lambda x: best(x, x.shape[0]),
        custom_domains={"test_lowered::best": "com.example"},
        dynamic_shapes={"x": {0: "n"}},
        verify=False,
    )
    assert not report.ok


@pytest.mark.parametrize("domains", [{"my": ""}, {"my": "com@x"}, {"aten": "com.example"}])
def test_a_domain_that_cannot_be_is_misuse(domains: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="custom_domains"):
        diagnosed(torch.relu, custom_domains=domains)
