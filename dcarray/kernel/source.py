"""The Python source of a kernel function, and errors that point into it."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ..errors import KernelSyntaxError, KernelTypeError

__all__ = ["Source", "source_of", "unchanged"]


@dataclass(frozen=True, slots=True)
class Source:
    """A function, its syntax tree, and where the two came from.

    ``line`` and ``column`` are what to add to the positions of the tree.
    """

    function: Callable[..., Any]
    tree: ast.FunctionDef
    file: str
    line: int
    column: int

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        given = self.tree.args
        return tuple([item.arg for item in (*given.posonlyargs, *given.args)])

    @property
    def constants(self) -> dict[str, Any]:
        """Keyword-only parameters, known while a kernel is specialised, with their
        defaults; `inspect.Parameter.empty` if there is none."""
        defaults = getattr(self.function, "__kwdefaults__", None) or {}
        return {
            item.arg: defaults.get(item.arg, inspect.Parameter.empty)
            for item in self.tree.args.kwonlyargs
        }

    def default(self, index: int) -> Any:
        """Default value of the parameter at ``index``; `inspect.Parameter.empty` if
        there is none."""
        given = getattr(self.function, "__defaults__", None) or ()
        first = len(self.parameters) - len(given)
        return given[index - first] if index >= first else inspect.Parameter.empty

    def lookup(self, name: str) -> Any:
        """What a name that is not local means; it may be ``name.attribute``.

        Raises
        ------
        AttributeError, KeyError
            Nothing.
        """
        name, _, rest = name.partition(".")
        found = self._outside(name)
        for attribute in rest.split(".") if rest else ():
            found = getattr(found, attribute)
        return found

    def _outside(self, name: str) -> Any:
        code = getattr(self.function, "__code__", None)
        cells = getattr(self.function, "__closure__", None) or ()
        names = code.co_freevars if code is not None else ()
        for free, cell in zip(names, cells):
            if free == name:
                return cell.cell_contents
        scope = getattr(self.function, "__globals__", {})
        if name in scope:
            return scope[name]
        return vars(builtins)[name]

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        """Raise a `KernelSyntaxError` that shows the place of ``node``."""
        raise KernelSyntaxError(f"{self.tree.name}: {message}", self.place(node))

    def mistype(self, node: ast.AST, message: str) -> NoReturn:
        """Raise a `KernelTypeError` that shows the place of ``node``."""
        raise KernelTypeError(f"{self.tree.name}: {message}", *self.place(node))

    def place(self, node: ast.AST) -> tuple[str, int, int, str, int, int]:
        """Where ``node`` stands: what `SyntaxError` takes."""
        line = getattr(node, "lineno", 1) + self.line
        end = getattr(node, "end_lineno", None) or line - self.line
        start = getattr(node, "col_offset", 0) + self.column + 1
        stop = (getattr(node, "end_col_offset", None) or 0) + self.column + 1
        text = linecache.getline(self.file, line) or ast.unparse(node)
        return (self.file, line, start, text, end + self.line, stop)


def unchanged(lookups: Iterable[tuple[Source, str, Any]]) -> bool:
    """Whether names from outside still mean what they meant when they were read."""
    for source, name, value in lookups:
        try:
            now = source.lookup(name)
        except (AttributeError, KeyError):
            return False
        if now is not value and not (type(now) is type(value) and _same(now, value)):
            return False
    return True


def _same(x: Any, y: Any) -> bool:
    numbers = (bool, int, float, complex, np.generic, tuple)
    return type(x) is type(y) and isinstance(x, numbers) and bool(x == y)


@cache
def source_of(function: Callable[..., Any]) -> Source:
    """Find and parse the source of a function.

    Raises
    ------
    KernelSyntaxError
        There is no source, or it is not a plain ``def``.
    """
    name = getattr(function, "__qualname__", repr(function))
    if getattr(function, "__name__", "") == "<lambda>":
        return _of_lambda(function)
    try:
        file = inspect.getsourcefile(function) or "<unknown>"
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise KernelSyntaxError(f"{name}: its source cannot be read: {error}") from None
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    column = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(dedented).body[0]
    except SyntaxError as error:
        raise KernelSyntaxError(
            f"{name}: its source does not stand alone: {error.msg}",
            (file, first, 1, lines[0], first, 1),
        ) from None
    source_line = first - 1
    if not isinstance(tree, ast.FunctionDef):
        raise KernelSyntaxError(
            f"{name}: a kernel is a function made by 'def'",
            (file, first, column + 1, lines[0], first, column + 1),
        )
    source = Source(function, tree, file, source_line, column)
    extra = tree.args.vararg or tree.args.kwarg
    if extra is not None:
        source.fail(extra, "a kernel takes a fixed number of arguments")
    return source


def _of_lambda(function: Any) -> Source:
    """The source of a ``lambda``: the one in its file where its instructions stand."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        module = ast.parse("".join(lines))
    except SyntaxError:
        module = ast.Module([], [])
    spots = [
        (x.lineno, x.col_offset, x.end_lineno, x.end_col_offset)
        for x in (item.positions for item in dis.get_instructions(code))
        if x is not None and x.end_col_offset
    ]
    around = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Lambda) and spots and _holds(node.body, spots)
    ]
    if around:
        node = around[-1]  # the walk meets what is outside first
        returned = ast.copy_location(ast.Return(node.body), node.body)
        tree = ast.FunctionDef("lambda_", node.args, [returned], [])
        return Source(function, ast.copy_location(tree, node), code.co_filename, 0, 0)
    place = (code.co_filename, code.co_firstlineno, 1, "", code.co_firstlineno, 1)
    raise KernelSyntaxError("<lambda>: its source cannot be read", place)


def _holds(node: ast.expr, spots: Sequence[tuple[Any, ...]]) -> bool:
    start = (node.lineno, node.col_offset)
    end = (node.end_lineno, node.end_col_offset)
    return all(start <= spot[:2] and spot[2:] <= end for spot in spots)
