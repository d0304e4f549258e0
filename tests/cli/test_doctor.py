"""The doctor: what is here, whether it fits, and the exact command where it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from onnxpert.cli import main
from onnxpert.engine import doctor, installation
from onnxpert.engine.installation import Package, Problem

HEALTHY = (
    Package("torch", "2.13.0", needed=True),
    Package("onnx", "1.23.2", needed=True),
    Package("onnxruntime", "1.31.1", needed=True),
    Package("packaging", "26.0", needed=True),
)


def _distribution(folder: Path, name: str, version: str, *requires: str) -> None:
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in requires]
    (info / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that comes before the real one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_this_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = doctor.examine()
    assert found.problems == ()
    assert found.exit_code == 0
    assert found.takes is not None
    assert found.takes.opset >= 20
    assert found.writes is not None
    assert "CPUExecutionProvider" in found.providers
    assert str(found).startswith("this installation fits together\n")
    assert f"ort-cpu takes up to opset {found.takes.opset}, IR" in str(found)
    assert json.loads(found.to_json())["takes"]["opset"] == found.takes.opset


def test_versions_are_read_without_importing() -> None:
    program = (
        "import sys\nfrom onnxpert.engine.installation import versions\n"
        "known = versions()\nassert 'torch' in known and 'Python' in known\n"
        "assert not {'torch', 'onnx', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_missing_package() -> None:
    found = (Package("torch", "", needed=True), *HEALTHY[1:])
    assert installation.problems(found) == (
        Problem("torch is not installed", 'pip install "torch>=2.13"'),
    )


def test_a_missing_optional_package_is_fine() -> None:
    assert installation.problems((*HEALTHY, Package("timm", "", needed=False))) == ()


@pytest.mark.parametrize("version", ["2.12.1", "2.9.0+cpu", "1.13"])
def test_a_torch_that_is_too_old(version: str) -> None:
    found = (Package("torch", version, needed=True), *HEALTHY[1:])
    (problem,) = installation.problems(found)
    assert problem.message == f"torch {version} is older than 2.13, the oldest that is tested"


def test_a_torch_that_is_newer_than_tested() -> None:
    assert installation.notes(HEALTHY) == ()
    (note,) = installation.notes((Package("torch", "2.16.0", needed=True),))
    assert "torch 2.16.0 is newer than 2.15" in note


def test_a_pair_that_excludes_each_other(site: Path) -> None:
    _distribution(site, "torchvision", "0.21.0", "torch==2.6.0", 'onnx<1; extra == "all"')
    found = (
        Package("torch", "2.13.0+cpu", needed=True),
        *HEALTHY[1:],
        Package("torchvision", "0.21.0", needed=False),
    )
    assert installation.problems(found) == (
        Problem(
            "torchvision 0.21.0 needs torch==2.6.0, but torch 2.13.0+cpu is installed",
            'pip install --upgrade torchvision "torch==2.13.0+cpu"',
        ),
    )
    (note,) = installation.notes(found)
    assert "torch 2.13.0+cpu is a build of its own" in note
    assert "--index-url that it came from" in note


def test_a_package_that_is_too_old_is_upgraded(site: Path) -> None:
    """Whoever asks for a newer one could be made older instead, and nobody has tested that."""
    _distribution(site, "torchvision", "0.28.0", "numpy>=2.0,<3")
    found = (
        *(each for each in HEALTHY if each.name != "numpy"),
        Package("numpy", "1.26.4", needed=True),
        Package("torchvision", "0.28.0", needed=False),
    )
    assert Problem(
        "torchvision 0.28.0 needs numpy<3,>=2.0, but numpy 1.26.4 is installed",
        'pip install --upgrade "numpy<3,>=2.0"',
    ) in installation.problems(found)


def test_what_goes_with_torch_makes_way_for_it(site: Path) -> None:
    """A torch that is tested stays: one line, and nothing in it undoes what another part did."""
    _distribution(site, "torchvision", "0.29.2", "torch>=2.14.0")
    apart = Package("torchvision", "0.29.2", needed=False, error="RuntimeError: no such operator")
    found = installation.problems((*HEALTHY, apart))
    assert len(found) == 2
    assert installation.mend(found) == 'pip install --upgrade torchvision "torch==2.13.0"'
    old = (Package("torch", "2.12.0", needed=True), *HEALTHY[1:], apart)
    assert "2.12" not in installation.mend(installation.problems(old))


def test_a_torchvision_of_another_build(site: Path) -> None:
    """Its version fits and its operators do not load: the cure names the build, the note the option."""
    _distribution(site, "torchvision", "0.28.0", "torch==2.13.0")
    other = Package("torchvision", "0.28.0", needed=False, error="RuntimeError: no such operator")
    found = (Package("torch", "2.13.0+cpu", needed=True), *HEALTHY[1:], other)
    (problem,) = installation.problems(found)
    assert problem.cure == 'pip install --force-reinstall --no-deps "torchvision==0.28.0+cpu"'
    assert "--index-url" in " ".join(installation.notes(found))


def test_two_builds_of_one_package(site: Path) -> None:
    _distribution(site, "onnxruntime_gpu", "1.31.1")
    (problem,) = installation.problems(HEALTHY)
    assert problem == Problem(
        "onnxruntime and onnxruntime-gpu are both installed and overwrite each other's files",
        "pip uninstall -y onnxruntime onnxruntime-gpu && pip install onnxruntime-gpu",
    )


def test_packages_that_cannot_be_imported(site: Path) -> None:
    (site / "broken.py").write_text("raise OSError('libcudart.so.13: cannot open')")
    (site / "deadly.py").write_text("import os\nprint('probe loudly')\nos._exit(139)")
    (site / "healthy.py").write_text("print('hello')")
    (site / "wordless.py").write_text(
        "import sys\nprint('compiled for NumPy 1', file=sys.stderr)\nraise ImportError"
    )
    assert installation.import_errors(["broken", "deadly", "healthy", "wordless"]) == {
        "wordless": "ImportError: compiled for NumPy 1",
        "broken": "OSError: libcudart.so.13: cannot open",
        "deadly": "the interpreter died with exit code 139",
        "healthy": "",
    }


def test_a_broken_runtime_is_a_problem_and_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Package("onnxruntime", "1.31.1", needed=True, error="ImportError: DLL load failed")
    found = (HEALTHY[0], HEALTHY[1], broken, HEALTHY[3])
    monkeypatch.setattr(installation, "packages", lambda: found)
    assert main(["doctor", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("this installation has 1 problem\n")
    assert "onnxruntime 1.31.1 cannot be imported: ImportError: DLL load failed" in out
    assert "   = help: pip install --upgrade --force-reinstall onnxruntime" in out
    assert "ort-cpu could not be asked what it takes" in out


def test_a_target_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--target", "abacus"]) == 2
    assert "the targets are: " in capsys.readouterr().err


def test_a_release_that_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--runtime-version", "1.17.1", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["accepts"] == {"opset": 20, "ir_version": 9}
    assert any("onnxpert export --runtime-version 1.17" in note for note in told["notes"])
    assert told["kernels"]["dtypes"]["float32"] > 100
    assert "float64" in told["kernels"]["dtypes"]
    assert main(["doctor", "--runtime-version", "7"]) == 2


def _isolated(*paths: Path | str) -> subprocess.CompletedProcess[str]:
    """The doctor where nothing is installed but what lies in these folders."""
    source = Path(doctor.__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-S", "-m", "onnxpert", "doctor", "--json", "--quiet"],
        env={"PATH": "", "PYTHONPATH": ":".join(map(str, (*paths, source)))},
        capture_output=True,
        text=True,
        check=False,
    )


def test_where_nothing_is_installed() -> None:
    done = _isolated()
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert len(told["problems"]) == len(installation.NEEDED)
    assert told["mend"].startswith('pip install "torch>=2.13" onnx onnx-ir')
    assert told["takes"] is None


def test_where_torch_is_broken_and_the_runtime_crashes(tmp_path: Path) -> None:
    for name, version, body in (
        ("torch", "2.13.0+cpu", "raise OSError('libtorch.so: undefined symbol')"),
        ("onnxruntime", "1.17.0", "import os\nos.abort()"),
    ):
        _distribution(tmp_path, name, version)
        (tmp_path / f"{name}.py").write_text(body, encoding="utf-8")
    done = _isolated(tmp_path)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    said = [problem["message"] for problem in told["problems"]]
    assert any("torch 2.13.0+cpu cannot be imported: OSError: libtorch" in each for each in said)
    assert any(
        "onnxruntime 1.17.0 cannot be imported: the interpreter died" in each for each in said
    )
    assert '"torch==2.13.0+cpu"' in told["mend"]
    assert any("--index-url" in note for note in told["notes"])


def test_misfits_are_found_without_an_import(site: Path) -> None:
    _distribution(site, "torchvision", "0.1", "torch==2.6.0")
    installation.misfits.cache_clear()
    try:
        (found,) = (each for each in installation.misfits() if "torchvision" in each.message)
    finally:
        installation.misfits.cache_clear()
    assert not found.needed
    assert found.cure.startswith("pip install --upgrade torchvision")
