"""A function in the kernel language → `Kernel`, specialised for the dtypes of its
arguments.

Local variables become `Let`; every new value of a variable has a new name, and only
what a loop or a branch with side effects changes is assigned to.  Other functions of
the language are inlined.  A branch that only computes values becomes a `Select`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ..errors import KernelTypeError
from . import infer, nodes
from .branches import Returned
from .elements import Frame, describe
from .expressions import BINARY, NUMBERS, construct
from .loops import Loops
from .source import Source, source_of
from .views import View
from .weak import unmarked

__all__ = ["Parser", "parse"]

DType: TypeAlias = np.dtype[Any]

_DEEPEST = 64  # functions inside functions, before it is taken for recursion
_SEEN_ONLY = (print, breakpoint)  # of use where a kernel runs as plain Python


def parse(
    function: Callable[..., Any],
    operands: Sequence[DType | nodes.Array],
    name: str | None = None,
    learns: bool = False,
    lookups: list[tuple[Source, str, Any]] | None = None,
) -> nodes.Kernel:
    """Specialise a function for its operands.

    Parameters
    ----------
    function : callable
        A plain function in the kernel language (see `language`).
    operands : sequence of dtype or Array
        For each parameter, the dtype of a scalar, or an array, under any name.
    name : str, optional
        Name of the kernel; that of the function by default.
    learns : bool
        Whether numbers of Python take the dtype of what they meet, also in loops.
    lookups : list, optional
        Gets what names from outside meant: where they stand, which, and what.

    Returns
    -------
    Kernel
        Its parameters are named as those of the function.

    Raises
    ------
    KernelSyntaxError
        A construct outside the language, or dtypes that do not fit, with its place.
    """
    source = source_of(function)
    if len(operands) != len(source.parameters):
        wanted = len(source.parameters)
        source.fail(source.tree, f"takes {wanted} arguments, got {len(operands)}")
    parameters: list[nodes.Value | nodes.Array] = []
    arguments: list[Any] = []
    for label, operand in zip(source.parameters, operands):
        if isinstance(operand, nodes.Array):
            array = nodes.Array(label, operand.dtype, operand.writable, run=operand.run)
            parameters.append(array)
            arguments.append(array)
        else:
            parameters.append(nodes.Value(label, operand))
            arguments.append(nodes.Name(label, operand))
    parser = Parser()
    parser.learns = learns
    if lookups is not None:
        parser.lookups = lookups
    parser.taken.update(source.parameters)
    frame = Frame(source)
    returned = parser.inline(frame, source.tree, function, arguments)
    results = () if returned is None else returned
    if not isinstance(results, tuple):
        results = (results,)
    typed = tuple(infer.convert(item, infer.dtype_of(item)) for item in results)
    kernel = nodes.Kernel(
        name or source.tree.name, tuple(parameters), tuple(parser.statements), typed
    )
    return unmarked(kernel) if learns else kernel


class Parser(Loops):
    """Reads statements and calls of functions."""

    depth = 0

    # --------------------------------------------------------------------- calls
    def inline(
        self,
        frame: Frame,
        place: ast.AST,
        function: Any,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        source = source_of(function)
        inner = Frame(source)
        for label, argument in self._given(frame, place, source, arguments, keywords):
            typed = infer.is_typed(argument)
            inner.names[label] = self.bind(label, argument) if typed else argument
        if self.depth == _DEEPEST:
            message = f"{source.tree.name} calls itself, and nothing known ends it"
            frame.source.fail(place, message)
        self.depth += 1
        try:
            returned = self.block(inner, source.tree.body)
        finally:
            self.depth -= 1
        return returned.value if returned is not None else None

    def _given(
        self,
        frame: Frame,
        place: ast.AST,
        source: Source,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
    ) -> Iterator[tuple[str, Any]]:
        """Names and values of the parameters of a function."""
        missing = inspect.Parameter.empty
        names = source.parameters
        known = {**source.constants}
        for index, label in enumerate(names):
            known[label] = source.default(index)
        for label in keywords:
            if label not in known or label in names[: len(arguments)]:
                frame.source.fail(place, f"{source.tree.name} takes no {label!r} here")
        known.update(zip(names, arguments))
        known.update(keywords)
        if len(arguments) > len(names) or any(x is missing for x in known.values()):
            message = f"{source.tree.name} takes {len(known)} arguments"
            got = len(arguments) + len(keywords)
            frame.source.fail(place, f"{message}, got {got}")
        yield from known.items()

    # ---------------------------------------------------------------- statements
    def block(self, frame: Frame, statements: Sequence[ast.stmt]) -> Returned | None:
        """Read statements one by one, up to the end or to a ``return``."""
        for position, node in enumerate(statements):
            if isinstance(node, ast.Return):
                value = None
                if node.value is not None:
                    value = self.expression(frame, node.value)
                return Returned(value)
            rest = statements[position + 1 :]
            if isinstance(node, (ast.While, ast.For)):
                prepared = self.prepared(frame, node)
                if len(prepared) != 1 or prepared[0] is not node:
                    return self.block(frame, [*prepared, *rest])
            if isinstance(node, ast.If):
                done, returned = self.branch(frame, node, rest)
                if done:
                    return returned
                continue
            self.statement(frame, node)
        return None

    def statement(self, frame: Frame, node: ast.stmt) -> None:
        fail = frame.source.fail
        if isinstance(node, ast.Assign):
            value = self.expression(frame, node.value)
            if len(node.targets) > 1 and infer.is_typed(value):
                value = self.bind("value", value)
            for target in node.targets:
                self.assign(frame, target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(frame, node.target, self.expression(frame, node.value))
        elif isinstance(node, ast.AugAssign):
            self.augmented(frame, node)
        elif isinstance(node, ast.While):
            self.while_loop(frame, node)
        elif isinstance(node, ast.For):
            self.for_loop(frame, node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if self.expression(frame, node.value.func) in _SEEN_ONLY:
                return
            self.expression(frame, node.value)
        elif not isinstance(node, ast.Pass):
            fail(node, f"{construct(node)} is not part of the language")

    def augmented(self, frame: Frame, node: ast.AugAssign) -> None:
        """``target += value``; an element is found once."""
        target = node.target
        if not isinstance(node.op, BINARY):
            message = f"{construct(node.op)} is not part of the language"
            frame.source.fail(node, message)
        if isinstance(target, ast.Subscript):
            base, found = self._place(frame, target)
            old = self.picked(frame, target, base, found)
            old = self.number(frame, target, old)
        else:
            old = self.value(frame, _as_read(target))
        right = self.value(frame, node.value)
        try:
            new = self.binary(frame, node, node.op, old, right)
        except KernelTypeError:
            raise
        except TypeError as error:
            frame.source.mistype(node, str(error))
        if isinstance(target, ast.Subscript):
            self.store(frame, target, base, found, new)
        else:
            self.assign(frame, target, new)

    def assign(self, frame: Frame, target: ast.expr, value: Any) -> None:
        fail = frame.source.fail
        if isinstance(target, ast.Name):
            if target.id in self.awaited:
                self.awaited[target.id].append(value)
                return
            wanted = self.promised.get(target.id)
            if wanted is not None:
                value = infer.convert(self.number(frame, target, value), wanted)
            typed = infer.is_typed(value)
            frame.names[target.id] = self.bind(target.id, value) if typed else value
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                fail(target, f"needs {len(target.elts)} values")
            # All are bound before any is assigned: ``a, b = b, a``.
            for item, part in zip(target.elts, value):
                self.assign(frame, item, part)
        elif isinstance(target, ast.Subscript):
            self.store(frame, target, *self._place(frame, target), value)
        else:
            fail(target, "cannot be assigned to")

    def _place(self, frame: Frame, target: ast.Subscript) -> tuple[Any, Any]:
        """The array and the index of an element that is stored to."""
        base = self.expression(frame, target.value)
        if not isinstance(base, (nodes.Array, View)):
            frame.source.mistype(target, "only elements of arrays can be stored to")
        array = base.array if isinstance(base, View) else base
        if not array.writable:
            frame.source.fail(target, f"{array.name} is read-only")
        found = self.expression(frame, target.slice)
        for item in found if isinstance(found, tuple) else (found,):
            if isinstance(item, slice):
                frame.source.mistype(target, "a kernel stores one element at a time")
        return base, found

    def store(
        self,
        frame: Frame,
        target: ast.Subscript,
        base: nodes.Array | View,
        found: Any,
        value: Any,
    ) -> None:
        """``target = value`` for an element of an array."""
        if not infer.is_typed(value) and not isinstance(value, NUMBERS):
            frame.source.mistype(target, f"expected a number, got {describe(value)}")
        array = base.array if isinstance(base, View) else base
        if infer.dtype_of(value).kind == "c" and array.dtype.kind != "c":
            message = f"{array.name} is {array.dtype} and gets {describe(value)}"
            frame.source.mistype(target, f"{message}: say which part of it")
        index, inside = self.element(frame, target, base, found)
        try:
            stored = infer.convert(value, array.dtype)
        except (TypeError, OverflowError) as error:
            frame.source.mistype(target, str(error))
        store = nodes.Store(array.name, index, stored)
        if inside is None:
            self.statements.append(store)
        else:
            self.statements.append(nodes.If(inside, (store,)))


def _as_read(target: ast.expr) -> ast.expr:
    """The target of ``target += ...`` as an expression."""
    copied = ast.parse(ast.unparse(target), mode="eval").body
    return ast.copy_location(copied, target)
