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
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ..errors import KernelSyntaxError, KernelTypeError
from . import infer, nodes
from .branches import Branches, Collect, Returned
from .elements import Frame, describe
from .expressions import BINARY, NUMBERS, construct
from .jumps import has_jump, without_jumps
from .source import Source, source_of
from .views import View
from .walk import rebuild, rebuild_body

__all__ = ["Parser", "parse", "unmarked"]

DType: TypeAlias = np.dtype[Any]

_DEEPEST = 64  # functions inside functions, before it is taken for recursion
_SEEN_ONLY = (print, breakpoint)  # of use where a kernel runs as plain Python
_LONGEST = 1024  # iterations of a loop over known values, which is unrolled


def parse(
    function: Callable[..., Any],
    operands: Sequence[DType | nodes.Array],
    name: str | None = None,
    learns: bool = False,
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
            array = nodes.Array(label, operand.dtype, operand.writable)
            parameters.append(array)
            arguments.append(array)
        else:
            parameters.append(nodes.Value(label, operand))
            arguments.append(nodes.Name(label, operand))
    parser = Parser()
    parser.learns = learns
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


def unmarked(kernel: nodes.Kernel) -> nodes.Kernel:
    """Without weak dtypes, which have a meaning only while a kernel is read."""

    def change(node: nodes.Scalar) -> nodes.Scalar:
        dtype = infer.strong(node.dtype)
        return node if dtype is node.dtype else replace(node, dtype=dtype)

    results = tuple([rebuild(item, change) for item in kernel.results])
    return replace(kernel, body=rebuild_body(kernel.body, change), results=results)


class Parser(Branches):
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
            frame.source.fail(place, f"{source.tree.name} calls itself without end")
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
            if isinstance(node, ast.If):
                rest = statements[position + 1 :]
                done, returned = self.branch(frame, node, rest)
                if done:
                    return returned
                continue
            self.statement(frame, node)
        return None

    def statement(self, frame: Frame, node: ast.stmt) -> None:
        fail = frame.source.fail
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                fail(node, "one target is assigned to at a time")
            self.assign(frame, node.targets[0], self.expression(frame, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(frame, node.target, self.expression(frame, node.value))
        elif isinstance(node, ast.AugAssign):
            if not isinstance(node.op, BINARY):
                fail(node, f"{construct(node.op)} is not part of the language")
            old = self.value(frame, _as_read(node.target))
            right = self.value(frame, node.value)
            try:
                new = self.binary(frame, node, node.op, old, right)
            except KernelTypeError:
                raise
            except TypeError as error:
                frame.source.mistype(node, str(error))
            self.assign(frame, node.target, new)
        elif isinstance(node, (ast.While, ast.For)) and has_jump(node):
            self.jumping(frame, node)
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

    def assign(self, frame: Frame, target: ast.expr, value: Any) -> None:
        fail = frame.source.fail
        if isinstance(target, ast.Name):
            typed = infer.is_typed(value)
            frame.names[target.id] = self.bind(target.id, value) if typed else value
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                fail(target, f"needs {len(target.elts)} values")
            # All are bound before any is assigned: ``a, b = b, a``.
            for item, part in zip(target.elts, value):
                self.assign(frame, item, part)
        elif isinstance(target, ast.Subscript):
            self.store(frame, target, value)
        else:
            fail(target, "cannot be assigned to")

    def store(self, frame: Frame, target: ast.Subscript, value: Any) -> None:
        """``target = value`` for an element of an array."""
        base = self.expression(frame, target.value)
        if not isinstance(base, (nodes.Array, View)):
            frame.source.mistype(target, "only elements of arrays can be stored to")
        array = base.array if isinstance(base, View) else base
        if not array.writable:
            frame.source.fail(target, f"{array.name} is read-only")
        if not infer.is_typed(value) and not isinstance(value, NUMBERS):
            frame.source.mistype(target, f"expected a number, got {describe(value)}")
        found = self.expression(frame, target.slice)
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

    # --------------------------------------------------------------------- loops
    def settled(
        self, frame: Frame, node: ast.While | ast.For, counter: DType | None
    ) -> dict[str, DType]:
        """Dtypes that numbers take in a loop: ``s = 0.0; s += x[i]`` makes ``s`` what
        ``x`` is.  The body is read on trial, to see what the numbers become."""
        tried: dict[str, nodes.Name] = {}
        for item in ast.walk(node):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                weak = infer.weak_dtype(frame.names.get(item.id))
                if weak is not None:
                    tried[item.id] = nodes.Name(item.id, weak)
        if not tried or not self.learns:
            return {}
        inner = frame.branch()
        inner.names.update(tried)
        if counter is not None and isinstance(node, ast.For):
            assert isinstance(node.target, ast.Name)
            inner.names[node.target.id] = nodes.Name(node.target.id, counter)
        before = (set(self.taken), dict(self.dtypes), len(self.sites))
        try:
            with Collect(self):
                self.block(inner, node.body)
        except (KernelSyntaxError, KernelTypeError):
            return {}  # the body itself says what is wrong
        finally:
            self.taken, self.dtypes = before[:2]
            del self.sites[before[2] :]
        found: dict[str, DType] = {}
        for name, variable in tried.items():
            new = inner.names.get(name)
            if new is None or not infer.is_typed(new):
                continue
            dtype: DType = new.dtype
            whole = variable.dtype.kind == "i" and dtype.kind in "biu"
            whole = whole and dtype != np.uint64
            found[name] = variable.dtype if whole else dtype
        return found

    def carried(
        self, frame: Frame, node: ast.While | ast.For, counter: DType | None = None
    ) -> dict[str, nodes.Name]:
        """Variables that a loop changes, each made a variable that is assigned to."""
        found: dict[str, nodes.Name] = {}
        settled = self.settled(frame, node, counter)
        for item in ast.walk(node):
            if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Store):
                continue
            old = frame.names.get(item.id)
            if item.id in found or old is None or isinstance(old, nodes.Array):
                continue
            if not infer.is_typed(old) and not isinstance(old, (int, float, complex)):
                frame.source.fail(item, f"{item.id!r} cannot change in a loop")
            dtype = settled.get(item.id, infer.dtype_of(old))
            local = self.fresh(item.id)
            self.statements.append(nodes.Let(local, infer.convert(old, dtype)))
            found[item.id] = nodes.Name(local, dtype)
        frame.names.update(found)
        return found

    def loop_body(
        self, frame: Frame, node: ast.While | ast.For, carried: dict[str, nodes.Name]
    ) -> None:
        """Read the body of a loop and assign the variables that it changed."""
        self.check_loop(frame, node)
        inner = frame.branch()
        self.block(inner, node.body)
        changed: list[tuple[nodes.Name, nodes.Scalar]] = []
        for name, variable in carried.items():
            new = inner.names.get(name, variable)
            if new is variable:
                continue
            if infer.is_typed(new) and new.dtype != variable.dtype:
                message = f"{name!r} is {variable.dtype} and becomes {new.dtype}"
                if not self._widens(new.dtype, variable.dtype):
                    frame.source.mistype(node, f"{message} in the loop")
            try:
                typed = infer.convert(new, variable.dtype)
            except TypeError as error:
                frame.source.mistype(node, f"{name!r}: {error}")
            changed.append((variable, typed))
        # A new value may be the old one of another variable: read all, then write.
        variables = set(carried.values())
        for position, (variable, new) in enumerate(changed):
            if new in variables:
                local = self.fresh(variable.name)
                self.statements.append(nodes.Let(local, new))
                changed[position] = (variable, nodes.Name(local, new.dtype))
        for variable, new in changed:
            self.statements.append(nodes.Assign(variable.name, new))

    def _widens(self, source: DType, target: DType) -> bool:
        """Whether a value may be stored into a variable that a number began."""
        return (
            self.learns
            and source.kind in "biu"
            and target.kind in "iu"
            and (np.can_cast(source, target))
        )

    def check_loop(self, frame: Frame, node: ast.While | ast.For) -> None:
        """Refuse what leaves a loop from its middle."""
        for item in ast.walk(node):
            if isinstance(item, ast.Return):
                frame.source.fail(item, "'return' inside a loop")
        if node.orelse:
            frame.source.fail(node, "a loop has no 'else'")

    def jumping(self, frame: Frame, node: ast.While | ast.For) -> None:
        """Read a loop that has jumps."""
        self.check_loop(frame, node)
        counts = isinstance(node, ast.For) and self._range(frame, node.iter) is not None
        for item in without_jumps(node, f"dc_{node.lineno}", counts):
            self.statement(frame, item)

    def while_loop(self, frame: Frame, node: ast.While) -> None:
        carried = self.carried(frame, node)
        with Collect(self) as before:
            condition = self._condition(frame, node)
        if not before:
            with Collect(self) as body:
                self.loop_body(frame, node, carried)
            self.statements.append(nodes.While(condition, tuple(body)))
            return
        # A condition that needs statements is computed before and within the loop.
        self.statements.extend(before)
        go = self.fresh("go")
        self.statements.append(nodes.Let(go, condition))
        with Collect(self) as body:
            self.loop_body(frame, node, carried)
            again = self._condition(frame, node)
            self.statements.append(nodes.Assign(go, again))
        name = nodes.Name(go, condition.dtype)
        self.statements.append(nodes.While(name, tuple(body)))

    def _condition(self, frame: Frame, node: ast.While) -> nodes.Scalar:
        found = infer.truth(self.value(frame, node.test))
        if isinstance(found, bool):
            frame.source.fail(node.test, "the condition of a loop never changes")
        return found

    def for_loop(self, frame: Frame, node: ast.For) -> None:
        fail = frame.source.fail
        if not isinstance(node.target, ast.Name):
            fail(node.target, "a loop counts with one variable")
        bounds = self._range(frame, node.iter)
        if bounds is None:
            found = self.expression(frame, node.iter)
            if not isinstance(found, tuple) or len(found) > _LONGEST:
                fail(node.iter, "a loop runs over range(...) or a known tuple")
            self.check_loop(frame, node)
            for item in found:
                self.assign(frame, node.target, item)
                self.block(frame, node.body)
            return
        dtype = infer.promote(*bounds)
        if dtype.kind not in "iu":
            frame.source.mistype(node.iter, f"range counts integers, not {dtype}")
        start, stop, step = (infer.convert(item, dtype) for item in bounds)
        carried = self.carried(frame, node, dtype)
        counter = self.fresh(node.target.id)
        carried.pop(node.target.id, None)
        loop = frame.branch()
        loop.names[node.target.id] = nodes.Name(counter, dtype)
        with Collect(self) as body:
            self.loop_body(loop, node, carried)
        frame.names.pop(node.target.id, None)
        self.statements.append(nodes.For(counter, start, stop, step, tuple(body)))

    def _range(self, frame: Frame, node: ast.expr) -> tuple[Any, Any, Any] | None:
        """Start, stop and step if ``node`` is a call of ``range``."""
        if not isinstance(node, ast.Call):
            return None
        if self.expression(frame, node.func) is not range:
            return None
        values = [self.value(frame, item) for item in node.args]
        if len(values) == 1:
            return 0, values[0], 1
        if len(values) == 2:
            return values[0], values[1], 1
        if len(values) == 3:
            return values[0], values[1], values[2]
        frame.source.fail(node, "range takes one to three arguments")


def _as_read(target: ast.expr) -> ast.expr:
    """The target of ``target += ...`` as an expression."""
    copied = ast.parse(ast.unparse(target), mode="eval").body
    return ast.copy_location(copied, target)
