"""`instinct demo`: the whole loop works, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.builders import git, process


def test_the_demo_runs_the_whole_loop_and_leaves_nothing(tmp_path: Path, sealed: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = process(tmp_path, "demo", env={"TMPDIR": str(scratch)})
    assert (done.code, done.err) == (0, "")
    for words in (
        "seq:test->edit->test->commit  x3", "Promoted to mature: 1", "conf=5   [mature]  sequence", "# 1 suggestion",
        "reaches mature", "# 0 errors", "branch:  instinct/skill/test-edit-test-commit", "+## Steps",
    ):  # fmt: skip
        assert words in done.out
    assert list(scratch.iterdir()) == []
    assert not (sealed / ".instinct").exists()


@pytest.mark.slow
def test_the_demo_can_keep_its_repository(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = process(tmp_path, "demo", "--keep", env={"TMPDIR": str(scratch)})
    (base,) = scratch.iterdir()
    assert str(base / "web-shop") in done.out
    assert git(base / "web-shop", "branch", "--list", "instinct/*").strip() == "instinct/skill/test-edit-test-commit"


@pytest.mark.slow
def test_the_demo_needs_no_identity_and_ignores_a_users_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "gitconfig"
    broken.write_text("[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(broken))
    monkeypatch.setenv("INSTINCT_AUTHOR", "nonsense")
    assert process(tmp_path, "demo", env={"TMPDIR": tempfile.gettempdir()}).code == 0
