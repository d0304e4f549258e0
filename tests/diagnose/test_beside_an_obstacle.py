"""What is told of a line when something else in the model cannot be exported: no more than is true of it."""

from __future__ import annotations

import copy
import heapq
import math
from typing import Any

import networkx
import numpy
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from tests.diagnose.test_far_causes import marks


def _text(x: Tensor) -> Tensor:
    return torch.from_numpy(x.numpy().astype("S4").view("u1"))  # obstacle


class Graph:
    """No dataclass: nothing says what is in it."""

    def __init__(self, x: Tensor, edges: Tensor) -> None:
        self.x = x
        self.edges = edges


def _parts(edges: Tensor) -> float:
    graph: Any = networkx.Graph()
    graph.add_edges_from(edges.t().tolist())  # kept
    return float(networkx.number_connected_components(graph))


class Layer(nn.Module):
    def forward(self, data: Graph) -> Tensor:
        return torch.linalg.eigvals(data.x[:, None] * data.x).real  # spectrum


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()

    def forward(self, data: Graph) -> Tensor:  # taken
        parts = _parts(data.edges)
        count = int(data.x.argmax()) + 1  # computed
        return self.layer(data) * parts + torch.zeros(count).sum()


def test_a_library_that_keeps_numbers_hides_nothing_behind_it() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    report = onnxpert.diagnose(Network().eval(), (Graph(torch.ones(3), edges),))
    errors = {(one.rule, one.location.code) for one in report.findings if one.severity == "error"}
    assert {(rule, code.rpartition("  # ")[2]) for rule, code in errors} == {
        ("INP105", "taken"),
        ("CTL402", "kept"),
        ("OPS501", "spectrum"),
    }
    assert marks(report, "CTL411") == {"computed": Severity.INFO}


NAMES = {0: "low", 1: "high"}
BOOST = {"low": 1.0, "high": 2.0}
SCALES = {0: 1.0, 1: 2.0}


class Chooses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: Tensor, k: Tensor) -> tuple[Tensor, ...]:
        x = self.heads[k[0].item()](x)  # layer
        x = x * SCALES[int(k[0])]  # number
        name = NAMES[int(k[0])]  # name
        return x * BOOST[name], _text(x)


def test_of_the_choices_that_data_make_only_what_no_file_can_say_is_an_error() -> None:
    report = onnxpert.diagnose(Chooses().eval(), (torch.randn(2, 4), torch.tensor([1, 0])))
    told = {**marks(report, "CTL401"), **marks(report, "CTL405")}
    assert told == {"layer": Severity.INFO, "number": Severity.INFO, "name": Severity.ERROR}


class Fits(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.numpy()  # array
        z = numpy.maximum(y, 0)
        return torch.from_numpy(numpy.polyfit(numpy.arange(len(y)), z, 2))  # fitted


def test_what_only_numpy_has_is_told_where_it_is_called_too() -> None:
    report = onnxpert.diagnose(Fits().eval(), (torch.randn(7),))
    assert marks(report, "CTL402") == {"array": Severity.ERROR, "fitted": Severity.INFO}


class Features(nn.Module):
    def forward(self, features: dict[str, Tensor], size: Tensor) -> tuple[Tensor, ...]:
        total = sum(features[name] for name in ("age", "price"))
        return total * size.shape[0], _text(size[:0])


def test_an_input_that_only_its_key_leads_to_is_told_when_nothing_reads_it() -> None:
    features = {name: torch.ones(3) for name in ("age", "price", "colour")}
    report = onnxpert.diagnose(Features().eval(), (features, torch.ones(2)))
    told = [one.message for one in report.findings if one.rule == "INP114"]
    assert told == ["no output depends on the values of the input features_colour"]


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.cache += x  # written
        return x + self.cache


def test_the_same_line_of_several_layers_is_one_finding() -> None:
    report = onnxpert.diagnose(nn.Sequential(Cached(), Cached()).eval(), (torch.ones(3),))
    (found,) = [one for one in report.findings if one.rule == "STA301"]
    assert found.message.startswith("forward changes the buffer cache,")
    assert (found.count, found.modules) == (2, ("0", "1"))


class Labels(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, list[str]]:
        return x + 1, ["a", "b", "c"]


def test_the_names_of_a_list_are_one_finding() -> None:
    report = onnxpert.diagnose(Labels().eval(), (torch.ones(3),))
    (found,) = [one for one in report.findings if one.rule == "INP121"]
    assert found.message == "the outputs 1_0 to 1_2 are each a str, and the file leaves them out"


class Nearest(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 2:  # followed
            x = x + 1
        rates = {80.0: 0.5, 120.0: 2.0}
        mean = x.mean().item()
        nearest = min(rates, key=lambda rate: abs(rate - mean))
        return x * rates[nearest]  # beyond


def test_of_all_branches_only_what_ends_the_writing_is_an_error() -> None:
    report = onnxpert.diagnose(Nearest().eval(), (torch.ones(3),))
    told = marks(report, "CTL401")
    assert report.ok or told["beyond"] is Severity.ERROR
    assert told.get("followed", Severity.INFO) is Severity.INFO


class Copies(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return copy.deepcopy(x) * 2


def test_a_deep_copy_is_exported_and_changes_nothing() -> None:
    report = onnxpert.diagnose(Copies().eval(), (torch.ones(3),))
    assert report.ok
    assert not report.findings


class Probed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.probe = torch.empty(2, 4, device="meta")

    def forward(self, x: Tensor) -> Tensor:
        rows = (self.probe + 1).shape[0]
        return x.view(rows, -1) * x.detach().numpy().cumsum(0).sum()


def test_a_constant_without_values_is_told_beside_what_cannot_be_followed() -> None:
    report = onnxpert.diagnose(Probed().eval(), (torch.ones(4, 4),))
    assert [one.rule for one in report.findings] == ["CTL402", "CAP003"]


class Integrates(nn.Module):
    def forward(self, y: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
        t, trail = torch.zeros(()), {}
        while t < end:
            step = y.abs().mean().clamp(0.1, 0.2)
            if step < 0.25:  # branch
                y = y + step * y.cos()
                trail[float(t)] = y  # key
            t = t + step
        return y, torch.stack(list(trail.values()))


def test_a_branch_is_none_where_what_is_in_the_way_stands_on_a_side_of_it() -> None:
    report = onnxpert.diagnose(Integrates().eval(), (torch.ones(3) * 0.2, torch.tensor(0.5)))
    assert marks(report, "CTL401") == {"branch": Severity.INFO}
    assert marks(report, "CTL405")["key"] is Severity.ERROR


class Beside(nn.Module):
    labels = ("low", "high")

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        if x.min() > 1:  # followed
            x = x - 1
        x = x + len(set(x.int().tolist()))  # obstacle
        best = x[:2].argmax().item()
        if self.labels[best].startswith("h"):  # label
            x = x + 1
        if x.norm() > 3:  # uneven
            return x, x * 2
        return (x,)


def test_what_is_in_the_way_behind_an_obstacle_is_told_as_that() -> None:
    report = onnxpert.diagnose(Beside().eval(), (torch.ones(4),))
    assert marks(report, "CTL401") == {"followed": Severity.INFO, "uneven": Severity.ERROR}
    told = marks(report, "CTL405")
    assert told["obstacle"] is Severity.ERROR
    assert told["label"] is Severity.INFO  # the error is where the number is taken
    assert told["best = x[:2].argmax().item()"] is Severity.ERROR


class Rounds(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rounds: set[int] = set()
        while x.sum() < 10:  # set
            x = x * 2
            rounds.add(len(rounds))
        while x.sum() > 3:  # plain
            x = x / 2
        if x.min() > 1:  # branch
            x = x - 1
        assert x.max() is not None
        return x / (1 + len(rounds))


def test_of_several_loops_only_the_one_that_no_file_can_say_is_an_error() -> None:
    report = onnxpert.diagnose(Rounds().eval(), (torch.ones(4),))
    assert marks(report, "CTL403") == {"set": Severity.ERROR, "plain": Severity.INFO}
    assert marks(report, "CTL401") == {"branch": Severity.INFO}


class Level(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        level = {0: 1.0, 1: 0.9}.get(math.floor(x.mean().item()), 0.5)  # level
        return x * level + torch.from_numpy(numpy.unwrap(x.numpy()))  # obstacle


def test_a_number_that_the_file_could_have_is_no_error_beside_an_obstacle() -> None:
    report = onnxpert.diagnose(Level().eval(), (torch.ones(4),))
    assert marks(report, "CTL402") == {"obstacle": Severity.ERROR}
    assert marks(report, "CTL405") == {"level": Severity.INFO}


class Follows(nn.Module):
    names = ("a", "bc")

    def forward(self, x: Tensor) -> Tensor:
        y = torch.from_numpy(numpy.unwrap(x.numpy()))  # obstacle
        return x * len(self.names[int(y[:2].argmax())])  # name


def test_what_is_made_of_an_obstacle_is_not_cleared_by_its_example() -> None:
    report = onnxpert.diagnose(Follows().eval(), (torch.ones(4),))
    assert marks(report, "CTL402") == {"obstacle": Severity.ERROR}
    assert marks(report, "CTL405") == {"name": Severity.ERROR}


class Plans(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        heap: list[float] = []
        for cost in x.tolist():  # taken
            heapq.heappush(heap, cost)
        if x.mean() > 1:  # followed
            x = x - 1
        return x * heapq.heappop(heap)


def test_a_heap_of_the_datas_numbers_is_put_in_order_as_a_sorted_list_is() -> None:
    report = onnxpert.diagnose(Plans().eval(), (torch.rand(12),))
    assert marks(report, "CTL402")["taken"] is Severity.ERROR
    assert marks(report, "CTL401") == {"followed": Severity.INFO}
