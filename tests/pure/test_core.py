"""The compiled core: what is compiled agrees with its types, and can be left out."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import dcarray as dc
from dcarray.core import compiled_modules, use_sources

PACKAGE = Path(__file__).parents[2] / "dcarray"
TYPED = sorted(PACKAGE.rglob("*.pxd"))


def declared(path: Path) -> dict[str, set[str]]:
    """The fields of each class in a ``.pxd`` file."""
    found: dict[str, set[str]] = {}
    fields: set[str] = set()
    for line in path.read_text().splitlines():
        if match := re.match(r"cdef class (\w+)", line):
            fields = found[match[1]] = set()
        elif match := re.match(
            r"    cdef (?:public )?(?:(?:unsigned )?long long|\w+) (.*)", line
        ):
            fields.update(match[1].split(", "))
    return found


def functions(path: Path) -> set[str]:
    """The functions that a ``.pxd`` file declares, methods included."""
    return set(
        re.findall(r"^ *cp?def (?!class )(?:\w+ )?(\w+)\(", path.read_text(), re.M)
    )


def slots(node: ast.ClassDef) -> set[str] | None:
    for item in node.body:
        if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "__slots__":
            return set(ast.literal_eval(item.value))
    return None


@pytest.mark.parametrize("path", TYPED, ids=lambda path: path.stem)
def test_types_agree_with_the_source(path: Path) -> None:
    """A field that the source has alone would be an error once it is compiled, and one
    that it has no more would never be noticed."""
    tree = ast.parse(path.with_suffix(".py").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for name, fields in declared(path).items():
        of_source = slots(classes[name])
        if of_source is not None:
            assert fields == of_source
    defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    assert functions(path) <= defined


def test_there_are_classes_to_compare() -> None:
    found = {name for path in TYPED for name in declared(path)}
    assert {"Value", "Binding", "Expr", "Form", "Buffer", "ArrayState"} <= found


def test_sources_are_found_beside_compiled_modules(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text("")
    (tmp_path / f"config{EXTENSION_SUFFIXES[0]}").write_text("")
    before = list(sys.meta_path)
    try:
        use_sources()
        (finder,) = [one for one in sys.meta_path if one not in before]
        spec = finder.find_spec("dcarray.config", [str(tmp_path)])
        assert spec is not None and spec.origin == str(tmp_path / "config.py")
        assert finder.find_spec("numpy.config", [str(tmp_path)]) is None
        assert finder.find_spec("dcarray.none", [str(tmp_path)]) is None
    finally:
        sys.meta_path[:] = before


def test_a_process_can_do_without() -> None:
    program = (
        "import dcarray as dc; from dcarray.core import compiled_modules; "
        "print(float((dc.arange(1e5) + 1).sum()), compiled_modules())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DCARRAY_PURE": "1"},
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["5000050000.0", "[]"]


def test_a_long_chain_dies_without_deep_calls() -> None:
    with dc.config(max_group_nodes=10**6, lazy="always"):
        x = dc.zeros(4)
        for _ in range(60_000):
            x = x + 1
        del x


def test_compiled_modules_are_those_with_types() -> None:
    typed = {
        ".".join(("dcarray", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in TYPED
    }
    assert set(compiled_modules()) <= typed
