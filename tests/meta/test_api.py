"""The public names, exactly these, with the signatures that scripts rely on."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from importlib import metadata

import pytest

import onnxpert

PUBLIC = {
    "__version__",
    "export",
    "check",
    "diagnose",
    "verify",
    "explain",
    "fill",
    "Report",
    "Finding",
    "Severity",
    "Safety",
    "ExportError",
    "UsageError",
    "Refusal",
    "Stateful",
    "rule",
    "repair",
    "lowering",
    "target",
}

# Parameter -> default; what stands after `f` is keyword-only.
EXPORT = {
    "model": inspect.Parameter.empty,
    "args": (),
    "f": None,
    "kwargs": None,
    "input_names": None,
    "output_names": None,
    "opset_version": None,
    "dynamic_axes": None,
    "dynamic_shapes": None,
    "target": "ort-cpu",
    "repair": "safe",
    "verify": True,
}


def test_the_names_are_exactly_these() -> None:
    assert set(onnxpert.__all__) == PUBLIC
    assert set(onnxpert.__all__) <= set(dir(onnxpert))


@pytest.mark.parametrize("name", sorted(PUBLIC - {"__version__"}))
def test_a_name_resolves_to_what_bears_it(name: str) -> None:
    assert getattr(onnxpert, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'onnxpert' has no attribute 'exprot'"):
        _ = onnxpert.exprot


@pytest.mark.parametrize("name", ["diagnose", "repair", "verify"])
def test_a_call_is_not_lost_to_the_package_of_its_name(name: str) -> None:
    program = (
        f"import onnxpert, onnxpert.{name}\n"
        f"from onnxpert.{name} import {name} as stage\n"
        f"from onnxpert import {name}\n"
        f"assert callable(onnxpert.{name}) and {name} is onnxpert.{name} is not stage\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert importlib.import_module(f"onnxpert.{name}").__name__ == f"onnxpert.{name}"


@pytest.mark.parametrize("name", ["export", "diagnose"])
def test_the_signature_is_the_one_people_know(name: str) -> None:
    parameters = inspect.signature(getattr(onnxpert, name)).parameters
    assert {key: parameters[key].default for key in EXPORT} == EXPORT
    extra = [value for key, value in parameters.items() if key not in EXPORT]
    assert all(value.default is not inspect.Parameter.empty for value in extra)
    keyword_only = [k for k, v in parameters.items() if v.kind is inspect.Parameter.KEYWORD_ONLY]
    assert list(parameters)[:3] == ["model", "args", "f"]
    assert keyword_only == list(parameters)[3:]


def test_verify_takes_a_file_a_model_and_its_inputs() -> None:
    parameters = list(inspect.signature(onnxpert.verify).parameters.values())
    assert [parameter.name for parameter in parameters[1:3]] == ["model", "args"]
    assert {"kwargs", "target"} <= {parameter.name for parameter in parameters}


def test_the_installed_version_is_the_one_in_the_source() -> None:
    try:
        installed = metadata.version("onnxpert")
    except metadata.PackageNotFoundError:
        pytest.skip("onnxpert runs from its source tree here, nothing is installed")
    assert installed == onnxpert.__version__
