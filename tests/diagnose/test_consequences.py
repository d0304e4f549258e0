"""What follows from one blocker, or from nothing at all, is no finding of its own."""

from __future__ import annotations

import functools
import random
import sys
from typing import Any

import numpy
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture.exporting import exported
from onnxpert.core.types import Request
from onnxpert.load import load


def loud(model: nn.Module, args: tuple[Any, ...], **options: Any) -> list[str]:
    """The rules of the errors and warnings."""
    report = onnxpert.diagnose(model.eval(), args, **options)
    return [each.rule for each in report.findings if each.severity != "info"]


class Reversible(nn.Module):
    """Keeps a mean from the call that takes it off to the one that puts it back."""

    def forward(self, x: Tensor, back: bool = False) -> Tensor:
        if back:
            return x + self.mean
        self.mean = x.mean(1, keepdim=True)
        return x - self.mean


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.around, self.layer = Reversible(), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.around(self.layer(self.around(x)), back=True)


def test_what_a_forward_hands_on_to_itself_is_no_warning() -> None:
    report = onnxpert.diagnose(Forecaster().eval(), (torch.randn(2, 4),))
    assert report.ok
    assert [(each.rule, each.severity) for each in report.findings] == [("STA302", "info")]


class Settles(nn.Module):
    """Numbers and a table that are made once, of nothing that a call is given."""

    def __init__(self) -> None:
        super().__init__()
        self._gain: float | None = None
        self.layer = nn.Linear(4, 4)

    @functools.cached_property
    def scale(self) -> float:
        return self.layer.in_features**-0.5

    @functools.cached_property
    def table(self) -> Tensor:
        return torch.arange(4.0)

    @property
    def gain(self) -> float:
        if self._gain is None:
            self._gain = 1 / self.layer.out_features
        return self._gain

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * self.scale * self.gain + self.table


def test_what_a_model_makes_once_is_no_warning() -> None:
    assert loud(Settles(), (torch.randn(2, 4),)) == []


class Keeps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.level: float | None = None
        self.length = 0

    def forward(self, x: Tensor) -> Tensor:
        if self.level is None:
            self.level = x.mean().item()
        self.length = len(x)
        return x * 2


def test_what_comes_of_the_data_or_of_each_call_stays_a_warning() -> None:
    assert loud(Keeps(), (torch.randn(2, 4),)) == ["STA302", "STA302"]


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.level = torch.zeros(())

    def forward(self, x: Tensor) -> Tensor:
        self.level = 0.9 * self.level + x.mean()
        return x * 2


def test_what_is_read_before_it_is_written_stays_a_warning() -> None:
    assert loud(Running(), (torch.randn(2, 4),)) == ["STA302"]


class Grows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.history: list[Tensor] = []
        self.layer = nn.Conv1d(3, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        self.history.append(x)
        return self.layer(x)


def test_a_list_that_grows_is_all_that_torch_export_saw_assigned() -> None:
    loaded = load(Request(Grows().eval(), (torch.randn(1, 3, 5),)))
    assert exported(loaded, "torch.export", strict=False).written == ("history",)


class Forced(nn.Module):
    """Its two recurrences draw what they go on with, each in every run."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t] if random.random() < 0.5 else h, h)
        return h


def test_runs_that_are_compared_draw_the_same() -> None:
    args, before = (torch.randn(2, 6, 3),), random.getstate()
    assert "SHP201" not in loud(Forced(), args, dynamic_shapes=({0: "batch"},))
    assert random.getstate() == before


class Pair(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["user"] + batch["city"]


def test_a_misnamed_input_fixes_nobody_else() -> None:
    batch = {"user": torch.randn(3, 2), "city": torch.randn(3, 2)}
    spec = {"batch": {"town": {0: "b"}, "user": {0: "b"}}}
    assert loud(Pair(), (batch,), dynamic_shapes=spec) == ["INP101"]


class Ragged(nn.Module):
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        rows = [row[row > 0].mean(0, keepdim=True) for row in batch["user"]]
        mean = torch.nested.nested_tensor(rows).to_padded_tensor(0.0)
        return mean + batch["city"]


def test_nor_beside_what_cannot_be_captured() -> None:
    batch = {"user": torch.rand(3, 2), "city": torch.randn(3, 1), "day": torch.ones(3)}
    spec = {"batch": {"town": {0: "b"}, "user": {0: "b"}}}
    assert loud(Ragged(), (batch,), dynamic_shapes=spec) == ["INP101", "CAP001"]


class Fixed(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        return image.reshape(3, 2)


def test_the_only_input_is_meant_by_whatever_name() -> None:
    rules = loud(Fixed(), (torch.randn(3, 2),), dynamic_axes={"picture": {0: "batch"}})
    assert rules == ["INP101", "SHP201"]


class Join(nn.Module):
    def forward(self, query: Tensor, text: Tensor, mask: Tensor) -> Tensor:
        joined = torch.cat([query, text * mask], 1)
        return torch.linalg.eigvals(joined[:, :2, None] * joined[:, None, :2])


def test_a_name_of_two_sizes_is_said_once_and_fixes_nothing() -> None:
    args = (torch.randn(2, 3), torch.randn(2, 5), torch.ones(2, 5))
    spec = ({1: "n"}, {1: "n"}, {1: "n"})
    assert loud(Join(), args, dynamic_shapes=spec) == ["INP106", "OPS501"]


class Iterates(nn.Module):
    def forward(self, query: Tensor, text: Tensor, mask: Tensor) -> Tensor:
        joined = torch.cat([query, text]) * torch.cat([query, mask])
        return joined.sum() + len({int(t): 1.0 for t in text})


def test_a_size_is_not_fixed_by_values_that_are_taken_out_one_by_one() -> None:
    args = (torch.randn(3), torch.randn(5), torch.randn(5))
    assert loud(Iterates(), args, dynamic_shapes=({0: "q"}, {0: "t"}, {0: "t"})) == ["CTL405"]


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 3)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        return h + len(set(x.flatten().tolist()))


def test_a_loop_over_a_size_is_no_blocker_beside_another() -> None:
    rules = loud(Steps(), (torch.randn(2, 4, 3),), dynamic_shapes=({1: "steps"},))
    assert rules
    assert "SHP201" not in rules


class Likely(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.distributions.Normal(x, x.abs() + 1).log_prob(x)


def test_what_distributions_check_of_their_own_accord_is_no_branch_of_the_models() -> None:
    before = torch.distributions.Distribution._validate_args  # torch.compile sets it, for one
    report = onnxpert.diagnose(Likely(), (torch.randn(3),))
    assert report.ok
    assert not report.findings
    assert torch.distributions.Distribution._validate_args is before


class Leaves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 1:
            sys.exit(3)
        return x


def test_a_model_that_ends_the_process_is_an_error_at_its_line() -> None:
    report = onnxpert.diagnose(Leaves(), (torch.randn(3),))
    (found,) = report.findings
    assert found.rule == "INP112"
    assert "sys.exit(3)" in found.message
    assert found.location is not None
    assert found.location.code == "sys.exit(3)"


class Asks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 3:
            x = x * 2
        assert x.max() < 1e6
        return torch.from_numpy(numpy.unwrap(x.numpy()))


def test_questions_that_a_file_can_ask_are_only_told_of_beside_an_obstacle() -> None:
    report = onnxpert.diagnose(Asks().eval(), (torch.randn(4),))
    told = {each.rule: each.severity for each in report.findings}
    assert told == {"CTL401": "info", "CTL404": "info", "CTL402": "error"}


class Grouped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.level = 0.0

    def forward(self, x: Tensor, kinds: Tensor) -> Tensor:
        groups: dict[int, int] = {}
        for kind in kinds.tolist():  # taken
            groups[kind] = groups.get(kind, 0) + 1  # needed
        self.level = x.sum().item()  # kept
        return x * len(groups)


def test_numbers_as_keys_are_one_error_where_they_are_taken_and_told_where_they_are_needed() -> (
    None
):
    report = onnxpert.diagnose(Grouped().eval(), (torch.randn(3), torch.tensor([1, 2, 1])))
    marks = [
        (each.severity, each.location.code.partition("# ")[2])
        for each in report.findings
        if each.rule.startswith("CTL") and each.location
    ]
    assert sorted(marks) == [("error", "taken"), ("info", "kept"), ("info", "needed")]


class Nested(nn.Module):
    def forward(self, x: Tensor, sizes: Tensor) -> Tensor:
        rows = [row[: int(size)] for row, size in zip(x, sizes, strict=True)]
        return torch.nested.nested_tensor(rows).to_padded_tensor(0.0)


class Laid(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.to_mkldnn().to_dense() + 1


def test_a_tensor_that_no_graph_has_goes_by_its_own_name() -> None:
    nested = onnxpert.diagnose(Nested().eval(), (torch.randn(2, 3), torch.tensor([2, 3])))
    laid = onnxpert.diagnose(Laid().eval(), (torch.randn(2, 3),))
    (one,), (other,) = (
        [each.message for each in report.findings if each.severity == "error"]
        for report in (nested, laid)
    )
    assert "makes a nested tensor" in one
    assert "mkldnn" in other.lower().replace("-", "")  # or the operator, from torch 2.15 on


class Rows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows = [numpy.unwrap(row.numpy()) for row in x]
        return torch.tensor(numpy.stack(rows))


class Turns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(4)
        for row in x:
            total = total + torch.from_numpy(numpy.unwrap(row.numpy()))
        return total


def test_a_size_is_not_fixed_by_what_stands_in_for_an_array() -> None:
    args = (torch.randn(3, 4),)
    for model in (Rows(), Turns()):
        assert set(loud(model, args, dynamic_shapes=({0: "rows"},))) == {"CTL402"}


class Trained(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(4), nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        return self.drop(x)


def test_training_mode_is_one_error_however_many_layers_act_on_it() -> None:
    report = onnxpert.diagnose(Trained().train(), (torch.randn(3, 4),))
    told = [each for each in report.findings if each.rule == "STA303"]
    assert [each.severity for each in told] == ["error", "info"]


class Tiles(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(1, 2, 8, 2, 8).mean((2, 4))


def test_two_sizes_that_only_fit_as_they_are_are_said_to_be_fixed() -> None:
    spec = ({1: "h", 2: "w"},)
    report = onnxpert.diagnose(Tiles().eval(), (torch.randn(1, 16, 16),), dynamic_shapes=spec)
    assert [each.message for each in report.findings] == [
        "h and w were asked to be dynamic, but the model takes them with h*w == 256 only"
    ]


class Sparse(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        sparse = x.to_sparse()
        return sparse.values().sum() + (sparse @ x).sum()


class SparseBeside(Sparse):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * torch.from_numpy(numpy.unwrap(x.numpy()))


def test_what_takes_a_sparse_tensor_goes_with_what_made_it() -> None:
    args = (torch.randn(3, 3),)
    assert loud(Sparse(), args) == ["OPS501"]
    assert sorted(loud(SparseBeside(), args)) == ["CTL402", "OPS501"]
