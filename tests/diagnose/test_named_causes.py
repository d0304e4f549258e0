"""Causes that other findings used to stand in for, or to hide: each is named, at its line."""

from __future__ import annotations

import json

import numpy
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert import Severity
from tests.diagnose.test_far_causes import marks


class Table:
    """Rows that are collected, and written in the end."""

    def __init__(self) -> None:
        self.rows: list[float] = []

    def text(self) -> str:
        return json.dumps(self.rows)  # text


class Writes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.report = Table()

    def forward(self, x: Tensor) -> Tensor:
        self.report.rows.append(x.mean().item())
        length = len(self.report.text())
        return torch.from_numpy(numpy.unwrap(x.numpy())) + length  # array


def test_a_body_that_is_run_once_more_starts_from_what_it_held() -> None:
    report = onnxpert.diagnose(Writes().eval(), (torch.ones(3),))
    assert marks(report, "CTL405") == {"text": Severity.ERROR}
    assert marks(report, "CTL402") == {"array": Severity.ERROR}


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.randn(1, 4, 16))

    def forward(self, x: Tensor, names: int) -> tuple[Tensor, str]:
        y = x.flatten(2) + self.positions  # table
        return y, "ab"[y.argmax().item() % 2] if names else ""


@pytest.mark.parametrize(("names", "severity"), [(0, Severity.WARNING), (1, Severity.INFO)])
def test_two_sizes_that_only_their_product_fixes(names: int, severity: Severity) -> None:
    sizes = ({0: "n", 2: "h", 3: "w"}, None)
    args = (torch.randn(2, 4, 4, 4), names)
    report = onnxpert.diagnose(Patches().eval(), args, dynamic_shapes=sizes)
    assert marks(report, "SHP206") == {"table": severity}


class Seeded(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        order = torch.randperm(64, generator=torch.Generator().manual_seed(3))  # draw
        return x[:, order]


class Masking(nn.Module):
    def cover(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        if noise is None:
            noise = torch.rand(x.shape)  # draw
        return x * (noise > 0.5)

    def forward(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        return self.cover(x, noise)


class Covering(Masking):
    def cover(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        if x.shape[0] > 1:
            noise = torch.rand(x.shape)  # draw anew
        return x * (noise > 0.5)


@pytest.mark.parametrize(
    ("model", "cure"),
    [
        (Masking(), "give `noise`, which is drawn only where nobody does,"),
        (Covering(), "give the random tensor as an input,"),
    ],
)
def test_noise_that_may_be_given_is_named(model: nn.Module, cure: str) -> None:
    x = torch.randn(3, 64)
    (found,) = onnxpert.diagnose(model.eval(), (x,)).findings
    assert found.rule == "NUM702"
    assert found.help.startswith(cure)
    given = onnxpert.diagnose(model.eval(), (x, torch.rand(3, 64)))
    assert given.ok is (type(model) is Masking)


def test_a_seed_of_the_models_own_is_named() -> None:
    report = onnxpert.diagnose(Seeded().eval(), (torch.randn(3, 64),))
    assert marks(report, "NUM702") == {"draw": Severity.ERROR}
    assert not marks(report, "NUM701")


class Normalised(nn.Module):
    def __init__(self, tracked: bool) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, track_running_stats=tracked)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)  # norm


@pytest.mark.parametrize("tracked", [True, False])
def test_an_instance_norm_trains_where_it_has_statistics_of_its_own(tracked: bool) -> None:
    model = Normalised(tracked).eval()
    model.norm.train()
    report = onnxpert.diagnose(model, (torch.randn(2, 3, 5),))
    assert marks(report, "STA312") == ({"norm": Severity.ERROR} if tracked else {})


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_a_batch_norm_trains_where_it_has_statistics_of_its_own(tracked: bool, whole: bool) -> None:
    model = Normalised(tracked).train(whole)
    model.norm = nn.BatchNorm1d(3, track_running_stats=tracked)
    report = onnxpert.diagnose(model, (torch.randn(2, 3, 5),))
    rule = "STA303" if whole else "STA312"
    assert marks(report, rule) == ({"norm": Severity.ERROR} if tracked else {})
    assert report.ok is not tracked
    if not (tracked or whole):
        assert marks(report, "STA313") == {"norm": Severity.INFO}


class ToldToTrain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("variance", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.batch_norm(x, self.mean, self.variance, training=True)  # norm


def test_a_batch_norm_that_is_told_to_train_is_not_said_to_have_no_statistics() -> None:
    report = onnxpert.diagnose(ToldToTrain().eval(), (torch.randn(2, 3, 5),))
    assert report.ok
    assert marks(report, "STA313") == {"norm": Severity.WARNING}
    assert all("has no running" not in finding.message for finding in report.findings)


class Tallies(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tally: dict[str, int] = {}

    def forward(self, x: Tensor) -> Tensor:
        self.tally["calls"] = self.tally.get("calls", 0) + 1  # first
        self.tally["rows"] = x.shape[0]  # second
        return x * 2


def test_each_line_that_changes_an_attribute_is_told_and_one_is_warned_of() -> None:
    report = onnxpert.diagnose(Tallies().eval(), (torch.randn(3),))
    assert marks(report, "STA302") == {"first": Severity.WARNING, "second": Severity.INFO}


class Settles(nn.Module):
    def __init__(self, noise: float) -> None:
        super().__init__()
        self.noise = noise

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(6):
            before = x
            x = x / (1 + x.abs().sum())
            if (x - before).abs().max().item() < 0.1:  # test
                break
        return x + torch.randn(3) * self.noise if self.noise else x


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_loop_that_ends_early_is_told_at_the_line_that_ends_it(noise: float) -> None:
    report = onnxpert.diagnose(Settles(noise).eval(), (torch.randn(3),))
    assert marks(report, "CTL406") == {"test": Severity.INFO}
    assert not marks(report, "CTL409")


class Counts(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        best = -1
        for row in x.unbind():
            if int((row > 0).sum()) > best:
                best = int((row > 0).sum()) + 1
        return x * best, "ab"[int(x.argmax()) % 2]  # letter


def test_a_number_that_is_needed_does_not_make_others_of_the_function_needed() -> None:
    report = onnxpert.diagnose(Counts().eval(), (torch.randn(3, 6),))
    assert marks(report, "CTL405") == {"letter": Severity.ERROR}


class Sentence:
    """No dataclass: nothing says what is in it."""

    def __init__(self, ids: Tensor) -> None:
        self.ids = ids


class Spectrum(nn.Module):
    def forward(self, sentence: Sentence) -> Tensor:  # taken
        spectrum = torch.fft.fft(sentence.ids)
        return spectrum * 2  # given


def test_what_is_refused_is_not_said_to_be_in_the_file() -> None:
    report = onnxpert.diagnose(Spectrum().eval(), (Sentence(torch.ones(4)),))
    assert marks(report, "INP105") == {"taken": Severity.ERROR}
    assert marks(report, "INP124") == {}


def test_a_complex_output_is_told_where_it_is_returned() -> None:
    report = onnxpert.diagnose(Spectrum().eval(), (Sentence(torch.ones(4)),))
    assert marks(report, "DTY901") == {"given": Severity.INFO}


class Translates(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Transformer(8, 2, 1, 1, 8, batch_first=True)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        mask = torch.triu(torch.full((y.size(1), y.size(1)), float("-inf")), 1)
        return self.both(x, y, tgt_mask=mask)  # called


def test_a_branch_of_a_librarys_is_no_warning_at_the_line_that_calls_it() -> None:
    args = (torch.randn(2, 5, 8), torch.randn(2, 4, 8))
    sizes = {"x": {1: "s"}, "y": {1: "t"}}
    report = onnxpert.diagnose(Translates().eval(), args, dynamic_shapes=sizes)
    assert report.ok
    assert marks(report, "CTL409") == {"called": Severity.INFO}


class Refuses(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, bytes]:
        kept = x[x > 0]
        if kept.numel() == 0:  # size
            raise ValueError("nothing is left")
        if x.sum() > 1e4:  # value
            raise OverflowError
        return kept, x.numpy().tobytes()


def test_a_check_is_told_as_one_in_a_model_that_has_a_blocker() -> None:
    report = onnxpert.diagnose(Refuses().eval(), (torch.ones(3),))
    assert not report.ok
    assert marks(report, "CTL407") == {"size": Severity.INFO, "value": Severity.INFO}
    assert marks(report, "CTL401") == marks(report, "SHP214") == {}


class Pyramid(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, list[tuple[int, int]]]:
        return x * 2, [(8, 4), (4, 2)]


def test_numbers_among_the_outputs_are_told_at_once() -> None:
    report = onnxpert.diagnose(Pyramid().eval(), (torch.randn(2, 3),), output_names=["y"])
    (found,) = [each for each in report.findings if each.rule == "INP122"]
    assert found.message == "4 outputs are numbers, the same whatever the input"
    assert "1_0_0 = 8, 1_0_1 = 4, 1_1_0 = 4, 1_1_1 = 2" in found.notes[0]


def _inverse(x: Tensor) -> Tensor:
    return torch.linalg.inv(x)  # inverse


class Falls(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Tensor:
        try:
            y = _inverse(x)
        except RuntimeError:
            y = torch.eye(3)
        try:
            z = torch.linalg.cholesky(x @ x.mT)
        except torch.linalg.LinAlgError as error:
            raise ValueError("not to be decomposed") from error
        return y @ z * [1.0, 2.0, 3.0][int(k) % 3]  # turned


def test_what_an_except_goes_on_with_is_told_where_an_operator_may_raise() -> None:
    report = onnxpert.diagnose(Falls().eval(), (torch.eye(3) * 2, torch.tensor(4)))
    assert marks(report, "NUM701") == {"inverse": Severity.ERROR}  # at a matrix of zeros
    assert marks(report, "CTL414") == {}
    assert marks(report, "DTY902") == {}  # a number of Python's own, in a model of single precision


class Flat(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            y = _inverse(x)
        except RuntimeError:
            y = torch.zeros_like(x)
        return y.sum(-1) * 2


def test_what_the_example_makes_an_except_go_on_with_is_no_wrong_translation() -> None:
    report = onnxpert.diagnose(Flat().eval(), (torch.ones(3, 3),))
    assert marks(report, "NUM701") == {"inverse": Severity.ERROR}
    assert marks(report, "CTL414") == {}
    (found,) = [each for each in report.findings if each.blocks]
    assert "goes on after an error at example" in found.message


class Averages(nn.Module):
    last: Tensor | None = None

    def forward(self, x: Tensor, like: Tensor) -> Tensor:
        y = x if self.last is None else x + self.last
        self.last = y  # kept
        return y.sum() + torch.zeros(like.shape[0])


def test_what_a_second_call_shows_is_not_warned_of_as_well() -> None:
    report = onnxpert.diagnose(Averages().eval(), (torch.ones(3), torch.ones(2)))
    assert marks(report, "STA305") == {"kept": Severity.ERROR}
    assert marks(report, "STA302") == {}


def test_an_input_of_which_the_size_is_used_need_not_be_left_out() -> None:
    report = onnxpert.diagnose(Averages().eval(), (torch.ones(3), torch.ones(2)))
    (found,) = [each for each in report.findings if each.rule == "INP114"]
    assert found.help.startswith("nothing to do if only the size of like is wanted")


class Chosen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            worst = x[x > 0].max()  # largest
        except RuntimeError:
            worst = torch.tensor(0.0)
        return x - worst + x.max(0).values  # of all rows, which are there


def test_the_largest_of_what_a_mask_chooses_may_be_of_nothing() -> None:
    report = onnxpert.diagnose(Chosen().eval(), (torch.randn(4, 3),))
    assert marks(report, "CTL414") == {"largest": Severity.WARNING}


def test_an_index_that_is_surely_within_is_not_said_to_raise() -> None:
    report = onnxpert.diagnose(Falls().eval(), (torch.eye(3) * 2, torch.tensor(4)))
    assert marks(report, "CTL407") == {}


class Lazily(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.LazyLinear(4))
        self.norm = nn.LazyBatchNorm1d()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.body(x))  # called
        self.calls += 1  # changed
        return torch.linalg.eigvals(y * self.calls).abs()  # unsupported


def test_layers_without_weights_hide_nothing() -> None:
    model = Lazily().eval()
    report = onnxpert.diagnose(model, (torch.randn(4, 3),))
    assert marks(report, "CAP005") == {"called": Severity.ERROR}
    assert marks(report, "STA301") == {"changed": Severity.ERROR}
    assert marks(report, "OPS501") == {"unsupported": Severity.ERROR}
    assert model.norm.has_uninitialized_params()  # it is the user's to make them


class LazilyElsewhere(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.LazyLinear(3)

    def forward(self, x: Tensor) -> Tensor:
        away = torch.ones(3, device="cuda")  # moved
        return torch.linalg.eigvals(self.body(x) * away.to(x)).abs()  # unsupported


def test_nor_do_they_hide_a_device_that_is_not_there() -> None:
    report = onnxpert.diagnose(LazilyElsewhere().eval(), (torch.randn(3, 2),))
    assert marks(report, "CAP005") == {"unsupported": Severity.ERROR}
    assert marks(report, "CAP004") == {"moved": Severity.ERROR}
    assert marks(report, "OPS501") == {"unsupported": Severity.ERROR}


class Measures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.observer = torch.ao.quantization.MinMaxObserver()
        self.rounding = torch.ao.quantization.FakeQuantize()

    def forward(self, x: Tensor, rows: Tensor) -> Tensor:
        y = self.rounding(self.observer(x))  # measured
        y = torch.sparse.mm(rows, y) if rows.is_sparse else rows @ y
        return torch.linalg.eigvals(y).abs()  # beyond


@pytest.mark.parametrize("rows", [torch.eye(3), torch.eye(3).to_sparse()], ids=["dense", "sparse"])
def test_observers_and_sparse_inputs_hide_nothing(rows: Tensor) -> None:
    model = Measures().eval()
    report = onnxpert.diagnose(model, (torch.randn(3, 3), rows))
    assert marks(report, "QNT101") == {"measured": Severity.ERROR}
    assert marks(report, "OPS501") == {"beyond": Severity.ERROR}
    assert model.observer.min_val.isinf()  # and measures nothing meanwhile


class Looks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 3)

    def forward(self, x: Tensor, ids: Tensor, unused: Tensor) -> Tensor:
        y = torch.linalg.eigvals(x).abs()  # unsupported
        names = {int(y.sum()): "one"}  # keyed
        return self.table(ids).sum() + len(names)  # refused


def test_what_comes_before_the_line_that_refuses_the_example_is_told() -> None:
    args = (torch.randn(3, 3), torch.tensor([2, 7]), torch.ones(1))
    report = onnxpert.diagnose(Looks().eval(), args)
    assert marks(report, "INP118") == {"refused": Severity.ERROR}
    assert marks(report, "OPS501") == {"unsupported": Severity.ERROR}
    assert marks(report, "CTL405") == {"keyed": Severity.ERROR}
    told = [each.message for each in report.findings if each.rule in ("INP114", "INP121")]
    assert told == ["no output depends on the input unused"]


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 5)

    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.eigvals(self.conv(x)[0]).abs()  # behind


def test_behind_an_example_that_is_too_small_the_look_goes_on() -> None:
    report = onnxpert.diagnose(Small().eval(), (torch.randn(1, 1, 4, 4),))
    assert [each.rule for each in report.findings if each.blocks] == ["INP111", "OPS501"]
    assert marks(report, "OPS501") == {"behind": Severity.ERROR}


class Trains(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        out = self.layer(x)
        nn.functional.mse_loss(out, y).backward()  # trained
        return torch.linalg.eigvals(out).abs()  # later


def test_a_forward_that_trains_is_no_refused_example() -> None:
    model = Trains()
    report = onnxpert.diagnose(model, (torch.randn(3, 3), torch.randn(3, 3)))
    assert marks(report, "CAP001") == {"trained": Severity.ERROR}
    assert marks(report, "OPS501") == {"later": Severity.ERROR}
    assert marks(report, "INP112") == {}
    assert model.layer.weight.grad is None


class Learns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        y.requires_grad_()
        (slope,) = torch.autograd.grad((y**2).sum(), y)  # of no weight
        return slope


def test_a_gradient_of_something_else_than_weights_is_left_in() -> None:
    """It needs gradients kept, also where no weight learns: to look at that again would never end."""
    report = onnxpert.diagnose(Learns(), (torch.randn(3, 3),))
    assert marks(report, "INP112") == {"of no weight": Severity.ERROR}


class Windows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        b, _, w = x.shape
        return x.reshape(b, 4, 4, w // 4, 4).transpose(2, 3)  # reshaped


def test_a_height_that_an_equation_leaves_no_room_is_told() -> None:
    sizes = ({0: "b", 1: "h", 2: "w"},)
    report = onnxpert.diagnose(Windows().eval(), (torch.randn(2, 16, 16),), dynamic_shapes=sizes)
    assert marks(report, "SHP203") == {"reshaped": Severity.WARNING}
    (found,) = [each for each in report.findings if each.rule == "SHP203"]
    assert found.message == "h was asked to be dynamic, but the model takes 16 only"


class Spells(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, str]:
        token = x[0].argmax()
        if token.item() == 1:  # branch
            x = x * 2
        letter = "abc"[int(token)]  # letter
        return x * len(letter), letter


def test_a_number_that_is_taken_twice_is_told_where_python_needs_it() -> None:
    report = onnxpert.diagnose(Spells().eval(), (torch.eye(3),))
    assert marks(report, "CTL405") == {"letter": Severity.ERROR}
    assert marks(report, "CTL401") == {"branch": Severity.INFO}


class Cut(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] > 8:
            raise ValueError("too long")
        table = torch.eye(6)[: x.shape[1]]  # cut
        return x @ table


def test_the_end_of_a_range_is_told_where_it_is_made() -> None:
    report = onnxpert.diagnose(Cut().eval(), (torch.randn(2, 6),), dynamic_shapes=({1: "n"},))
    assert marks(report, "SHP203") == {"cut": Severity.INFO}


class Recurs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.deep = nn.GRU(3, 3, num_layers=2, dropout=0.3)
        self.flat = nn.LSTM(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.deep(x)[0]  # drops
        return self.flat(y)[0]  # has nothing to drop between


def test_a_recurrent_layer_in_training_mode_is_told_as_such() -> None:
    model = Recurs().eval()
    model.deep.train()
    model.flat.train()
    report = onnxpert.diagnose(model, (torch.randn(4, 3),))
    assert marks(report, "STA312") == {"drops": Severity.ERROR}
    assert marks(report, "NUM702") == {}
    report = onnxpert.diagnose(model.train(), (torch.randn(4, 3),))
    assert marks(report, "STA303") == {"drops": Severity.ERROR}


class Orders(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rounded = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        best = torch.sort(rounded)[0].dequantize()  # unread
        kinds = {int(one) for one in x[0]}  # set
        return torch.linalg.eigvals(best).abs() * len(kinds)  # below


def test_behind_an_unread_quantised_operator_the_look_goes_on() -> None:
    report = onnxpert.diagnose(Orders().eval(), (torch.randn(3, 3),))
    assert marks(report, "OPS511") == {"unread": Severity.ERROR}
    assert marks(report, "CTL405") == {"set": Severity.ERROR}
    assert marks(report, "OPS501") == {"below": Severity.ERROR}
    assert marks(report, "CAP001") == {}


class Measured(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            return torch.from_numpy(numpy.unwrap(x.numpy()))  # array
        except RuntimeError:
            return x


class Worded(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            x = x * len(f"{float(str(x.mean().item())):.1f}")  # text
        except (ValueError, TypeError):
            x = x * 0
        return x


@pytest.mark.parametrize(
    ("model", "rule", "mark"), [(Measured(), "CTL402", "array"), (Worded(), "CTL405", "text")]
)
def test_an_except_of_the_models_hides_nothing(model: nn.Module, rule: str, mark: str) -> None:
    """It went on after the error that only a capture raises, and the file had its other way."""
    report = onnxpert.diagnose(model.eval(), (torch.ones(3),))
    assert marks(report, rule) == {mark: Severity.ERROR}
    assert not any(found.rule == "NUM701" for found in report.findings)


class Keyed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        try:
            key = x.data_ptr()
        except RuntimeError:
            key = None
        return x * 2 if key != 0 else x


def test_an_address_is_none_in_a_capture_and_the_model_may_go_on() -> None:
    assert onnxpert.diagnose(Keyed().eval(), (torch.ones(3),)).ok


class Mixes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x + torch.randn_like(x)
        share = torch.distributions.Beta(0.4, 0.4).sample()  # drawn
        return x * share * len({int(one) for one in x})


def test_a_draw_is_named_without_torchs_underscores() -> None:
    report = onnxpert.diagnose(Mixes().eval(), (torch.randn(3),))
    (found,) = [each for each in report.findings if each.rule == "NUM704"]
    assert found.message == "sample_dirichlet draws random numbers"
