"""Where a memory lives, and the only code that opens its files for writing: create, replace, remove.

Finding the place reads a few small files and starts no git process: every `observe` comes through here (law 7).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from instinct_git.core.digest import sha256_hex
from instinct_git.errors import InstinctError

PROJECT, PRIVATE, GLOBAL, SHARED = "project", "private", "global", "shared"
SIGNED, APPROVED = "signed", "approved"
"""What a person may require of a shared memory."""
MOVES = 16
"""Changes of a project's id that are followed to its private memory."""
FOLDERS = ("observations", "patterns", "ledger")
_PATTERN_FOLDERS = tuple(f"patterns/{name}" for name in ("seq", "pref", "fix", "combo", "note", "other"))


class Place(NamedTuple):
    """Where one memory is. Without a git repository `top`, `git_dir` and `common_dir` are None."""

    root: Path
    """The folder that holds `.instinct/`."""
    scope: str
    """project, private, global or shared."""
    home: Path
    """$INSTINCT_HOME."""
    top: Path | None = None
    """The working tree's top folder."""
    git_dir: Path | None = None
    """This worktree's own git directory."""
    common_dir: Path | None = None
    """The git directory that all worktrees share."""
    fell_back: bool = False
    """True when the global memory was taken because there is no memory here."""
    ignored: str = ""
    """What was not taken for this folder's memory, and why; empty: nothing."""
    require: str = ""
    """approved: only what a person approved is suggested from here; empty and signed: everything."""

    @property
    def called(self) -> str:
        """What people call it: its scope, or a shared memory's name."""
        return self.shared_name or self.scope

    @property
    def shared_name(self) -> str:
        """A shared memory's name; empty for another one."""
        return self.root.name if self.scope == SHARED else ""

    @property
    def documents_read(self) -> bool:
        """True where agents read what patterns have become (skills, MEMORY.md): in a project's own repository."""
        return self.scope == PROJECT

    @property
    def state_dir(self) -> Path:
        """Private state shared by all worktrees of this clone: inbox, recorded, secret, index."""
        if self.common_dir is not None:
            return self.common_dir / "instinct" / self._nested()
        return self.home / "state" / path_id(self.root)

    @property
    def worktree_state_dir(self) -> Path:
        """Private state of this worktree alone: the batch lock and its journal."""
        return (self.git_dir / "instinct" / self._nested()) if self.git_dir is not None else self.state_dir

    def _nested(self) -> str:
        """Return where below the private state a memory in a subfolder keeps its own, since each has its inbox. The
        name depends on the path inside the repository alone, so worktrees agree."""
        if self.top is None or self.root == self.top or self.root.resolve() == self.top.resolve():
            return ""
        return f"at/{path_hash(self.root.resolve().relative_to(self.top.resolve()).as_posix())}"

    @property
    def inboxes(self) -> list[Path]:
        """Every folder that may hold this clone's uncommitted evidence, the preferred one first."""
        found = [self.state_dir / "inbox"] if self.common_dir is not None else []
        return [*found, *self.fallbacks()]

    def fallbacks(self) -> list[Path]:
        """The inbox folders in $INSTINCT_HOME. The id changes when a remote is added, and when a plain folder comes to
        lie in a repository: what was written under the path's id must still be found."""
        nested = self._nested().replace("at/", "-")
        names = (project_id(self) + nested, _own_path_id(self) + nested, path_id(self.root))
        return [self.home / "inbox" / name for name in dict.fromkeys(names)]

    def exists(self) -> bool:
        """True when the memory has been set up."""
        return is_memory(self.root)


def is_memory(folder: Path) -> bool:
    """True when `folder` holds a memory. `.instinct` alone does not tell: $INSTINCT_HOME has that name by default."""
    base = folder / ".instinct"
    return any((base / name).is_dir() for name in FOLDERS)


def refuse_obstacles(folder: Path, home: Path) -> None:
    """Raise InstinctError where something else than a folder stands in a memory's place. Git keeps nothing behind a
    symbolic link, and what one leads to is somebody else's."""
    base = folder / ".instinct"
    if not os.path.lexists(base) or base.absolute() == home.absolute() or base.resolve() == home.resolve():
        return
    if os.path.lexists(base / ".git"):
        raise InstinctError(
            f"{base} is a git repository of its own (a submodule?), and a memory is a folder of its project",
            "move it away, then run `instinct init`",
        )
    for path in (base, *(base / name for name in (*FOLDERS, *_PATTERN_FOLDERS))):
        if path.is_symlink():
            raise InstinctError(
                f"{path} is a symbolic link, and a memory must be a real folder",
                f"replace it with the folder that it leads to (now {path.readlink()}), then run this again",
            )
        if path.exists() and not path.is_dir():
            what = "`instinct init`" if path == base else "this"
            raise InstinctError(
                f"{path} is a file, and a memory needs a folder there", f"move that file away, then run {what} again"
            )


def refuse_bare(start: Path) -> None:
    """Raise InstinctError in a bare repository: it has no working tree that could hold a memory."""
    for folder in (start, *start.parents):
        if os.path.lexists(folder / ".git"):
            return
        if folder.name != ".git" and (folder / "HEAD").is_file() and all(
            (folder / name).is_dir() for name in ("objects", "refs")
        ):  # fmt: skip
            raise InstinctError(
                f"{folder} is a bare repository: it has no working tree",
                "run this in a clone of it, or in a worktree (`git worktree add`)",
            )


def _distrusted(folder: Path, start: Path) -> str:
    """Say why a memory in `folder` is not taken for that of `start` where no git repository says what belongs together;
    empty: it is. Whoever can write into it speaks to the agent."""
    if folder != start:
        if folder.parent == folder:
            return "a file system's root belongs to no project"
        if folder.stat().st_dev != start.stat().st_dev:
            return "it lies on another file system"
        home = Path.home()
        if home in (start, *start.parents) and home not in (folder, *folder.parents):
            return "it lies outside your home folder"
        if not _is_ours(folder):
            return "its folder belongs to another user"
    base = folder / ".instinct"
    return "" if not base.is_dir() or _is_ours(base) else "it belongs to another user"


def _is_ours(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows has no such number
    owner = path.stat().st_uid
    return owner == os.getuid() or (os.getuid() == 0 and str(owner) == os.environ.get("SUDO_UID"))


def instinct_home(given: str | os.PathLike[str] | None = None) -> Path:
    """Return $INSTINCT_HOME, else ~/.instinct; `given` overrides both."""
    chosen = given or os.environ.get("INSTINCT_HOME")
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".instinct"


def current_folder() -> Path:
    """Return the folder this process is in. Raises InstinctError when somebody has deleted it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InstinctError("the current folder has been deleted", "change to a folder that is there") from None


def locate(start: Path, home: Path) -> Place:
    """Return the memory for a folder: the nearest `.instinct/` of its repository, else this project's private memory,
    else the user's global one."""
    start = start.absolute()
    if not start.is_dir():
        raise InstinctError(f"{start} is not a folder", "name a folder of the project")
    refuse_bare(start)
    top, git_dir, common_dir = find_repository(start)
    ignored = ""
    for folder in (start, *start.parents):
        if top is None and (why := _distrusted(folder, start)):
            ignored = _nearest(folder, home, why)
            break
        refuse_obstacles(folder, home)
        if is_memory(folder):
            return Place(folder, scope_of(folder, home), home, top, git_dir, common_dir)
        if folder == top:
            break
    if common_dir is not None and top is not None:
        project = Place(top, PROJECT, home, top, git_dir, common_dir)
        private = private_root(project)
        if private is not None:
            return at(private, PRIVATE, home)
        if any((project.state_dir / name).is_dir() for name in ("inbox", "recorded")):
            return project  # the clone has a memory, this branch has no `.instinct/` yet: evidence waits in the inbox
    return at(home / GLOBAL, GLOBAL, home, fell_back=True)._replace(ignored=ignored)


def scope_of(root: Path, home: Path) -> str:
    """Return the scope of the memory in a folder."""
    if root == home / GLOBAL:
        return GLOBAL
    return {home / SHARED: SHARED, home / PRIVATE: PRIVATE}.get(root.parent, PROJECT)


def _nearest(folder: Path, home: Path, why: str) -> str:
    """Return the words about the nearest memory from `folder` upward, which is not taken; empty when there is none."""
    for above in (folder, *folder.parents):
        if is_memory(above) and above / ".instinct" != home:
            return f"{above / '.instinct'} is not used here: {why}"
    return ""


def at(root: Path, scope: str, home: Path, *, fell_back: bool = False) -> Place:
    """Return the memory whose root is exactly this folder."""
    top, git_dir, common_dir = find_repository(root) if root.is_dir() else (None, None, None)
    if top is not None and top.resolve() != root.resolve() and scope != PROJECT:
        top = git_dir = common_dir = None  # $INSTINCT_HOME may itself lie in somebody's dotfiles repository
    return Place(root, scope, home, top, git_dir, common_dir, fell_back)


def find_repository(start: Path) -> tuple[Path | None, Path | None, Path | None]:
    """Return (top, git dir, common dir) of the working tree around `start`, or three times None."""
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir() and (dot_git / "HEAD").is_file():
            return folder, dot_git, dot_git
        if dot_git.is_file():
            text = dot_git.read_text(encoding="utf-8", errors="surrogateescape").strip()
            if text.startswith("gitdir:"):
                git_dir = Path(os.path.normpath(folder / text.removeprefix("gitdir:").strip()))
                if not git_dir.is_dir():
                    raise InstinctError(
                        f"{dot_git} leads to {git_dir}, which is not there",
                        "`git worktree repair` in the main working tree, or `git submodule update --init`, brings it back",
                    )
                return folder, git_dir, _common_dir(git_dir)
    return None, None, None


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    text = pointer.read_text(encoding="utf-8", errors="surrogateescape").strip()
    return Path(os.path.normpath(git_dir / text))


def path_id(path: Path) -> str:
    """Return 12 hex digits of the SHA-256 of a resolved path."""
    return path_hash(str(path.resolve()))


def path_hash(path: str) -> str:
    """Return 12 hex digits of the SHA-256 of a path's bytes."""
    return sha256_hex(os.fsencode(path))[:12]


def project_fingerprint(path: str | os.PathLike[str] = ".") -> str:
    """Return 12 hex digits that stand for a plain path (its resolved form)."""
    return path_id(Path(path).expanduser())


def project_id(place: Place) -> str:
    """Return the project's 12-digit id: the one noted in the clone, else from the remote's address, else the path's.

    `init` notes the id of a repository without a remote (from its root commit), so that it needs no git process here.
    """
    return next(_ids(place))


def current_id(place: Place) -> str:
    """Return the id that a fresh clone of this project would have now; what was noted before counts for nothing."""
    return next(_ids(place, noted=False), _own_path_id(place))


def _ids(place: Place, *, noted: bool = True, depth: int = 3) -> Iterator[str]:
    """Yield every id by which a project may be known, likeliest first. A remote that is a repository of this machine
    speaks for its clones: they are one project."""
    if place.common_dir is None:
        yield path_id(place.root)
        return
    if noted and (text := noted_id(place.common_dir)):
        yield text
    url = remote_url(place.common_dir)
    if url:
        if os.path.isabs(url) and depth and (Path(url) / ".git").exists():
            top, git_dir, common_dir = find_repository(Path(url))
            if common_dir is not None and common_dir != place.common_dir:
                there = Place(Path(url), PROJECT, place.home, top, git_dir, common_dir)
                yield from _ids(there, depth=depth - 1)
        yield url_id(url)
    yield _own_path_id(place)


def noted_id(common_dir: Path) -> str:
    """Return the project id noted in a clone; empty: none is."""
    try:
        text = (common_dir / "instinct" / "project-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return text if len(text) == 12 else ""


def private_root(place: Place) -> Path | None:
    """Return where this project's private memory lies; None: it has none. A memory that was moved to a new id leaves a
    note under its former one, so that clones that know only that find it."""
    base = place.home / PRIVATE
    if not base.is_dir():
        return None
    for one in dict.fromkeys(_ids(place)):
        for _ in range(MOVES):
            if is_memory(base / one):
                return base / one
            try:
                one = (base / f"{one}.moved").read_text(encoding="ascii").strip()
            except (OSError, ValueError):
                break
            if len(one) != 12 or not one.isalnum():
                break
    return None


def project_name(place: Place) -> str:
    """Return the project's name for people: the last part of its remote's address, else its folder's name."""
    url = remote_url(place.common_dir) if place.common_dir is not None else ""
    return normalise_url(url).rpartition("/")[2] if url else _own_folder(place).name


def _own_path_id(place: Place) -> str:
    """Return the id of the place's path: that of the main working tree, so that linked worktrees agree."""
    return path_id(_own_folder(place))


def _own_folder(place: Place) -> Path:
    if place.common_dir is None:
        return place.root
    return place.common_dir.parent if place.common_dir.name == ".git" else place.common_dir


def url_id(url: str) -> str:
    """Return the project id of a remote's address."""
    return sha256_hex(normalise_url(url).encode("utf-8", "surrogateescape"))[:12]


def remote_url(common_dir: Path) -> str:
    """Return the address of `origin`, else of the first remote in the clone's config; empty when there is none."""
    try:
        lines = (common_dir / "config").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    section, first = "", ""
    for line in lines:
        text = line.strip()
        if text.startswith("["):
            section = text
        elif section.startswith("[remote ") and text.replace(" ", "").startswith("url="):
            url = text.partition("=")[2].strip().strip('"')
            url = _absolute(url, common_dir.parent)
            if section == '[remote "origin"]':
                return url
            first = first or url
    return first


def _absolute(url: str, base: Path) -> str:
    """Return a remote's address; one that is a relative path means another place in every project."""
    local = "://" not in url and (":" not in url or "/" in url.partition(":")[0])
    return os.path.normpath(base / url) if local and not os.path.isabs(os.path.expanduser(url)) else url


def normalise_url(url: str) -> str:
    """Return a remote's address without scheme, user, port, `.git` and case of the host, so that clones agree."""
    text = url.strip().rstrip("/").removesuffix(".git").rstrip("/")
    scheme, found, rest = text.partition("://")
    if not found:
        host, colon, path = text.partition(":")
        if not colon or "/" in host or len(host) == 1:  # a local path (C:\ too)
            return os.path.normpath(os.path.expanduser(text))
        return f"{host.rpartition('@')[2].lower()}/{path.lstrip('/')}"
    if scheme == "file":
        return os.path.normpath(rest)
    host, _, path = rest.partition("/")
    return f"{host.rpartition('@')[2].partition(':')[0].lower()}/{path}"


def container_paths(root: Path, below: str) -> list[str]:
    """Return the paths of the containers in `observations/` or `ledger/`."""
    return sorted(
        f"{below}{name}" for name in regular_files(root / below) if name.endswith(".jsonl") and name[0] != "."
    )


def regular_files(folder: Path) -> list[str]:
    """Return the names of a folder's ordinary files: what a link leads to is not the memory's."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []


# --- writing --------------------------------------------------------------------------------------------------------


def create(path: Path, content: bytes) -> None:
    """Write a new file so that readers see all of it or nothing, and a power cut cannot lose it. Never overwrites."""
    temporary = _temporary(path)
    try:
        _write(temporary, content, sync=True)
        os.link(temporary, path) if hasattr(os, "link") else os.rename(temporary, path)
    except OSError as problem:
        if isinstance(problem, FileExistsError) or not _cannot_link(problem) or path.exists():
            raise
        os.rename(temporary, path)  # some file systems have no hard links; the name is random, so nothing is replaced
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _temporary(path: Path) -> Path:
    """Return a name beside `path` that no other process or thread has."""
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")


def finished_name(temporary: Path) -> Path:
    """Return the path that a temporary file was to become."""
    return temporary.with_name(temporary.name[1:].rsplit(".", 2)[0])


def _cannot_link(problem: OSError) -> bool:
    import errno

    return problem.errno in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOTSUP)


def replace(path: Path, content: bytes) -> None:
    """Write a file's new content in one step: after a crash it is the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path)
    try:
        _write(temporary, content, sync=False)
        if path.exists():
            os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def append(path: Path, content: bytes) -> None:
    """Add lines to a private file in one write, so that processes cannot meet."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o600)
    try:
        size = os.lseek(handle, 0, os.SEEK_END)
        if size:
            os.lseek(handle, size - 1, os.SEEK_SET)
            if os.read(handle, 1) != b"\n":  # a write that a power cut stopped must not take this one with it
                content = b"\n" + content
        os.write(handle, content)
    finally:
        os.close(handle)


def link(path: Path, said: str) -> None:
    """Make a symbolic link; never overwrites."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(said)


def _write(path: Path, content: bytes, *, sync: bool) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
