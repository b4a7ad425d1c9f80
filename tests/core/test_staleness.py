"""Staleness: what a text cites, what a project has, and what of it has gone."""

from __future__ import annotations

import pytest

from instinct_git.core.staleness import (
    COMMAND,
    COMPOSER,
    JUST,
    MAKE,
    NPM,
    PACKAGE,
    Change,
    Ground,
    Stale,
    Subject,
    citations,
    has,
    stale,
)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Run scripts/release.sh, then tools/check.py.", {"scripts/release.sh": False, "tools/check.py": False}),
        ("Run `./scripts/release`", {"scripts/release": True}),
        ("See [the guide](docs/guide.md#steps)", {"docs/guide.md": False}),
        ("```sh\nbash ci/build.sh --all\n```", {"ci/build.sh": True}),
        ("Test `tests/test_a.py::test_b`", {"tests/test_a.py": True}),
        ("Edit the Makefile", {"Makefile": False}),
        ("改 `src/主页.py`", {"src/主页.py": True}),
        ("and/or client/server CI/CD https://example.org/a/b.html ada@example.org v1.2 3.11", {}),
        ("`../other/x.py` `/etc/hosts.conf` `~/x.py` `src/*.py` `$HOME/x.sh` `<path>/x.py`", {}),
    ],
)
def test_paths_are_cited_in_words_with_an_ending_and_in_code_with_a_slash(text: str, paths: dict[str, bool]) -> None:
    assert citations(text).paths == paths


def test_calls_are_cited_anywhere_and_packages_in_code_alone() -> None:
    found = citations(
        "Run make -C . lint and npm run build:all. Use `Requests`, not urllib.", "composer test; just fmt"
    )
    assert {(NPM, "build:all"), (COMPOSER, "test"), (JUST, "fmt"), (PACKAGE, "requests")} <= found.names
    assert (PACKAGE, "urllib") not in found.names


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("Makefile", "X := 1\nlint test: deps\n\truff\n.PHONY: lint\n", {(MAKE, "lint"), (MAKE, "test")}),
        ("Makefile", "include more.mk\nall:\n", {(MAKE, "all"), (MAKE, "")}),
        ("justfile", "x := '1'\nfmt arg='a': build\n  ruff\n", {(JUST, "fmt")}),
        ("package.json", '{"scripts": {"build": "x"}, "devDependencies": {"Vite": "1"}}', {(NPM, "build"), (PACKAGE, "vite")}),
        ("package.json", "[]", set()),
        ("package.json", "{", set()),
        ("composer.json", '{"scripts": {"t": "x"}, "require": {"a/b": "1"}}', {(COMPOSER, "t"), (PACKAGE, "a/b")}),
        ("pyproject.toml", '[project]\ndependencies = ["Rich>=1", "a[b]"]\n[project.scripts]\ntool = "x:y"\n[dependency-groups]\nt = ["ruff"]',
         {(PACKAGE, "rich"), (PACKAGE, "a"), (COMMAND, "tool"), (PACKAGE, "ruff")}),
        ("pyproject.toml", "[tool.poetry.dependencies]\nhttpx = '*'\n", {(PACKAGE, "httpx")}),
        ("pyproject.toml", "broken =", set()),
        ("Cargo.toml", "[dependencies]\nserde = '1'\n", {(PACKAGE, "serde")}),
        ("go.mod", "module x\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n", {(PACKAGE, "github.com/a/b")}),
        ("Gemfile", "gem 'rails', '7'\n", {(PACKAGE, "rails")}),
        ("requirements.txt", "# x\nrequests==2\n-r other.txt\n", {(PACKAGE, "requests")}),
    ],
)  # fmt: skip
def test_a_manifest_gives_names_and_a_broken_one_gives_none(path: str, text: str, names: set[tuple[str, str]]) -> None:
    assert has({path: text}) == names


def subject(text: str, since: str = "2026-03-10", confirmed: bool = False) -> Subject:
    return Subject("note:x", "x.md", since, citations(text), confirmed)


def told(found: list[Stale]) -> list[tuple[str, str, str]]:
    return [(one.what, one.cited, one.at) for one in found]


def gone(day: str, path: str = "a/b.py") -> Ground:
    return Ground(frozenset(), (Change(day, path, "1", ""),), known=True)


def test_a_path_that_went_on_the_day_of_the_last_evidence_or_later_has_vanished() -> None:
    assert told(stale([subject("see a/b.py")], gone("2026-03-12"))) == [("vanished", "a/b.py", "2026-03-12")]
    assert told(stale([subject("see a/b.py")], gone("2026-03-10"))) == [("vanished", "a/b.py", "2026-03-10")]
    assert stale([subject("see a/b.py")], gone("2026-03-09")) == []
    assert stale([subject("see a/b.py", confirmed=True)], gone("2026-03-10")) == []


def test_a_folder_has_vanished_with_what_was_in_it() -> None:
    assert told(stale([subject("`a/b/`")], gone("2026-03-12", "a/b/c.py"))) == [("vanished", "a/b", "2026-03-12")]


def test_a_path_that_changed_after_the_last_evidence_is_told_and_on_the_same_day_it_is_not() -> None:
    there = frozenset({"a/b.py"})
    for day, expected in (("2026-03-11", [("changed", "a/b.py", "2026-03-11")]), ("2026-03-10", [])):
        assert (
            told(stale([subject("see a/b.py")], Ground(there, (Change(day, "a/b.py", "1", "2"),), known=True)))
            == expected
        )


def test_what_never_was_there_is_an_example_where_history_can_tell() -> None:
    assert stale([subject("`a/b.py`")], Ground(known=True)) == []
    assert told(stale([subject("`a/b.py`, c/d.py")], Ground())) == [("missing", "a/b.py", "")]


def test_what_is_deleted_and_not_committed_has_vanished_too() -> None:
    assert told(stale([subject("see a/b.py")], Ground(known=True, tracked=frozenset({"a/b.py"})))) == [
        ("vanished", "a/b.py", "")
    ]


def make(day: str, old: str, new: str) -> Ground:
    change = (Change(day, "Makefile", "1", "2"),)
    return Ground(frozenset(), change, known=True, manifests={"Makefile": new}, old={"1": old})


def test_a_target_that_stood_there_on_the_day_of_the_last_evidence_has_vanished() -> None:
    assert told(stale([subject("run make lint")], make("2026-03-12", "lint:\n", "check:\n"))) == [
        ("vanished", "make target lint", "")
    ]
    assert told(stale([subject("run make lint")], make("2026-03-10", "lint:\n", "check:\n"))) == [
        ("vanished", "make target lint", "")
    ]
    assert stale([subject("run make lint", confirmed=True)], make("2026-03-10", "lint:\n", "check:\n")) == []
    assert stale([subject("run make lint")], make("2026-03-09", "lint:\n", "check:\n")) == []
    assert stale([subject("run make lint")], make("2026-03-12", "lint:\n", "include more.mk\n")) == []
    assert stale([subject("make sure that it works")], make("2026-03-12", "lint:\n", "check:\n")) == []
