"""Numbers in sentences, at the edges where rounding would read oddly."""

import pytest

from onnxpert.core.types import Symbol
from onnxpert.report import words


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (2_100_000_000, "2.1 GB")],
)
def test_size(count: int, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0ms"),
        (0.0994, "99ms"),
        (0.0996, "0.10s"),
        (9.999, "10.0s"),
        (59.97, "1m00s"),
        (125, "2m05s"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert words.seconds(seconds) == text


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ((1e-3, 1e-5), "1e-3 rel + 1e-5 abs"),
        ((0.13, 2e-2), "0.13 rel + 2e-2 abs"),
        ((0.0, 0.0), "exact"),
        ((None, None), "-"),
    ],
)
def test_tolerance(pair: tuple[float | None, float | None], text: str) -> None:
    assert words.tolerance(*pair) == text


def test_span() -> None:
    assert words.span(Symbol("n", 1, None, 2)) == "n >= 1"
    assert words.span(Symbol("n", 2, 512, 4)) == "2 <= n <= 512"
    assert words.span(Symbol("n", 4, 4, 4)) == "n = 4"


def test_several() -> None:
    assert [words.several(count, "node") for count in (0, 1, 2470)] == [
        "0 nodes",
        "1 node",
        "2,470 nodes",
    ]


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (["layers.0.attn", "layers.1.attn", "layers.2.attn"], "layers.[0-2].attn"),
        (["layers.0", "layers.1", "layers.3", "head"], "layers.[0-1, 3], head"),
        (["0.1", "1.1"], "[0-1].1"),
        (["a.b", "c.d"], "a.b, c.d"),
        (["layers.7.fc"], "layers.7.fc"),
        ([f"m{at}" for at in range(20)], "m0, m1, m2, m3, m4, m5 and 14 more"),
    ],
)
def test_modules_that_differ_in_a_number_are_one(paths: list[str], text: str) -> None:
    assert words.modules(paths) == text
