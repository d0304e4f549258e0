"""The carrier of all codemods: what is not changed stays, comments stay, and the code stays Python."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import libcst as cst
import pytest

from onnxpert.repair.source.change import Change, applied
from onnxpert.repair.source.page import Page


def page(text: str) -> Page:
    return Page("net.py", textwrap.dedent(text), {})


def changed(text: str, change: Callable[[Page], list[Change]]) -> str:
    here = page(text)
    new = applied(here, change(here))
    ast.parse(new)
    return new


def without_prints(here: Page) -> list[Change]:
    return [(each, None) for each in here.each(cst.Expr) if "print" in here.code(each)]


def as_sum(here: Page) -> list[Change]:
    """Every call of `f` by `a + b`: an expression that binds less."""
    return [(each, here.expression("a + b")) for each in here.calls("f")]


def test_a_statement_that_goes_takes_its_line_and_leaves_the_comments_above() -> None:
    text = """
        def g(x):
            # first
            y = x

            # about the print
            print(y)  # goes with it
            # last
            return y
        """
    assert changed(text, without_prints) == textwrap.dedent("""
        def g(x):
            # first
            y = x

            # about the print
            # last
            return y
        """)


def test_a_body_that_loses_its_only_statement_passes() -> None:
    text = "def g(x):\n    if x:\n        print(x)\n    return x\n"
    assert changed(text, without_prints) == "def g(x):\n    if x:\n        pass\n    return x\n"


def test_one_of_several_statements_on_a_line_goes_alone() -> None:
    assert changed("def g(x):\n    y = x; print(y); return y\n", without_prints) == (
        "def g(x):\n    y = x; return y\n"
    )
    assert "pass" in changed("def g(x):\n    if x: print(x)\n    return x\n", without_prints)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = f(x)", "y = a + b"),
        ("y = f(x) * 2", "y = (a + b) * 2"),
        ("y = -f(x)", "y = -(a + b)"),
        ("y = f(x).sum()", "y = (a + b).sum()"),
        ("y = g(f(x), 1)", "y = g(a + b, 1)"),
        ("y = z[f(x)]", "y = z[(a + b)]"),
        ("return f(x)", "return a + b"),
    ],
)
def test_parentheses_come_where_they_are_needed(before: str, after: str) -> None:
    assert changed(f"def g(x):\n    {before}\n", as_sum) == f"def g(x):\n    {after}\n"


def test_comments_inside_of_what_is_replaced_move_above_it() -> None:
    def choose(here: Page) -> list[Change]:
        (branch,) = here.each(cst.If)
        return [(branch, here.statement("y = w(x)"))]

    text = """
        def g(x):
            # why
            if x:  # when
                y = 1  # up
            else:
                # down
                y = 2
            return y
        """
    assert changed(text, choose) == textwrap.dedent("""
        def g(x):
            # why
            # when
            # up
            # down
            y = w(x)
            return y
        """)


def test_a_comment_among_arguments_stays() -> None:
    text = "def g(x):\n    y = f(\n        x,  # the input\n    )\n    return y\n"
    assert "    # the input\n    y = a + b\n" in changed(text, as_sum)


def test_what_goes_over_several_lines_is_put_in_parentheses() -> None:
    def inner(here: Page) -> list[Change]:
        return [(call, here.expression("{}", call.args[0].value)) for call in here.calls("int")]

    assert changed("def g(h):\n    return int(\n        h\n        // 2\n    )\n", inner) == (
        "def g(h):\n    return (h\n        // 2)\n"
    )


def test_tabs_line_ends_and_form_feeds_stay() -> None:
    text = "import torch\r\n\x0c\r\ndef g(x):\r\n\tprint(x)\r\n\treturn x  # \xe9\r\n"
    assert applied(Page("net.py", text, {}), without_prints(Page("net.py", text, {}))) == (
        "import torch\r\n\x0c\r\ndef g(x):\r\n\treturn x  # \xe9\r\n"
    )


@pytest.mark.parametrize(
    ("head", "is_added"),
    [
        ("import torch\n", False),
        ("import torch.nn as nn\n", True),
        ("import torch.nn\n", False),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", False),
        ('"""Doc."""\nfrom __future__ import annotations\nimport os\n', True),
        ("", True),
    ],
)
def test_torch_is_imported_where_it_is_not(head: str, is_added: bool) -> None:
    def other(here: Page) -> list[Change]:
        return [(each, here.expression("torch.exp(x)")) for each in here.calls("f")]

    new = changed(f"{head}def g(x):\n    return f(x)\n", other)
    assert new.count("import torch\n") == ("import torch\n" in head) + is_added
    scope: dict[str, object] = {}
    exec(compile(new, "net.py", "exec"), scope)  # no import from the future comes too late
    assert "torch" in scope


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import numpy as np", "np.exp(x)"),
        ("from numpy import exp", "exp(x)"),
        ("from numpy import exp as e", "e(x)"),
        ("import numpy", "numpy.exp(x)"),
    ],
)
def test_a_call_is_known_however_it_was_imported(imports: str, call: str) -> None:
    here = page(f"{imports}\ndef g(x):\n    return {call}\n")
    assert len(list(here.calls("numpy.exp"))) == len(list(here.calls("numpy.*"))) == 1
    assert not list(here.calls("math.exp"))
