"""Shared memories as clones in $INSTINCT_HOME/shared/<name>: what is noted of each, and everything that talks to a remote.

A clone has only `.instinct/` in its working tree, runs no filters on it and follows no submodules. What is noted of it
lies in its git directory, out of the reach of whoever can push. The remote is never written over: every push is a
fast-forward or refused.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from instinct_git.core import address
from instinct_git.core.evidence import LEDGER, OBSERVATIONS
from instinct_git.errors import InstinctError
from instinct_git.storage import config, files
from instinct_git.storage.files import Place

if TYPE_CHECKING:
    from instinct_git.storage.git import Repository, Result

REMOTE = "origin"
CLONE_SECONDS, NETWORK_SECONDS = 1800.0, 120.0
SPARSE = "/.instinct/\n"
ATTRIBUTES = "/.instinct/** -filter -ident -working-tree-encoding\n"
REQUIRE = ("", files.SIGNED, files.APPROVED)


class Share(NamedTuple):
    """What is noted of one shared memory (or of the user's global one, where it has a remote)."""

    name: str
    url: str
    branch: str
    readonly: bool = False
    require: str = ""
    """signed: every commit taken must bear a valid signature; approved: only what a person approved is suggested."""
    tip: str = ""
    """The remote's tip as last taken; empty: the repository was empty."""
    fetched: str = ""
    """When the remote was last reached, ISO 8601 UTC."""
    request: str = ""
    """The branch that carries our evidence to a protected default branch; empty: none was needed yet."""


def root_of(home: Path, name: str) -> Path:
    """Return the folder of a shared memory, or of the global one."""
    return home / files.GLOBAL if name == files.GLOBAL else home / files.SHARED / name


def place_of(home: Path, name: str) -> Place:
    """Return the place of a shared memory, whether it exists or not."""
    scope = files.GLOBAL if name == files.GLOBAL else files.SHARED
    return files.at(root_of(home, name), scope, home)


def names(home: Path) -> list[str]:
    """Return the names of all shared memories, sorted; the global one, where it has a remote, comes first."""
    try:
        with os.scandir(home / files.SHARED) as entries:
            found = sorted(e.name for e in entries if e.name[0] != "." and e.is_dir(follow_symlinks=False))
    except OSError:
        found = []
    return [name for name in (files.GLOBAL, *found) if _note_in(root_of(home, name)).is_file()]


def _note_in(root: Path) -> Path:
    return root / ".git" / "instinct" / "share.json"


def read(home: Path, name: str) -> Share | None:
    """Return what is noted of a memory; None where it is not a shared one. Raises InstinctError for a broken note."""
    note = _note_in(root_of(home, name))
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
        return Share(name, *(said[field] for field in Share._fields[1:]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise InstinctError(
            f"{note} cannot be read", f"move {root_of(home, name)} away, then `instinct share add {name} URL`"
        ) from None


def write(home: Path, share: Share) -> None:
    """Note what is known of a shared memory."""
    said = {"v": 1, **{name: value for name, value in share._asdict().items() if name != "name"}}
    files.replace(_note_in(root_of(home, share.name)), (json.dumps(said, indent=1) + "\n").encode("utf-8"))


def layers(home: Path) -> list[Place]:
    """Return the shared memories that are read along: those that stand on the branch they were added with. Starts no git."""
    found = []
    for name in names(home):
        if name == files.GLOBAL:
            continue
        try:
            share, place = read(home, name), place_of(home, name)
            files.refuse_obstacles(place.root, home)
            config.load(place.root, home)
        except InstinctError:
            continue  # `share list` names it
        if share is not None and place.git_dir is not None and place.exists() and on_branch(place.git_dir, share):
            found.append(place._replace(require=share.require))
    return found


def on_branch(git_dir: Path, share: Share) -> bool:
    """True when the working tree is the one of the branch that is shared."""
    try:
        head = (git_dir / "HEAD").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return False
    return head == f"ref: refs/heads/{share.branch}"


# --- clones ---------------------------------------------------------------------------------------------------------


def variables(folder: Path, where: address.Address) -> dict[str, str]:
    """Return the variables of every command that may reach a network: it asks nobody and uses one transport alone."""
    from instinct_git.storage import branches

    return {**branches.quiet(folder), "GIT_ALLOW_PROTOCOL": where.protocols, "GIT_LFS_SKIP_SMUDGE": "1"}


def clone(
    home: Path, share: Share, where: address.Address, *, depth: int = 0, partial: bool = False
) -> tuple[Path, Result]:
    """Clone into a new folder beside the others, nothing checked out; the folder and git's result."""
    from instinct_git.storage import git

    base = home / files.SHARED
    base.mkdir(parents=True, exist_ok=True)
    target = base / f".{share.name}.{os.urandom(6).hex()}"
    args = ["-c", "credential.interactive=false", "clone", "--quiet", "--no-checkout", "--no-tags",
            "--no-recurse-submodules", "--origin", REMOTE, "--template="]  # fmt: skip
    args += [f"--depth={depth}"] if depth else []
    args += ["--filter=blob:none"] if partial else []
    args += ["--no-local"] if where.local and (depth or partial) else []
    args += ["--single-branch"] if depth else []
    args += [f"--branch={share.branch}"] if share.branch else []
    done = git.run(base, [*args, "--", share.url, str(target)], env=variables(base, where), seconds=CLONE_SECONDS)
    if done.code:
        shutil.rmtree(target, ignore_errors=True)
    return target, done


def prepare(repository: Repository) -> None:
    """Let a clone check out `.instinct/` alone, as the bytes that were committed, on every system."""
    settings = {
        "core.sparseCheckout": "true", "core.sparseCheckoutCone": "false", "submodule.recurse": "false",
        "core.protectNTFS": "true", "core.protectHFS": "true", "core.autocrlf": "false", "gc.auto": "0",
    }  # fmt: skip
    for name, value in settings.items():
        repository.must("config", name, value)
    for name, content in (("sparse-checkout", SPARSE), ("attributes", ATTRIBUTES)):
        files.replace(repository.common_dir / "info" / name, content.encode("ascii"))


def remote_branch(repository: Repository) -> str:
    """Return the remote's default branch as a clone noted it; of an empty repository the one that HEAD waits for."""
    head = repository.ask("symbolic-ref", "-q", f"refs/remotes/{REMOTE}/HEAD").text
    return head.removeprefix(f"refs/remotes/{REMOTE}/") if head else repository.branch()


def moved_in(temporary: Path, target: Path) -> None:
    """Give a finished clone its name."""
    try:
        os.rename(temporary, target)
    except OSError as problem:
        shutil.rmtree(temporary, ignore_errors=True)
        raise InstinctError(f"{target} cannot be made: {problem.strerror}", "move what is there away") from None


def removed(root: Path) -> None:
    """Delete a clone; it disappears in one step."""
    gone = root.with_name(f".{root.name}.{os.urandom(6).hex()}")
    os.rename(root, gone)
    shutil.rmtree(gone, ignore_errors=True)


# --- the remote -----------------------------------------------------------------------------------------------------


def remote_ref(share: Share) -> str:
    """Return the remote-tracking branch."""
    return f"refs/remotes/{REMOTE}/{share.branch}"


def base_ref(share: Share) -> str:
    """Return the ref of the remote's commit that our own commits stand on: what lies before it is not ours to replay."""
    return f"refs/instinct/base/{share.branch}"


def fetch(repository: Repository, share: Share, where: address.Address) -> Result:
    """Fetch the shared branch (and the request's, where there is one) into the remote-tracking branches."""
    from instinct_git.storage import git

    spec = f"+refs/heads/{share.branch}:{remote_ref(share)}"
    args = ["-c", "credential.interactive=false", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
            "--no-write-fetch-head", "--", REMOTE, spec]  # fmt: skip
    return git.run(repository.top, args, env=variables(repository.top, where), seconds=NETWORK_SECONDS)


def heads(repository: Repository, where: address.Address) -> tuple[dict[str, str], Result]:
    """Return {branch: tip} of the remote as it is now, and git's result."""
    from instinct_git.storage import git

    args = ["-c", "credential.interactive=false", "ls-remote", "--heads", "--", REMOTE]
    done = git.run(repository.top, args, env=variables(repository.top, where), seconds=NETWORK_SECONDS)
    rows = (line.split("\t") for line in done.text.splitlines() if "\t" in line)
    return {name.removeprefix("refs/heads/"): sha for sha, name in rows}, done


def push(repository: Repository, where: address.Address, sha: str, branch: str) -> Result:
    """Push a commit to a branch, never by force; a refusal is a Result."""
    from instinct_git.storage import git

    args = ["-c", "credential.interactive=false", "push", "--porcelain", "--no-recurse-submodules",
            "--", REMOTE, f"{sha}:refs/heads/{branch}"]  # fmt: skip
    return git.run(repository.top, args, env=variables(repository.top, where), seconds=NETWORK_SECONDS)


# --- the working tree -----------------------------------------------------------------------------------------------


def stand_on(repository: Repository, branch: str, sha: str) -> None:
    """Bring branch, index and working tree to a commit; a person's uncommitted edits stay, or are named and nothing moves."""
    from instinct_git.storage import git

    head = repository.head()
    if head == sha:
        return
    if not head:
        repository.must("update-ref", f"refs/heads/{branch}", sha)
        repository.must("read-tree", "-m", "-u", sha)
        return
    _take_back_half_written(repository, head, sha)
    done = git.run(repository.top, ["reset", "--quiet", "--keep", sha])
    if done.code:
        changed, fresh = repository.differing("HEAD", ".instinct")
        theirs = ", ".join(sorted(changed | fresh)[:5])
        raise InstinctError(
            f"{repository.top} has edits that are not committed"
            + (f": {theirs}" if theirs else f" ({git.last_line(done.err)})"),
            "commit or undo them there (`git status`), then sync again; nothing was moved",
        )


def restore_containers(repository: Repository) -> None:
    """Bring back containers that a batch which was stopped in its commit has taken out of the working tree alone."""
    folders = [repository.inside(one.rstrip("/")) for one in (OBSERVATIONS, LEDGER)]
    gone = repository.ask("ls-files", "-d", "-z", "--full-name", "--", *folders).out
    if gone and repository.head():
        repository.must("checkout-index", "-f", "-u", "-z", "--stdin", stdin=gone)


def _take_back_half_written(repository: Repository, head: str, sha: str) -> None:
    """Undo what a killed update has left: files that are already as they are to become are no edits of a person."""
    from instinct_git.storage import branches

    changed, fresh = repository.differing("HEAD", ".instinct")
    if not changed | fresh:
        return
    wanted = branches.changed(repository, head, sha)
    dirty = {path: repository.inside(path) for path in changed | fresh if repository.inside(path) in wanted}
    there = {path: full for path, full in dirty.items() if (repository.place.root / path).is_file()}
    if not there:
        return
    listing = "".join(f"{full}\n" for full in there.values()).encode("utf-8", "surrogateescape")
    hashes = repository.must("hash-object", "--stdin-paths", stdin=listing).text.splitlines()
    for (path, full), blob in zip(there.items(), hashes, strict=True):
        if wanted[full][1] != blob:
            continue
        if path in fresh:
            (repository.place.root / path).unlink()
        else:
            repository.must("checkout", "-q", "HEAD", "--", full)


def kept_aside(place: Place) -> Path:
    """Return the folder that holds a person's versions of what was changed here and by others at once."""
    return place.state_dir / "conflicts"


def keep_aside(place: Place, contents: Mapping[str, bytes]) -> None:
    """Keep a person's versions of files beside the memory."""
    for path, content in contents.items():
        files.replace(kept_aside(place) / path, content)


def conflicts(place: Place) -> list[tuple[str, Path]]:
    """Return (memory path, the file with the person's version) of what was not settled yet. A version that the memory
    has by now is settled, and goes."""
    base = kept_aside(place)
    found = []
    for file in sorted(base.rglob("*")) if base.is_dir() else []:
        if not file.is_file():
            continue
        path = file.relative_to(base).as_posix()
        here = place.root / path
        if here.is_file() and here.read_bytes() == file.read_bytes():
            file.unlink()
        else:
            found.append((path, file))
    return found
