"""Imports never go upward, not even inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "dcarray"

LAYERS = [
    "core",
    "native",
    "native_arrays",
    "errors",
    "config",
    "profile",
    "dtypes",
    "layout",
    "kernel",
    "ops",
    "render",
    "backends",
    "lazy",
    "array",
    "api",
    "lib",
    "linalg",
    "fft",
    "random",
    "nn",
    "testing",
    "interop",
    "namespace",
    "",  # the package's own __init__
    "demo",
    "cli",
    "__main__",
]
"""From the ground up.  A module may import from its own layer and those before it."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> tuple[str, ...]:
    """("kernel", "nodes") for ``dcarray/kernel/nodes.py``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def layer(module: tuple[str, ...]) -> str:
    return module[0] if module else ""


def exists(module: tuple[str, ...]) -> bool:
    place = PACKAGE.joinpath(*module)
    return place.with_suffix(".py").is_file() or place.is_dir()


def imported(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and module of every import of dcarray's own modules, anywhere in a file."""
    module = dotted(path)
    package = module if path.name == "__init__.py" else module[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, *rest = alias.name.split(".")
                if first == PACKAGE.name:
                    yield node.lineno, tuple(rest)
        elif isinstance(node, ast.ImportFrom):
            name = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = package[: len(package) - node.level + 1]
            elif name[:1] == (PACKAGE.name,):
                base, name = (), name[1:]
            else:
                continue
            for alias in node.names:
                whole = (*base, *name, alias.name)
                yield node.lineno, whole if exists(whole) else whole[:-1]


def test_every_module_has_a_layer() -> None:
    found = {layer(dotted(path)) for path in MODULES}
    assert found <= set(LAYERS)


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_imports_go_downward(path: Path) -> None:
    height = LAYERS.index(layer(dotted(path)))
    upward = [
        f"{path.relative_to(PACKAGE)}:{line} imports {'.'.join(target) or 'dcarray'}"
        for line, target in imported(path)
        if LAYERS.index(layer(target)) > height
    ]
    assert not upward, "\n".join(upward)


def test_an_upward_import_would_be_found() -> None:
    """`__main__` imports `cli`: from below, that import would be upward."""
    assert [target for _, target in imported(PACKAGE / "__main__.py")] == [("cli",)]
    inside_functions = {
        target for _, target in imported(PACKAGE / "cli" / "running.py")
    }
    assert ("interop", "script") in inside_functions
