"""The benchmark: its page from made-up numbers, and one small measurement of each kind."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import latency, measure, models, run, table
from benchmarks.exporters import EXPORTERS
from benchmarks.processes import NoAnswerError, ask
from benchmarks.results import Cost, Latency, Results, Setting, Subject, said

SETTING = Setting("2026-01-02", "a machine, 2 cores", (("torch", "2.15.0"),), whole=True)
SUBJECTS = (
    Subject("mlp", "MLP"),
    Subject("deep2", "Deep, 2 layers", counted=False, layers=2),
    Subject("deep4", "Deep, 4 layers", layers=4),
    Subject("gone", "Gone", absent="ModuleNotFoundError: No module named 'timm'"),
)


def cost(model: str, exporter: str, warm_s: float) -> Cost:
    return Cost(
        model,
        exporter,
        cold_s=2 * warm_s,
        warm_s=warm_s,
        start_mib=500.0,
        peak_mib=620.0,
        nodes=7,
        file_bytes=3 * 2**20,
        pace_s=0.05,
    )


def timed(exporter: str, p10_ms: float, relative: float = 1e-6) -> Latency:
    return Latency("mlp", exporter, p10_ms * 1.1, p10_ms, 40, relative, relative)


def made_up() -> Results:
    ours = replace(cost("mlp", "onnxpert", 3.0), proof_s=0.5, proven=True)
    costs = (
        cost("mlp", "torch.export", 2.0),
        cost("mlp", "dynamo", 8.0),
        Cost("mlp", "legacy", error="RuntimeError: a | pipe and a `tick`"),
        ours,
        cost("deep2", "torch.export", 1.0),
        replace(ours, model="deep2", warm_s=2.0),
        cost("deep4", "torch.export", 2.0),
        replace(ours, model="deep4", cold_s=10.0, warm_s=None, warm_error="KeyError: again"),
    )
    speeds = (
        timed("eager", 3.0),
        timed("dynamo", 2.0),
        timed("legacy", 1.0),
        timed("onnxpert", 2.2),
    )
    return Results(SETTING, SUBJECTS, costs, speeds)


def row(page: str, heading: str, model: str) -> list[str]:
    section = page.split(f"## {heading}")[1].split("\n## ", maxsplit=1)[0]
    line = next(line for line in section.splitlines() if line.startswith(f"| {model} |"))
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[2:-1]]


def test_the_cost_is_given_with_its_ratio_to_the_yardstick() -> None:
    cells = row(table.page(made_up()), "Cost", "MLP")
    assert cells == ["2.00", "8.00 (4.00x)", "fails[^1]", "3.00 (1.50x)", "0.50"]


def test_the_means_are_geometric_and_leave_out_what_is_not_counted() -> None:
    page = table.page(made_up())
    cells = row(page, "Cost", "geometric mean")
    assert cells[3] == "1.94x"  # of 1.5 and 2.5; deep2's 2.0 is not counted
    assert "torch.onnx takes 2.67 times that of onnxpert (geometric mean of 1 model)" in page


def test_an_export_that_works_once_is_compared_with_a_first_one() -> None:
    page = table.page(made_up())
    assert row(page, "Cost", "Deep, 4 layers")[3].startswith("10.00 (2.50x)")
    assert row(page, "Cost", "... of first exports")[1] == "4.00x"


def test_a_failure_is_a_cell_with_its_reason_in_a_footnote() -> None:
    assert "[^1]: `RuntimeError: a | pipe and a 'tick'`" in table.page(made_up())


def test_a_model_that_exports_once_only_is_said_to_be_so() -> None:
    page = table.page(made_up())
    assert row(page, "Cost", "Deep, 4 layers")[3].endswith("[^2]")
    assert "[^2]: The first export: a second one fails. `KeyError: again`" in page


def test_what_is_from_a_busy_machine_is_marked() -> None:
    results = made_up()
    first, *rest = results.costs
    page = table.page(replace(results, costs=(replace(first, pace_s=0.1), *rest)))
    assert row(page, "Cost", "MLP")[0] == "2.00[^1]"
    assert "[^1]: The machine was busy with something else." in page
    assert "took 0.050 to 0.100 s" in page


def test_what_onnxpert_cannot_export_or_prove_is_named() -> None:
    results = made_up()
    lost = Cost("deep2", "onnxpert", error="ExportError: no")
    doubtful = replace(cost("deep4", "onnxpert", 1.0), proof_s=1.0, proven=False)
    page = table.page(replace(results, costs=(*results.costs[:5], lost, doubtful)))
    assert "onnxpert exports no file of: Deep, 2 layers." in page
    assert "onnxpert does not prove: Deep, 4 layers." in page
    assert row(page, "Cost", "Deep, 4 layers")[-1] == "**not proven**, 1.00"


def test_the_file_is_compared_with_the_faster_of_the_two() -> None:
    page = table.page(made_up())
    assert row(page, "Speed", "MLP")[4] == "2.20x"
    assert "Slower: MLP (2.20x)." in page


def test_a_wrong_file_is_no_rival() -> None:
    results = made_up()
    wrong = timed("legacy", 1.0, relative=0.2)
    results = replace(results, latencies=(*results.latencies[:2], wrong, *results.latencies[3:]))
    cells = row(table.page(results), "Speed", "MLP")
    assert cells[4] == "1.10x"
    assert cells[7].startswith("**2e-01**")


def test_a_wrong_file_of_ours_wins_nothing() -> None:
    results = made_up()
    wrong = timed("onnxpert", 0.1, relative=float("nan"))
    results = replace(results, latencies=(*results.latencies[:3], wrong))
    assert row(table.page(results), "Speed", "MLP")[4] == "-"


def test_one_file_twice_shows_the_noise() -> None:
    results = made_up()
    again = timed("onnxpert again", 2.0)
    results = replace(results, latencies=(*results.latencies, again))
    assert row(table.page(results), "Speed", "MLP")[5] == "1.10x"


def test_memory_nodes_and_size() -> None:
    cells = row(table.page(made_up()), "Memory", "MLP")
    assert cells == [
        "620 (+120)",
        "620 (+120)",
        "-",
        "620 (+120)",
        "7",
        "-",
        "7",
        "3.0",
        "-",
        "3.0",
    ]


def test_growth_is_per_layer_and_per_further_layer() -> None:
    page = table.page(made_up())
    assert row(page, "Growth", "4")[0] == "0.500 (2.00)"
    assert row(page, "Growth", "2 to 4") == ["0.500", "-", "-", "4.000"]


def test_what_cannot_be_built_here_is_said() -> None:
    page = table.page(made_up())
    assert "- Gone: `ModuleNotFoundError: No module named 'timm'`" in page
    assert "| Gone |" not in page


def test_the_page_of_a_part_says_so() -> None:
    results = made_up()
    assert "A part of the set" not in table.page(results)
    part = replace(results, setting=replace(SETTING, whole=False))
    assert "A part of the set" in table.page(part)


def test_numbers_survive_json() -> None:
    assert Results.from_json(made_up().to_json()) == made_up()


def test_render_writes_the_page_of_kept_numbers(tmp_path: Path) -> None:
    numbers, page = tmp_path / "numbers.json", tmp_path / "docs" / "page.md"
    numbers.write_text(made_up().to_json(), encoding="utf-8")
    assert run.main([f"--render={numbers}", f"--out={page}"]) == 0
    assert page.read_text(encoding="utf-8") == table.page(made_up())


def test_an_unknown_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only=llama2,lama"])
    assert "lama: not of resnet50, " in capsys.readouterr().err


def test_an_error_is_told_with_its_root() -> None:
    error = RuntimeError("outer\n  words")
    error.__cause__ = KeyError("inner")
    assert said(error) == "RuntimeError: outer words; from KeyError: 'inner'"


def test_a_process_without_an_answer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match=r"No module named benchmarks\.nowhere"):
        ask("nowhere", (), tmp_path, 60)


def test_every_sample_is_of_everybody_and_the_order_turns() -> None:
    calls: list[str] = []
    runs = {name: partial(calls.append, name) for name in "ab"}
    samples = latency.interleaved(runs, rounds=3)
    assert {name: len(times) for name, times in samples.items()} == {"a": 3, "b": 3}
    assert calls.count("a") == calls.count("b")
    changes = [now for before, now in zip(["", *calls], calls, strict=False) if now != before]
    assert "".join(changes[2:]) == "abab"  # first the two trials; then ab, ba, ab


def test_differences_are_strict_on_shape_and_nan() -> None:
    ones = np.ones((2, 3), np.float32)
    assert latency.differ(ones, ones + 0.5) == 0.5
    with pytest.raises(ValueError, match="shape"):
        latency.differ(ones, ones[:1])
    with pytest.raises(ValueError, match="NaN"):
        latency.differ(np.where(ones > 2, ones, np.nan), ones)


def one_layer() -> models.Built:
    def inputs(batch: int, _sequence: int) -> models.Inputs:
        return (torch.randn(batch, 4),), {}

    return models.Built(nn.Linear(4, 2), inputs, ({0: torch.export.Dim.DYNAMIC},))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(models.MODELS, "tiny", models.Model("tiny", one_layer))
    return "tiny"


def test_the_yardstick_is_measured(tiny: str, tmp_path: Path) -> None:
    measured = measure.measure(tiny, "torch.export", tmp_path)
    assert not measured.error
    assert measured.cold_s
    assert measured.warm_s
    assert measured.pace_s
    assert measured.nodes is None


def test_a_file_is_measured_proven_and_run(tiny: str, tmp_path: Path) -> None:
    measured = measure.measure(tiny, "onnxpert", tmp_path)
    assert not measured.error
    assert measured.warm_s
    assert measured.peak_mib is not None
    assert measured.peak_mib >= (measured.start_mib or 1)
    assert measured.nodes
    assert measured.file_bytes == (tmp_path / "model.onnx").stat().st_size
    assert measured.proof_s
    assert measured.proven
    rows = latency.latency(tiny, {"onnxpert": tmp_path / "model.onnx"}, rounds=2)
    assert [each.exporter for each in rows] == ["eager", "onnxpert", "onnxpert again"]
    assert all(each.p10_ms and each.samples == 2 and not each.wrong for each in rows)


def test_a_file_of_another_model_is_wrong(tiny: str, tmp_path: Path) -> None:
    measure.measure(tiny, "onnxpert", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models.Model, "build", lambda model: model.builder())  # other weights
        rows = latency.latency(tiny, {"onnxpert": tmp_path / "model.onnx"}, rounds=1)
    assert [each.wrong for each in rows] == [False, True, True]


@pytest.mark.filterwarnings("ignore")  # torch's exporters warn of their own workings
@pytest.mark.parametrize("exporter", ["dynamo", "legacy"])
def test_torch_is_measured(tiny: str, exporter: str, tmp_path: Path) -> None:
    measured = measure.measure(tiny, exporter, tmp_path)
    assert not measured.error
    assert measured.nodes == 1
    assert measured.proof_s is None


def test_a_file_that_cannot_be_read_is_a_row(tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"no model")
    eager, broken = latency.latency(tiny, {"dynamo": file}, rounds=1)
    assert eager.p10_ms
    assert broken.error
    assert broken.wrong


def test_a_failing_exporter_is_a_row(
    tiny: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = replace(EXPORTERS["dynamo"], export=lambda *_: 1 / 0)
    monkeypatch.setitem(EXPORTERS, "dynamo", broken)
    measured = measure.measure(tiny, "dynamo", tmp_path)
    assert measured.error == "ZeroDivisionError: division by zero"
    assert measured.seconds is None


def test_a_model_that_exports_only_once_keeps_its_file(
    tiny: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    honest = EXPORTERS["onnxpert"].export

    def once(built: models.Built, example: models.Inputs, path: Path) -> None:
        if path.parent.name == "again":
            raise RuntimeError("not twice")
        honest(built, example, path)

    monkeypatch.setitem(EXPORTERS, "onnxpert", replace(EXPORTERS["onnxpert"], export=once))
    measured = measure.measure(tiny, "onnxpert", tmp_path)
    assert measured.warm_error == "RuntimeError: not twice"
    assert measured.seconds == measured.cold_s
    assert measured.nodes
    assert measured.proven


def test_a_model_that_cannot_be_built_is_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    absent = models.Model("tiny", partial(importlib.import_module, "no_such_package"))
    monkeypatch.setitem(models.MODELS, "tiny", absent)
    with pytest.raises(measure.AbsentError, match="no_such_package"):
        measure.measure("tiny", "dynamo", tmp_path)


@pytest.mark.slow
def test_a_run_measures_in_processes_of_its_own(tmp_path: Path) -> None:
    out, numbers = tmp_path / "page.md", tmp_path / "numbers.json"
    arguments = ["--only=unet", "--exporters=torch.export,legacy", "--rounds=2"]
    assert run.main([*arguments, f"--out={out}", f"--json={numbers}"]) == 0
    results = Results.from_json(numbers.read_text(encoding="utf-8"))
    assert [each.exporter for each in results.costs] == ["torch.export", "legacy"]
    assert all(each.seconds for each in results.costs)
    assert [each.wrong for each in results.latencies] == [False] * 3
    assert out.read_text(encoding="utf-8") == table.page(results)


def test_the_page_on_diagnosis_has_a_row_for_each_model() -> None:
    from benchmarks.diagnosis import CASES, Row, page

    rows = [Row(case, 3, theirs=2.0, ours=0.5, diagnosis=1.0) for case in CASES]
    lines = page(rows, 2).splitlines()
    assert [line.split("|")[1].strip() for line in lines[-len(CASES) :]] == [
        case.about for case in CASES
    ]
    assert all(line.endswith("| 0.50 | 2.0 |") for line in lines[-len(CASES) :])
    blocked = CASES[3].model().eval()
    with pytest.raises(Exception, match="data-dependent"):  # or there would be nothing to diagnose
        torch.export.export(blocked, (torch.randn(CASES[3].example),), strict=False)


def test_the_page_on_varying_sizes_has_a_row_for_each_model() -> None:
    from benchmarks.varying import Row, measured, page
    from benchmarks.varying_models import CASES

    lines = page([Row(case, 0.5, 1.0, proven=True) for case in CASES]).splitlines()
    assert len(CASES) >= 25
    assert [line.split("|")[1].strip() for line in lines[-len(CASES) :]] == [
        case.about for case in CASES
    ]
    assert all(line.endswith("| 2.0 | yes |") for line in lines[-len(CASES) :])
    row = measured(CASES[0], 1)
    assert row.proven
    assert row.fixed > 0 < row.varying
