"""Kernels without a device: the text that is generated, and whether there is one."""

from __future__ import annotations

import ast
import itertools
import os
import runpy
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...array import DeviceArray
from ...config import config
from ...errors import KernelSyntaxError, KernelTypeError, UnsupportedError
from ...kernel.nodes import Index
from ...kernel.specialise import ArrayOf, Operand, Specialised, over_grid
from ...kernel.walk import expressions, parts, statements

if TYPE_CHECKING:
    from .user_kernel import Kernel

__all__ = ["TARGETS", "checked", "kernels_of", "source", "types_of"]

TARGETS = ("cuda", "opencl", "metal", "llvm")
"""What a kernel is rendered to."""

_SINGLE = frozenset(("metal",))
"""Those without doubles."""

_LANES = frozenset(("cuda", "metal"))
"""Those that say where the 32 lanes of a subgroup are."""

_GUESSED = 16  # for a constant without a value


def source(
    kernel: Kernel,
    target: str,
    arguments: Sequence[Any],
    group: Sequence[int] | None,
    constants: Mapping[str, Any],
) -> str:
    """What is generated for a kernel; see `Kernel.source`."""
    if target not in TARGETS:
        raise ValueError(f"source: got {target!r}, takes {', '.join(TARGETS)}")
    if not arguments:
        return rendered(next(_guesses(kernel, constants, target)), target)
    whole: tuple[int, int, int] | None = None
    if group is not None:
        x, y, z = (*group, 1, 1)[:3]
        whole = (x, y, z)
    types = types_of(arguments)
    return rendered(_for_launch(kernel, types, constants, whole, target), target)


def types_of(arguments: Sequence[Any]) -> list[Operand]:
    """Types of arguments that stand for others: arrays and numbers, dtypes of numbers,
    and pairs of a dtype and a number of axes."""
    found: list[Operand] = []
    for item in arguments:
        if isinstance(item, (DeviceArray, np.ndarray)):
            found.append(ArrayOf(item.dtype, item.ndim))
        elif isinstance(item, tuple):
            found.append(ArrayOf(np.dtype(item[0]), int(item[1])))
        elif item is int or type(item) is int:
            found.append(int)
        elif isinstance(item, (float, complex, np.generic)):
            found.append(np.asarray(item).dtype)
        else:
            found.append(np.dtype(item))
    return found


def rendered(given: Specialised, target: str) -> str:
    """The text of a specialised kernel.

    Raises
    ------
    UnsupportedError
        The language lacks a dtype or an operation.
    """
    if target == "llvm":
        from ...render.llvm_grid import render_grid

        return render_grid(given.kernel)[0]
    from ...render import cfamily, cuda, metal, opencl

    dialects = {"cuda": cuda.CUDA, "metal": metal.METAL, "opencl": opencl.OPENCL}
    return cfamily.render(given.kernel, dialects[target])


def checked(kernel: Kernel) -> Iterator[tuple[str, Exception | None]]:
    """What is wrong with a kernel, for each target, or None.

    Types are those of the annotations, ``x: "float32[:, :]"``; without them an array of
    as many axes as it has indices, of float32 or int32 as the kernel takes them.
    """
    for target in TARGETS:
        try:
            rendered(next(_guesses(kernel, {}, target)), target)
        except (KernelSyntaxError, KernelTypeError) as error:
            yield target, error
        except UnsupportedError as error:
            file, line, *_ = kernel.source_code.place(kernel.source_code.tree)
            yield target, UnsupportedError(f'{error}\n  File "{file}", line {line}')
        else:
            yield target, None


def kernels_of(path: str) -> list[Kernel]:
    """The kernels that a file defines; the file is run, but not as a program."""
    from .user_kernel import Kernel

    space = runpy.run_path(path, run_name="dcarray.check")
    file = os.path.abspath(path)
    found = [item for item in space.values() if isinstance(item, Kernel)]
    own = [k for k in found if os.path.abspath(k.source_code.file) == file]
    return sorted(dict.fromkeys(own), key=lambda kernel: kernel.source_code.line)


def _for_launch(
    kernel: Kernel,
    types: Sequence[Operand],
    constants: Mapping[str, Any],
    group: tuple[int, int, int] | None,
    target: str,
) -> Specialised:
    doubles, lanes = target not in _SINGLE, target in _LANES
    found = kernel.specialised(types, constants, group, 0, doubles, lanes)
    if group is not None:
        return found
    axes = [
        part.axis
        for node in statements(found.kernel.body)
        for item in expressions(node)
        for part in parts(item)
        if isinstance(part, Index)
    ]
    return over_grid(found, max(axes, default=0) + 1)


# --------------------------------------------------------------------------- guessing
def _guesses(
    kernel: Kernel, constants: Mapping[str, Any], target: str
) -> Iterator[Specialised]:
    """The kernel for types that it may be meant for; raises what is wrong with the
    first of them if there are none."""
    code = kernel.source_code
    known = {**constants}
    for name, value in code.constants.items():
        if value is Parameter.empty:
            known.setdefault(name, _GUESSED)
    for name in kernel.constants:
        known.setdefault(name, _GUESSED)
    axes = _axes(code.tree)
    given = {item.arg: item.annotation for item in code.tree.args.args}
    choices: list[list[Operand]] = []
    for name in code.parameters:
        if name in known:
            continue
        written = _annotated(given.get(name))
        if written is not None:
            choices.append([written])
        elif name in axes:
            dtypes = np.dtype(np.float32), np.dtype(np.int32)
            # A row of it may have got a name, and indices of its own.
            likely = [ArrayOf(dtype, axes[name]) for dtype in dtypes]
            rows = [ArrayOf(dtype, axes[name] + 1) for dtype in dtypes]
            choices.append([*likely, *rows])
        else:
            choices.append([int])
    first: Exception | None = None
    for types in itertools.islice(_likely_first(choices), 64):
        for group in (None, (_GUESSED, _GUESSED, 1)):
            try:
                with config(bounds_check=False):
                    yield _for_launch(kernel, types, known, group, target)
                return
            except KernelSyntaxError as error:
                if group is None and "takes a launch as" in str(error.msg):
                    continue
                raise
            except KernelTypeError as error:
                first = first or error
                break
    assert first is not None
    raise first


def _likely_first(
    choices: Sequence[Sequence[Operand]],
) -> Iterator[tuple[Operand, ...]]:
    """All combinations, those first that are made of first choices."""
    found = itertools.product(*map(enumerate, choices))
    ranked = sorted(
        itertools.islice(found, 4096), key=lambda row: sum(k for k, _ in row)
    )
    return (tuple([operand for _, operand in row]) for row in ranked)


def _annotated(node: ast.expr | None) -> Operand | None:
    """The type that an annotation says: ``"float32[:, :]"``, ``"int32"``, ``int``."""
    if node is None:
        return None
    text = ast.unparse(node).strip("'\"")
    name, _, rest = text.rpartition(".")[2].partition("[")
    if name == "int" and not rest:
        return int
    try:
        dtype = np.dtype(name)
    except TypeError:
        return None
    return ArrayOf(dtype, rest.count(":")) if rest else dtype


def _axes(tree: ast.FunctionDef) -> dict[str, int]:
    """Parameters that are used as arrays, and how many indices they get."""
    found: dict[str, int] = {}

    def met(node: ast.expr, count: int) -> None:
        depth = 0
        while isinstance(node, ast.Subscript):
            depth += _count(node.slice)
            node = node.value
        if isinstance(node, ast.Name):
            found[node.id] = max(found.get(node.id, 1), depth + count)

    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            met(node, 0)
            if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
                index = node.slice
                if isinstance(index, ast.Constant) and isinstance(index.value, int):
                    met(node.value.value, index.value + 1)
        elif isinstance(node, ast.Call) and node.args:
            name = ast.unparse(node.func).rpartition(".")[2]
            if name == "len":
                met(node.args[0], 1)
            elif name.startswith("atomic_") and len(node.args) > 1:
                met(node.args[0], _count(node.args[1]))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            target = node.targets[0]
            if node.value.attr == "shape" and isinstance(target, ast.Tuple):
                met(node.value.value, len(target.elts))
        elif isinstance(node, ast.Attribute) and node.attr in ("size", "ndim"):
            met(node.value, 1)
    return found


def _count(index: ast.expr) -> int:
    return len(index.elts) if isinstance(index, ast.Tuple) else 1
