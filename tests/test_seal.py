"""The seal around every test holds whatever the test does with its own patches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import REAL_HOME


def test_a_test_that_undoes_its_patches_stays_away_from_the_real_home(
    sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING", "else")
    monkeypatch.undo()
    assert Path.home() == sealed != REAL_HOME
    assert os.environ["INSTINCT_HOME"] == str(sealed / ".instinct")
