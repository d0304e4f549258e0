"""Markdown: unfolds, escapes, and keeps tables and code apart from the text."""

import re

from onnxpert.core.types import Finding, Location, Row, Severity, Verdict
from onnxpert.report import Report
from onnxpert.report.renderings.markdown import code, escaped, fenced
from tests.report import made


def test_the_comment_says_everything() -> None:
    text = made.refused().render("markdown")
    assert text.startswith("<!-- onnxpert -->\n\n### ❌ Net: not exportable: 2 errors, 1 warning\n")
    assert text.count("<details") == text.count("</details>") == 4
    assert text.count("<details open>") == 2  # what blocks
    assert "> 14 | spectrum = torch.linalg.eigvals(scores @ scores.mT).real" in text
    assert "     |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n" in text
    assert "```diff\n--- a/model.py\n" in text
    assert "- **seen** at 4 places: encoder.layers.\\[0-3\\].attn" in text


def test_the_proof_is_a_table() -> None:
    text = made.proven().render("markdown")
    assert text.startswith("<!-- onnxpert -->\n\n### ✅ Encoder: exported and proven: net.onnx")
    rows = [line for line in text.splitlines() if line.startswith("| example")]
    assert rows == ["| example | batch=2 seq=16 | 3 outputs | 1.1e-06 | 9.9e-06 | **pass** |"]


def test_nothing_of_the_models_is_markup() -> None:
    evil = "<script>alert(1)</script> `x` | **b** @team\n# h"
    finding = Finding(
        "OPS501", Severity.ERROR, evil, Location(evil, 3, evil, code=evil), evil, (evil,)
    )
    row = Row(evil, evil, {}, Verdict.FAIL, 1.0, 1.0, 1e-3, 1e-5, evil)
    text = Report(ok=False, model=evil, findings=(finding,), verified=(row,)).render("markdown")
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    assert "<script>" not in outside
    # Inside a tag Markdown is not read, so its marks need no escape there.
    unfolded = re.sub(r"<summary>.*</summary>", "", outside)
    assert not re.search(r"(?<!\\)\*\*b", unfolded)
    (table,) = [line for line in text.splitlines() if "**fail**" in line]
    assert len(re.findall(r"(?<!\\)\|", table)) == 6  # five columns


def test_code_holds_backticks() -> None:
    assert code("a `b` c") == "``a `b` c``"
    assert code("`a`") == "`` `a` ``"
    assert fenced("```\nx", "text") == "````text\n```\nx\n````"
    assert escaped("a_b *c*\nd") == r"a\_b \*c\* d"
