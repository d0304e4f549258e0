"""The proof passes right files and catches wrong ones."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from onnx import TensorProto, helper
from torch import nn

import onnxpert
from onnxpert import targets
from onnxpert.core.errors import UsageError
from onnxpert.core.types import DimSpec, Verdict, Verified
from onnxpert.verify import allowance, verify

ORT = targets.find("ort-cpu")
BATCH = {"x": (torch.float32, ["batch", 4])}
OUT = {"y": (torch.float32, ["batch", 3])}
node = helper.make_node


def failures(verified: Verified) -> dict[str, str]:
    return {row.case: row.detail for row in verified.rows if row.verdict is Verdict.FAIL}


def refusals(verified: Verified) -> dict[str, str]:
    return {row.case: row.detail for row in verified.rows if row.verdict is Verdict.REFUSED}


@pytest.fixture
def linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(4, 3).eval()


@pytest.fixture
def linear_file(write: Any, linear: nn.Linear) -> Path:
    nodes = [node("Gemm", ["x", "w", "b"], ["y"], transB=1)]
    path: Path = write(nodes, BATCH, OUT, weights={"w": linear.weight, "b": linear.bias})
    return path


def test_a_right_file_is_proven_at_other_sizes_and_values(
    load: Any, linear: nn.Linear, linear_file: Path
) -> None:
    verified = verify(load(linear, x=torch.randn(2, 4)), linear_file, ORT)
    assert verified.proven
    tried = ["example", "batch=3", "other values", "batch=1", "batch=7"]
    assert [row.case for row in verified.rows] == tried
    assert [dict(row.sizes) for row in verified.rows] == [{"batch": n} for n in (2, 3, 2, 1, 7)]
    row = verified.rows[0]
    assert row.output == "y"
    assert row.max_abs is not None
    assert row.max_abs < 1e-5
    assert (row.rtol, row.atol) == (1e-3, 1e-5)
    assert not verified.nondeterministic
    assert not verified.stateful


def test_the_second_target_agrees(load: Any, linear: nn.Linear, linear_file: Path) -> None:
    loaded = load(linear, x=torch.randn(2, 4))
    assert verify(loaded, linear_file, targets.find("onnx-reference")).proven


def test_a_wrong_weight_fails(load: Any, linear: nn.Linear, linear_file: Path) -> None:
    with torch.no_grad():
        linear.bias[1] += 0.01
    verified = verify(load(linear, x=torch.randn(2, 4)), linear_file, ORT)
    assert not verified.proven
    assert "values are too far off: at [" in failures(verified)["example"]


def test_a_frozen_batch_fails_at_another_size_only(load: Any, write: Any) -> None:
    class Mean(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum(0) / x.shape[0]

    frozen = [node("ReduceSum", ["x", "zero"], ["s"], keepdims=0), node("Div", ["s", "n"], ["y"])]
    weights = {"zero": torch.tensor([0]), "n": torch.tensor(2.0)}
    path = write(frozen, BATCH, {"y": (torch.float32, [4])}, weights=weights)
    verified = verify(load(Mean(), x=torch.randn(2, 4)), path, ORT)
    assert set(failures(verified)) == {"batch=1", "batch=3", "batch=7"}


def test_a_branch_that_was_frozen_fails_at_other_values(load: Any, write: Any) -> None:
    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if bool(x[0, 0] > 0) else x * 3

    path = write(
        [node("Mul", ["x", "two"], ["y"])],
        {"x": (torch.float32, [2, 4])},
        {"y": (torch.float32, [2, 4])},
        weights={"two": torch.tensor(2.0)},
    )
    x = torch.rand(2, 4) + 0.1
    verified = verify(load(Branch(), x=x), path, ORT)
    assert failures(verified).keys() == {"other values"}


@pytest.mark.parametrize(
    ("nodes", "output", "said"),
    [
        # NaN where the model has a number: NaN compares false with everything, and must not pass.
        (
            [node("Sub", ["x", "x"], ["z"]), node("Div", ["z", "z"], ["y"])],
            (torch.float32, ["batch", 4]),
            "NaN or infinite on one side only",
        ),
        # A shape that broadcasting would take for the right one.
        (
            [node("ReduceMax", ["x"], ["y"], keepdims=1)],
            (torch.float32, [1, 1]),
            "the model gives shape [2, 4], the file [1, 1]",
        ),
        (
            [node("Cast", ["x"], ["y"], to=TensorProto.DOUBLE)],
            (torch.float64, ["batch", 4]),
            "the model gives float32, the file float64",
        ),
        (
            [node("Cast", ["x"], ["y"], to=TensorProto.INT64)],
            (torch.int64, ["batch", 4]),
            "the model gives float32, the file int64",
        ),
    ],
)
def test_what_others_let_pass_fails(
    load: Any, write: Any, nodes: Any, output: Any, said: str
) -> None:
    path = write(nodes, BATCH, {"y": output})
    verified = verify(load(nn.Identity(), x=torch.ones(2, 4)), path, ORT)
    assert said in failures(verified)["example"]


def test_an_output_too_few_fails(load: Any, write: Any) -> None:
    path = write([node("Identity", ["x"], ["y"])], BATCH, {"y": (torch.float32, ["batch", 4])})
    verified = verify(load(lambda x: (x, x + 1), x=torch.ones(2, 4)), path, ORT)
    assert failures(verified)["example"] == "the model gives 2 outputs, the file 1"


def test_what_the_model_itself_refuses_is_no_failure(load: Any, write: Any) -> None:
    class Fussy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.shape[0] % 2:
                raise ValueError("the batch must be even\nand more")
            return x + 1

    nodes = [node("Add", ["x", "one"], ["y"])]
    one = {"one": torch.tensor(1.0)}
    path = write(nodes, BATCH, {"y": (torch.float32, ["batch", 4])}, weights=one)
    verified = verify(load(Fussy(), x=torch.randn(2, 4)), path, ORT)
    assert verified.proven
    assert refusals(verified)["batch=3"] == "ValueError: the batch must be even"
    passed = {row.sizes["batch"] for row in verified.rows if row.verdict is Verdict.PASS}
    assert {4, 8} <= passed  # two further sizes that it does take


def test_a_model_that_refuses_its_own_example_proves_nothing(load: Any, linear_file: Path) -> None:
    verified = verify(load(nn.Linear(5, 3), x=torch.randn(2, 4)), linear_file, ORT)
    assert [row.verdict for row in verified.rows] == [Verdict.REFUSED]
    assert not verified.proven


def test_values_outside_of_the_models_domain_are_refused(load: Any, write: Any) -> None:
    path = write([node("Log", ["x"], ["y"])], BATCH, {"y": (torch.float32, ["batch", 4])})
    verified = verify(load(torch.log, x=torch.rand(2, 4) + 0.1), path, ORT)
    assert verified.proven
    assert refusals(verified) == {"other values": "the model itself gives NaN for these values"}
    assert "other values (shuffled)" in {row.case for row in verified.rows}


def test_a_size_at_which_the_model_gives_nan_must_give_it_in_the_file_too(
    load: Any, write: Any
) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor(float("nan") if x.shape[0] == 1 else 0.0)

    path = write([node("Identity", ["x"], ["y"])], BATCH, {"y": (torch.float32, ["batch", 4])})
    verified = verify(load(model, x=torch.randn(2, 4)), path, ORT)
    assert "NaN" in refusals(verified)["batch=1"]
    assert "one side only" in failures(verified)["batch=1 (repeated values)"]


def test_a_random_model_is_told(load: Any, write: Any) -> None:
    path = write([node("Identity", ["x"], ["y"])], BATCH, {"y": (torch.float32, ["batch", 4])})
    state = torch.get_rng_state()
    verified = verify(load(nn.Dropout().train(), x=torch.ones(2, 4)), path, ORT)
    assert verified.nondeterministic
    assert not verified.stateful
    assert verified.rows[0].max_abs is None
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("how", ["buffer", "attribute", "list", "plain tensor", "rebound"])
def test_a_model_that_counts_is_told_and_left_as_it_was(load: Any, write: Any, how: str) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))
            self.calls = 0
            self.seen: list[int] = []
            self.plain = torch.zeros(())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            match how:
                case "buffer":
                    self.count += 1
                case "rebound":
                    self.count = self.count + 1
                case "attribute":
                    self.calls += 1
                case "list":
                    self.seen.append(1)
                case "plain tensor":
                    self.plain += 1
            return x + self.count + self.calls + len(self.seen) + self.plain

    nodes = [node("Add", ["x", "one"], ["y"])]
    one = {"one": torch.tensor(1.0)}
    path = write(nodes, BATCH, {"y": (torch.float32, ["batch", 4])}, weights=one)
    model = Counter()
    verified = verify(load(model, x=torch.ones(2, 4)), path, ORT)
    assert verified.stateful
    assert not verified.nondeterministic
    assert not failures(verified)  # each case starts from the state the user's model is in
    assert (model.count, model.calls, model.seen, model.plain) == (0, 0, [], 0)


def test_inputs_and_buffers_of_the_user_are_not_written_to(load: Any, write: Any) -> None:
    class Writes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.add_(1)

    nodes = [node("Add", ["x", "one"], ["y"])]
    one = {"one": torch.tensor(1.0)}
    path = write(nodes, BATCH, {"y": (torch.float32, ["batch", 4])}, weights=one)
    x = torch.zeros(2, 4)
    assert verify(load(Writes(), x=x), path, ORT).proven
    assert torch.equal(x, torch.zeros(2, 4))


def test_a_cast_leaf_is_cast_for_the_model_only(load: Any, write: Any, linear: nn.Linear) -> None:
    nodes = [
        node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT),
        node("Gemm", ["wide", "w", "b"], ["y"], transB=1),
    ]
    inputs = {"x": (torch.float16, ["batch", 4])}
    path = write(nodes, inputs, OUT, weights={"w": linear.weight, "b": linear.bias})
    x = torch.randn(2, 4, dtype=torch.float16)
    assert verify(load(linear, x=x, casts={"x": "float32"}), path, ORT).proven
    assert not verify(load(linear, x=x), path, ORT).proven


def test_a_bfloat16_inside_widens_the_tolerance(load: Any, write: Any) -> None:
    class Mixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x.bfloat16() * 3).float()

    path = write(
        [node("Mul", ["x", "three"], ["y"])],
        BATCH,
        {"y": (torch.float32, ["batch", 4])},
        weights={"three": torch.tensor(3.0)},
    )
    verified = verify(load(Mixed(), x=torch.randn(2, 4)), path, ORT)
    assert verified.proven
    assert verified.rows[0].rtol == 4e-2


def test_the_runtime_refusing_the_file_is_said_in_one_line(load: Any, write: Any) -> None:
    path = write([node("NoSuchOperator", ["x"], ["y"])], BATCH, {"y": (torch.float32, [2, 4])})
    verified = verify(load(nn.Identity(), x=torch.ones(2, 4)), path, ORT)
    assert verified.rows == ()
    assert "NoSuchOperator" in verified.runtime_error
    assert "\n" not in verified.runtime_error
    assert "ONNXRuntimeError" not in verified.runtime_error
    assert not verified.proven


def test_the_runtime_failing_at_a_size_is_a_failure(load: Any, write: Any) -> None:
    nodes = [node("Add", ["x", "two_rows"], ["y"])]
    two_rows = {"two_rows": torch.zeros(2, 4)}
    path = write(nodes, BATCH, {"y": (torch.float32, ["batch", 4])}, weights=two_rows)
    verified = verify(load(lambda x: x + 0, x=torch.randn(2, 4)), path, ORT)
    assert "batch=3" in failures(verified)
    assert "Add" in failures(verified)["batch=3"]


def test_ranges_of_the_file_bound_the_sizes(load: Any, write: Any) -> None:
    out = {"y": (torch.float32, ["batch", 4])}
    nodes = [node("Identity", ["x"], ["y"])]
    path = write(nodes, BATCH, out, ranges={"batch": "2..5"})
    verified = verify(load(nn.Identity(), x=torch.randn(4, 4)), path, ORT)
    assert {row.sizes["batch"] for row in verified.rows} == {2, 4, 5}


def test_further_sizes_find_what_the_usual_ones_miss(load: Any, write: Any) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x * 3 if x.shape[0] == 6 else x * 2

    path = write([node("Add", ["x", "x"], ["y"])], BATCH, {"y": (torch.float32, ["batch", 4])})
    loaded = load(model, x=torch.randn(4, 4))
    assert verify(loaded, path, ORT).proven
    assert failures(verify(loaded, path, ORT, sizes=[{"batch": 6}])).keys() == {"batch=6"}
    twice = verify(loaded, path, ORT, sizes=[{"batch": 1}])  # one of the usual ones
    tried = ["example", "batch=1", "batch=5", "other values", "batch=13"]
    assert [row.case for row in twice.rows] == tried


def test_a_file_for_fewer_sizes_than_were_asked_fails(load: Any, write: Any) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] > 2 else x * 3

    out = {"y": (torch.float32, ["batch", 4])}
    nodes = [node("Add", ["x", "x"], ["y"])]
    path = write(nodes, BATCH, out, ranges={"batch": "3.."})
    x = torch.randn(4, 4)

    def proven(spec: DimSpec) -> bool:
        return verify(load(model, x=x, dims={"x": ((0, spec),)}), path, ORT).proven

    assert not proven(DimSpec("batch"))
    assert proven(DimSpec("batch", lower=3))
    assert proven(DimSpec("batch", asked=False))  # nobody asked: the file's word is enough


def test_expressions_and_numbers_follow_the_symbols(load: Any, write: Any) -> None:
    def model(x: torch.Tensor, y: torch.Tensor, n: int) -> tuple[torch.Tensor, int]:
        assert y.shape[0] == 2 * x.shape[0] + 1
        return y[1:].reshape(x.shape[0], -1) + x.sum() + n, n

    nodes = [
        node("Slice", ["y", "one", "far"], ["rest"]),
        node("Shape", ["x"], ["rows"], end=1),
        node("Concat", ["rows", "minus"], ["shape"], axis=0),
        node("Reshape", ["rest", "shape"], ["folded"]),
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Cast", ["n"], ["nf"], to=TensorProto.FLOAT),
        node("Add", ["folded", "sum"], ["part"]),
        node("Add", ["part", "nf"], ["z"]),
        node("Identity", ["n"], ["m"]),
    ]
    weights = {
        "one": torch.tensor([1]),
        "far": torch.tensor([2**62]),
        "minus": torch.tensor([-1]),
    }
    inputs = {
        "x": (torch.float32, ["rows"]),
        "y": (torch.float32, ["2*rows + 1"]),
        "n": (torch.int64, []),
    }
    outputs = {"z": (torch.float32, ["rows", 2]), "m": (torch.int64, [])}
    path = write(nodes, inputs, outputs, weights=weights)
    loaded = load(
        model, x=torch.randn(3), y=torch.randn(7), n=5, scalars={"n": DimSpec("n", lower=2)}
    )
    verified = verify(loaded, path, ORT)
    assert verified.proven, failures(verified)
    sizes = {(row.sizes["rows"], row.sizes["n"]) for row in verified.rows}
    assert {(3, 5), (5, 7), (1, 5), (3, 2)} <= sizes
    assert len(verified.rows) == 2 * 9


def test_an_exported_program_and_torchscript_are_references_too(
    load: Any, linear: nn.Linear, linear_file: Path
) -> None:
    x = torch.randn(2, 4)
    dynamic = {"input": {0: torch.export.Dim("batch")}}
    program = torch.export.export(linear, (x,), dynamic_shapes=dynamic)
    assert verify(load(program, x=x), linear_file, ORT).proven
    with warnings.catch_warnings(action="ignore"):  # torch calls it deprecated; people have it
        script = torch.jit.script(linear)
    assert verify(load(script, x=x), linear_file, ORT).proven


def test_a_missing_file_is_misuse(load: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        verify(load(nn.Identity(), x=torch.ones(1)), tmp_path / "no.onnx", ORT)


def test_inputs_that_match_nothing_are_misuse(load: Any, linear_file: Path) -> None:
    with pytest.raises(UsageError, match="the file has 1 inputs, the example 2 tensors"):
        verify(load(torch.add, a=torch.ones(1), b=torch.ones(1)), linear_file, ORT)


def test_time_ends_the_proof_but_not_before_two_sizes_and_values(
    load: Any, linear: nn.Linear, linear_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "SECONDS", -1.0)
    verified = verify(load(linear, x=torch.randn(2, 4)), linear_file, ORT)
    assert [row.case for row in verified.rows] == ["example", "batch=3", "other values", "batch=1"]
    assert verified.proven


def test_what_follows_from_a_size_is_a_size(load: Any, write: Any) -> None:
    dims = {"x": (torch.float32, ["n", "10 - n"])}
    path = write([node("Add", ["x", "x"], ["y"])], dims, {"y": dims["x"]})
    verified = verify(load(lambda x: x + x, x=torch.randn(4, 6)), path, ORT)
    assert verified.proven
    assert all(row.sizes["n"] <= 10 for row in verified.rows)


class Inverts(nn.Module):
    """By the iteration of Newton and Schulz, which runs away from a matrix that is far from 1."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found, twice = 0.5 * torch.eye(x.shape[-1]), 2 * torch.eye(x.shape[-1])
        for _ in range(9):
            found = found @ (twice - x @ found)
        return found


def test_values_beyond_the_range_of_the_model_give_way_to_tamer_ones(tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.eye(5) + 0.1 * torch.randn(5, 5)
    report = onnxpert.export(Inverts().eval(), (x,), tmp_path / "net.onnx")
    assert {row.case for row in report.verified if row.verdict == "pass"} == {
        "example",
        "other values (near the example)",
    }
