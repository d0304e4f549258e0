"""The page in a real browser: it draws, folds, finds, moves, fits a phone, and fetches nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxpert.report import Report
from tests.report import made
from tests.report.browser import Page, installed

LAYERS = 140  # about 3,000 nodes
# Far above what a free machine takes (0.1 s), so that a busy one does not fail.
PATIENCE_MS = 5000

pytestmark = pytest.mark.skipif(
    installed() is None, reason="there is no chromium: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with Page(installed() or "") as page:
        yield page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    reports: dict[str, Report] = {
        "refused": made.refused(),
        "proven": made.proven(),
        "large": made.refused(LAYERS),
    }
    return {name: each.to_html(folder / f"{name}.html") for name, each in reports.items()}


def _visible(page: Page) -> list[str]:
    """Titles of what the graph shows, modules that are open with a minus before them."""
    return page.value("""(() => {
      const found = [];
      const look = (box) => { for (const item of box.items) {
        found.push((!item.leaf && item.open ? "-" : "") + item.title);
        if (!item.leaf && item.open) look(item);
      } };
      look(onnxpert.graph.root);
      return found;
    })()""")


def _on_screen(page: Page, find: str) -> tuple[float, float]:
    """Where the middle of an item is, in the coordinates of the mouse."""
    page.value(
        "document.querySelector('.stage').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    page.painted()
    x, y = page.value(f"""(() => {{
      const item = {find}, view = onnxpert.view, box = view.canvas.getBoundingClientRect();
      return [box.left + view.x + (item.left + item.w / 2) * view.scale,
              box.top + view.y + (item.top + (item.open ? 17 : item.h / 2)) * view.scale];
    }})()""")
    return x, y


def _group(title: str) -> str:
    return f"""(() => {{ let found; eachGroup(onnxpert.graph.root, (box) => {{
      if (box.title === "{title}" && !found) found = box; }}); return found; }})()"""


@pytest.mark.parametrize("name", ["refused", "proven", "large"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_draws_without_a_complaint(
    browser: Page, written: dict[str, Path], name: str, dark: bool
) -> None:
    browser.open(written[name], dark=dark)
    browser.painted()
    assert browser.errors == []
    assert browser.requests == [written[name].as_uri()]
    assert browser.value("onnxpert.view.painted") > 3
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(14, 16, 20)" if dark else "rgb(247, 247, 245)")
    corner = browser.value("[...onnxpert.view.paper.getImageData(2, 2, 1, 1).data]")
    assert (corner[0] < 60) is dark


def test_three_thousand_nodes_are_quick(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["large"])
    browser.painted()
    assert len(made.refused(LAYERS).graph.nodes) > 3000  # type: ignore[union-attr]
    paint = browser.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < PATIENCE_MS
    assert len(_visible(browser)) < 100  # folded at first
    for act in ("unfoldAll()", "fit(false)", "home()", "foldAll()"):
        spent = browser.value(
            f"(() => {{ const start = performance.now(); onnxpert.view.{act};"
            " onnxpert.view.paint(); return performance.now() - start; })()"
        )
        assert spent < PATIENCE_MS, act
    browser.value("onnxpert.view.unfoldAll()")
    assert len(_visible(browser)) > 3000
    browser.value("onnxpert.view.paint()")
    assert browser.value("onnxpert.view.painted") < 200  # only what is in sight


def test_nothing_overlaps_and_everything_is_inside(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["refused"])
    browser.value("onnxpert.view.unfoldAll()")
    complaints = browser.value("""(() => {
      const said = [];
      eachGroup(onnxpert.graph.root, (box) => {
        for (const [at, a] of box.items.entries()) {
          if (a.left < box.left || a.top < box.top || a.left + a.w > box.left + box.w || a.top + a.h > box.top + box.h)
            said.push(a.title + " leaves " + box.title);
          for (const b of box.items.slice(at + 1)) {
            if (a.left < b.left + b.w && b.left < a.left + a.w && a.top < b.top + b.h && b.top < a.top + a.h)
              said.push(a.title + " covers " + b.title);
          }
        }
        for (const edge of box.drawn) {
          if (!edge.back && edge.points[0][1] > edge.points[edge.points.length - 1][1]) said.push("a line goes up");
        }
      });
      return said;
    })()""")
    assert complaints == []


def test_folding_with_the_mouse(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["refused"])
    browser.value("onnxpert.view.foldAll()")
    assert _visible(browser) == [
        "tokens",
        "mask",
        "Gather",
        "encoder.layers",
        "ReduceMean",
        "Gemm",
        "logits",
    ]
    x, y = _on_screen(browser, _group("encoder.layers"))
    browser.click(x + 12, y, count=2)
    assert "-encoder.layers" in _visible(browser)
    assert "0" in _visible(browser)
    x, y = _on_screen(browser, _group("encoder.layers"))
    browser.click(x, y, count=2)
    assert "-encoder.layers" not in _visible(browser)
    sign = browser.value(
        f"(() => {{ const box = {_group('encoder.layers')}; return (box.w / 2 - 17) * onnxpert.view.scale; }})()"
    )
    browser.click(x - sign, y)
    assert "-encoder.layers" in _visible(browser)


def test_moving_and_zooming(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["refused"])
    x, y = _on_screen(browser, "onnxpert.graph.nodes[0]")
    before = browser.value("[onnxpert.view.x, onnxpert.view.y, onnxpert.view.scale]")
    browser.mouse("mousePressed", x + 300, y + 200, button="left", clickCount=1)
    browser.mouse("mouseMoved", x + 340, y + 230, button="left")
    browser.mouse("mouseReleased", x + 340, y + 230, button="left", clickCount=1)
    after = browser.value("[onnxpert.view.x, onnxpert.view.y, onnxpert.view.scale]")
    assert after == [before[0] + 40, before[1] + 30, before[2]]
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120, modifiers=2)  # ctrl
    browser.painted()
    assert browser.value("onnxpert.view.scale") > before[2]
    browser.value("document.querySelector('[data-do=out]').click()")
    browser.value("document.querySelector('[data-do=fit]').click()")
    root = browser.value(
        "(() => { const v = onnxpert.view, r = onnxpert.graph.root;"
        " return [v.x, v.y, v.x + r.w * v.scale - v.wide, v.y + r.h * v.scale - v.high]; })()"
    )
    assert root[0] >= 0
    assert root[1] >= 0
    assert root[2] <= 0
    assert root[3] <= 0


def test_searching(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["large"])
    browser.value("document.querySelector('.tools input').focus()")
    browser.call("Input.insertText", text="softmax layers.77")
    assert browser.value("document.querySelector('.found').textContent") == "1 found"
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13
        )
    browser.painted()
    assert browser.value("document.querySelector('.found').textContent") == "1 of 1"
    assert browser.value("onnxpert.view.selected.module") == "encoder.layers.77.attn"
    panel = browser.value("document.querySelector('.panel').innerText")
    assert "model.py:12" in panel
    assert "encoder.layers.77.attn" in panel
    browser.value("document.querySelector('.panel .go').click()")
    assert browser.value("onnxpert.view.selected.op") == "Add"  # what the softmax takes
    browser.value("onnxpert.search('no such thing')")
    assert browser.value("document.querySelector('.found').textContent") == "nothing found"


def test_from_a_finding_to_its_node_and_back(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["refused"])
    browser.value("document.querySelector('#finding-1 .tograph').click()")
    browser.painted()
    assert browser.value("onnxpert.view.selected.op") == "aten_eigvals"
    assert browser.value("onnxpert.view.selected.alarm") == "bad"
    assert browser.value("document.querySelector('.panel a.alarm').hash") == "#finding-1"
    x, y = _on_screen(browser, "onnxpert.view.selected")
    ratio = browser.value("onnxpert.view.ratio")
    box = browser.value(
        "(() => { const b = onnxpert.view.canvas.getBoundingClientRect(); return [b.left, b.top]; })()"
    )
    pixel = browser.value(
        f"[...onnxpert.view.paper.getImageData({(x - box[0]) * ratio} - 40, {(y - box[1]) * ratio} + 17, 1, 1).data]"
    )
    assert pixel[0] > pixel[1] + 8  # the node is tinted red
    assert browser.value("document.querySelectorAll('#finding-3 .tograph').length") == 0


@pytest.mark.parametrize("name", ["refused", "proven", "large"])
@pytest.mark.parametrize("wide", [320, 390])
def test_a_phone_needs_no_sideways_scroll(
    browser: Page, written: dict[str, Path], name: str, wide: int
) -> None:
    browser.open(written[name], wide=wide, high=700)
    browser.painted()
    assert browser.value("document.documentElement.scrollWidth") <= wide
    assert browser.value("document.querySelector('canvas').getBoundingClientRect().width") <= wide


def test_it_is_read_without_a_script(browser: Page, written: dict[str, Path]) -> None:
    browser.open(written["refused"], script=False)
    text = browser.call("DOM.getDocument") and browser.call("Accessibility.getFullAXTree")
    names = {
        node.get("name", {}).get("value", "") for node in text["nodes"] if not node.get("ignored")
    }
    assert "Not exportable" in names
    assert any("has no lowering to ONNX" in name for name in names)
    assert not any(name == "unfold all" for name in names)  # what would not work is not there
    assert any("Modules" in name for name in names)


def test_hostile_names_are_only_text(browser: Page, tmp_path: Path) -> None:
    from tests.report.test_html import _evil

    browser.open(_evil().to_html(tmp_path / "evil.html"))
    browser.painted()
    browser.value("onnxpert.view.reveal(onnxpert.graph.nodes[0])")
    assert browser.errors == []
    assert browser.value("document.scripts.length") == 2
    assert "<script>" in browser.value("document.querySelector('.panel h4').textContent")
