"""House rules that a machine can check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dcarray"
MODULES = sorted(PACKAGE.rglob("*.py"))
PACKAGES = [path for path in MODULES if path.name == "__init__.py"]

LONGEST = 450
LONGER: dict[str, str] = {
    "namespace.py": "the public names, every one in writing",
}
"""Files that may be longer, each with the reason why it is one idea."""

by_name = pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path", PACKAGES, ids=lambda path: path.parent.relative_to(ROOT).as_posix()
)
def test_each_room_says_what_it_is_for(path: Path) -> None:
    assert len(ast.get_docstring(tree(path)) or "") >= 40


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert not [f for f in folders if not (f / "__init__.py").is_file()]


@by_name
def test_a_file_is_one_idea(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST or name in LONGER, f"{name} has {lines} lines"


def test_exceptions_are_needed() -> None:
    for name in LONGER:
        assert len((PACKAGE / name).read_text().splitlines()) > LONGEST


@by_name
def test_public_names_are_explicit(path: Path) -> None:
    """A module with public functions or classes lists them, and lists nothing else."""
    module = tree(path)
    defined = set()
    listed = None
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            if names == ["__all__"]:
                listed = node.value
    public = {name for name in defined if not name.startswith("_")}
    assert listed is not None or not public or is_table(path), "no __all__"
    if isinstance(listed, (ast.List, ast.Tuple)):
        written = [ast.literal_eval(x) for x in listed.elts if _is_text(x)]
        assert len(written) == len(set(written)), "a name is listed twice"
        assert not [name for name in written if _is_private(name)]


def is_table(path: Path) -> bool:
    """A file of rows and their bodies, which its package lists."""
    return path.parent == PACKAGE / "ops" / "elementwise"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@by_name
def test_nothing_is_left_for_later(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for word in ("NotImplementedError", "TODO", "FIXME", "XXX"):
        assert word not in text
    assert path.name != "utils.py"


@by_name
def test_no_bare_exception_is_raised(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Raise):
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            assert not (isinstance(raised, ast.Name) and raised.id == "Exception")
