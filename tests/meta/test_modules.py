"""Every module opens with one sentence: in tree order they are the description of the product."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import onnxpert

ROOT = Path(onnxpert.__file__).parent
MODULES = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*.py"))]
NEXT_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?]\s+[A-Z]")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_opens_with_one_sentence(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    assert docstring, f"{module} has no docstring"
    opening = docstring.split("\n\n")[0]
    assert opening.endswith("."), f"{module} does not open with a sentence: {opening!r}"
    assert not NEXT_SENTENCE.search(opening), f"{module} opens with more than one sentence"


@pytest.mark.parametrize("module", MODULES)
def test_a_name_says_what_is_inside(module: str) -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert not vague & set(re.split(r"[/._]", module))
