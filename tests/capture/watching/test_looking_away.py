"""torch's own work is not watched, whoever else watches."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from onnxpert.capture.watching import looking_away


@pytest.mark.parametrize("is_ours", [True, False])
def test_only_a_watcher_of_ours_looks_away(is_ours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking_away, "_OURS", set())

    def watcher(*_: Any) -> None:
        return None

    if is_ours:
        looking_away.of_users_lines(watcher)
    before = sys.gettrace()
    sys.settrace(watcher)
    try:
        within = looking_away.unwatched(sys.gettrace, (), {})
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert within is (None if is_ours else watcher)
    assert after is watcher


def test_what_torch_raises_is_seen_again_where_it_arrives() -> None:
    seen: list[str] = []

    @looking_away.of_users_lines
    def watcher(frame: Any, event: str, _: Any) -> Any:
        seen.append(f"{frame.f_code.co_name} {event}")
        return watcher

    def fails() -> None:
        raise ValueError("of torch")

    def asks() -> None:
        with pytest.raises(ValueError, match="of torch"):
            looking_away.unwatched(fails, (), {})

    before = sys.gettrace()
    sys.settrace(watcher)
    try:
        asks()
    finally:
        sys.settrace(before)
    assert "asks exception" in seen
    assert not any(each.startswith("fails") for each in seen)
