"""Setting a memory up: `init`, and the scaffolding that other verbs mend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from instinct_git.errors import InstinctError
from instinct_git.operations.workspace import Workspace
from instinct_git.storage import config, files
from instinct_git.storage.files import Place

_OBSERVATIONS = """---
type: README
---
Evidence that is committed and not folded yet: one JSON object a line, one file a commit, never changed afterwards.
`instinct consolidate` folds these files into `../ledger/` and the pattern files. Keep this README: it stops git from
taking the emptied folder for a renamed one.
"""
_LEDGER = """---
type: README
---
Folded evidence: the ids of everything that was ever counted, grouped by pattern. Every number in `../patterns/` can be
recomputed from here (`instinct check`). Never delete a file of this folder. Keep this README: it stops git from taking
the emptied folder for a renamed one.
"""
_ATTRIBUTES = """* text eol=lf
observations/*.jsonl linguist-generated
ledger/*.jsonl linguist-generated
"""


@dataclass(frozen=True, slots=True)
class SetUp:
    """What `init` did, or would do."""

    root: str
    scope: str
    written: tuple[tuple[str, str], ...]
    """(path, what it is for) of each file written now."""
    kept: tuple[str, ...]
    """Files that were there already."""
    consolidate: str
    why: str
    in_git: bool
    dry_run: bool = False


def scaffolding(consolidate: str = config.ANYWHERE, why: str = "") -> dict[str, tuple[str, str]]:
    """Return {path: (content, what it is for)} of the files that every memory has."""
    return {
        ".instinct/config.yaml": (config.template(consolidate, why), "policy; every setting with its default"),
        ".instinct/.gitattributes": (_ATTRIBUTES, "line ends, and evidence folded away in review diffs"),
        ".instinct/observations/README.md": (_OBSERVATIONS, "committed evidence, not folded yet"),
        ".instinct/ledger/README.md": (_LEDGER, "folded evidence; makes every number recomputable"),
    }


def scaffold(place: Place, consolidate: str, why: str) -> list[str]:
    """Write what is missing of the scaffolding and return the paths written."""
    written = []
    for path, (content, _) in scaffolding(consolidate, why).items():
        file = place.root / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            files.create(file, content.encode("utf-8"))
            written.append(path)
        except FileExistsError:
            continue
        except OSError as problem:
            raise InstinctError(
                f"{file} cannot be written: {problem.strerror or problem}", "check the folder's permissions"
            ) from None
    return written


def init(space: Workspace, folder: Path, *, private: bool = False, dry_run: bool = False) -> SetUp:
    """Set a memory up for the project around `folder` and say what each file is for. Touches nothing else.

    A second call writes what is missing and nothing more.
    """
    place = _target(space.place.home, folder, private=private)
    if (place.root / ".instinct").resolve() == place.home.resolve():
        raise InstinctError(f"{place.home} is the home of your own memories", "start a memory in a project's folder")
    consolidate, why = _policy(place if place.scope == files.PROJECT else None)
    plan: Mapping[str, tuple[str, str]] = scaffolding(consolidate, why)
    missing = [path for path in plan if not (place.root / path).exists()]
    if not dry_run:
        refuse_hopeless(place)
        place.root.mkdir(parents=True, exist_ok=True)
        note_id(folder, always=private)
        scaffold(place, consolidate, why)
        if place.scope != files.PROJECT and place.top is None:
            from instinct_git.storage.git import init_repository

            init_repository(place.root)
    return SetUp(
        str(place.root),
        place.scope,
        tuple((path, plan[path][1]) for path in missing),
        tuple(path for path in plan if path not in missing),
        consolidate,
        why,
        place.top is not None or place.scope != files.PROJECT,
        dry_run,
    )


def _target(home: Path, folder: Path, *, private: bool) -> Place:
    top, git_dir, common_dir = files.find_repository(folder)
    if not private:
        here = files.locate(folder, home)
        if here.scope == files.PROJECT and here.exists():
            return here
        return Place(top or folder, files.PROJECT, home, top, git_dir, common_dir)
    if top is None:
        raise InstinctError(f"{folder} is not in a git repository", "a private memory belongs to a project in git")
    project = Place(top, files.PROJECT, home, top, git_dir, common_dir)
    if project.exists():
        raise InstinctError(
            f"{top} has a memory of its own already", "a private memory is for projects that must not carry one"
        )
    return private_target(project)


def private_target(project: Place) -> Place:
    """Return where a project's private memory is, or is to be. Raises InstinctError where a commit could take it along."""
    home = project.home
    if project.top is not None and home.resolve().is_relative_to(project.top.resolve()):
        raise InstinctError(
            f"$INSTINCT_HOME ({home}) lies inside the project: a private memory there could reach one of its commits",
            "set INSTINCT_HOME to a folder outside of it",
        )
    there = files.private_root(project)
    return files.at(there or home / files.PRIVATE / files.project_id(project), files.PRIVATE, home)


def note_id(folder: Path, *, always: bool = False) -> None:
    """Note the project's id in the clone where only git can tell it (no remote: the root commit), and for a private
    memory always: it must be found when the remote changes."""
    top, git_dir, common_dir = files.find_repository(folder)
    if top is None or common_dir is None or (files.remote_url(common_dir) and not always):
        return
    noted = common_dir / "instinct" / "project-id"
    if noted.exists():
        return
    if always:
        project = Place(top, files.PROJECT, top, top, git_dir, common_dir)
        files.replace(noted, files.project_id(project).encode("ascii"))
        return
    from instinct_git.storage.git import Repository

    root = Repository(Place(top, files.PROJECT, top, top, git_dir, common_dir)).root_commit()
    if root:
        try:
            files.replace(noted, files.url_id("root-commit:" + root).encode("ascii"))
        except OSError:
            return  # a read-only .git: the path's id serves


def _policy(place: Place | None) -> tuple[str, str]:
    """Choose where batches fold, from who wrote the recent history."""
    if place is None or place.top is None:
        return config.ANYWHERE, "Chosen because this memory has one author."
    from instinct_git.storage.git import Repository

    authors = Repository(place).recent_authors()
    if authors > 1:
        return config.DEFAULT_BRANCH, (
            f"Chosen because {authors} people wrote the recent history: on other branches a batch only records its "
            "evidence,\n# so that pattern files never conflict in a merge. Both choices count exactly."
        )
    return (
        config.ANYWHERE,
        "Chosen because one person wrote the recent history. With several, default-branch spares conflicts.",
    )


def refuse_hopeless(place: Place) -> None:
    """Refuse where git could never commit what is about to be written."""
    if place.top is None or place.scope != files.PROJECT:
        return
    from instinct_git.storage.git import Repository

    repository = Repository(place)
    repository.refuse_without_working_tree()
    if repository.ask("check-ignore", "-q", "--no-index", repository.inside(".instinct/patterns/x.md")).code == 0:
        raise InstinctError(
            ".instinct is ignored by git here", "remove the ignore rule, or use `instinct init --private`"
        )
