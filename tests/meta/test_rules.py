"""What every rule promises: an ID in its place, a whole page, and an example that is true."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import onnxpert
from onnxpert import Finding, Severity
from onnxpert.core.types import Checked, Misfit
from onnxpert.diagnose import catalogue, diagnose
from onnxpert.diagnose.rule import Rule

HEADINGS = ["What it does", "Why it matters", "Example", "Use instead", "Repair safety"]
RULES = [pytest.param(rule, id=rule.id) for rule in catalogue().values()]
# Says that onnxpert itself has a bug, so no model shows it on purpose; tested on made-up evidence.
OURS = "TGT802"
# Says something of the installed packages, whatever the model.
THEIRS = "VER611"
# What a target refuses and its tables do not know; the tests of `check` and of kernel libraries.
UNFORESEEN = "TGT801"
# Say something of files that other exporters wrote: the tests of `check`.
OF_FILES = ("TGT821", "TGT822", "TGT823")
SHOWN = [
    pytest.param(rule, id=rule.id)
    for rule in catalogue().values()
    if rule.id not in (OURS, THEIRS, UNFORESEEN, *OF_FILES)
]


def fired(rule: Rule, sample: Any) -> list[Finding]:
    report = onnxpert.diagnose(sample.model, sample.args, **sample.options, repair="off")
    return [finding for finding in report.findings if finding.rule == rule.id]


def family(rule: Rule) -> tuple[str, str]:
    """The letters of the ID, and the folder the rule's file is in."""
    return rule.id[:3], rule.check.__module__.split(".")[-2]


def test_there_are_rules() -> None:
    assert catalogue()


def test_a_family_is_one_folder_and_a_folder_one_family() -> None:
    pairs = {family(rule) for rule in catalogue().values()}
    assert len({letters for letters, _ in pairs}) == len({folder for _, folder in pairs})
    assert len(pairs) == len({letters for letters, _ in pairs})


def test_names_are_used_once() -> None:
    names = [rule.name for rule in catalogue().values()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("rule", RULES)
def test_an_id_and_a_name_are_the_name_of_the_file(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z]{3}\d{3}", rule.id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    package, _, file = rule.check.__module__.rpartition(".")
    assert file == f"{rule.id.lower()}_{rule.name.replace('-', '_')}"
    assert re.fullmatch(r"onnxpert\.diagnose\.rules\.[a-z]+", package)
    assert re.fullmatch(r"\d+\.\d+", rule.since)


@pytest.mark.parametrize("rule", RULES)
def test_a_page_has_its_headings_in_order(rule: Rule) -> None:
    # Fenced code may hold lines that look like headings.
    prose = re.sub(r"```.*?```", "", rule.page, flags=re.DOTALL)
    assert re.findall(r"^## (.+)$", prose, re.MULTILINE) == HEADINGS
    for heading in HEADINGS:
        assert rule.section(heading).strip(), f"`## {heading}` of {rule.id} is empty"


@pytest.mark.parametrize("rule", SHOWN)
def test_the_example_of_a_page_is_found(rule: Rule, sample: Callable[[Rule, str], Any]) -> None:
    findings = fired(rule, sample(rule, "Example"))
    # An error may be told at a second line too: where a value is needed, where a body stops.
    findings = [each for each in findings if each.severity is not Severity.INFO] or findings
    assert len(findings) == 1, [finding.message for finding in findings]
    (finding,) = findings
    assert not finding.repaired
    assert finding.help or finding.severity is Severity.INFO, "a finding says what to do"
    headline = finding.message.splitlines()[0]
    assert not headline.endswith("."), f"a headline has no full stop: {headline}"
    # Names keep their spelling (Python, `Linear`); a sentence of ours begins in lower case.
    assert not re.match(r"(The|This|An?|It|No) ", headline), f"a headline is lower case: {headline}"


@pytest.mark.parametrize("rule", SHOWN)
def test_the_cure_of_a_page_is_silent(rule: Rule, sample: Callable[[Rule, str], Any]) -> None:
    assert fired(rule, sample(rule, "Use instead")) == []


def test_a_model_that_the_checker_rejects_is_called_our_bug() -> None:
    rule = catalogue()[OURS]
    (finding,) = diagnose(Checked(("Add has no third input",)), {OURS: rule})
    assert "Add has no third input" in finding.message
    assert "bug of onnxpert's" in finding.help
    assert diagnose(Checked(()), {OURS: rule}) == ()


def test_packages_that_do_not_fit_are_told_with_the_command_that_mends_them() -> None:
    rule = catalogue()[THEIRS]
    evidence = Misfit("torchvision 0.21 needs torch==2.6", "pip install torchvision", needed=False)
    (finding,) = diagnose(evidence, {THEIRS: rule})
    assert finding.severity is Severity.INFO
    assert finding.help == "pip install torchvision"
