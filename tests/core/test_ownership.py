"""Whose a file is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import onnxpert
from onnxpert.core.source import Owner, ownership

PACKAGE = Path(onnxpert.__file__).parent


def test_our_own_files_are_nobodys_by_whatever_way_they_are_reached(tmp_path: Path) -> None:
    """By way of a link they were the user's, and a look at what those do looked at itself for ever."""
    (tmp_path / "link").symlink_to(PACKAGE.parent, target_is_directory=True)
    for root in (PACKAGE, tmp_path / "link" / PACKAGE.name):
        assert ownership(str(root / "capture" / "deeds.py")) is Owner.NOBODY
    (tmp_path / "model.py").touch()
    assert ownership(str(tmp_path / "model.py")) is Owner.USER


def test_what_is_no_file_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model asks of its process is noted, so that to ask would be to look at itself for ever."""
    monkeypatch.setattr(os, "getcwd", lambda: pytest.fail("asked where the process is"))
    assert ownership("<a module that is frozen>") is Owner.NOBODY
