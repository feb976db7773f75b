"""The walk that lowering passes share.

A pass replaces scalars by one or more simpler ones, their *parts*: a complex number by
two real ones, a half by a single.  It says what the parts of constants, operations,
casts and elements of arrays are; statements and variables follow from that here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .splice import Parts, Writer, taken_names
from .walk import census

__all__ = ["Lowering", "Parts", "convert", "involves"]

DType: TypeAlias = np.dtype[Any]


class Lowering(Writer):
    """Writes another kernel that does the same.

    Parameters
    ----------
    kernel : Kernel
    """

    def __init__(self, kernel: nodes.Kernel) -> None:
        super().__init__(taken_names(kernel))
        self.kernel = kernel
        self.variables: dict[str, tuple[nodes.Name, ...]] = {}
        self.kept: dict[DType, bool] = {}

    def run(self) -> nodes.Kernel:
        """The other kernel."""
        parameters: list[nodes.Value | nodes.Array] = []
        for node in self.kernel.parameters:
            if isinstance(node, nodes.Array):
                stored = self.stored(node.dtype)
                run = node.run
                if run > 1:
                    run = run * node.dtype.itemsize // stored.itemsize
                parameters.append(replace(node, dtype=stored, run=run))
            else:
                names = self.define(node.name, node.dtype)
                parameters.extend(nodes.Value(x.name, x.dtype) for x in names)
        self.body(self.kernel.body)
        results = [part for item in self.kernel.results for part in self.scalar(item)]
        body = tuple(self.statements)
        return nodes.Kernel(self.kernel.name, tuple(parameters), body, tuple(results))

    # ------------------------------------------------------------ what a pass says
    def dtypes(self, dtype: DType) -> tuple[DType, ...]:
        """Dtypes of the parts of a scalar."""
        return (dtype,)

    def stored(self, dtype: DType) -> DType:
        """Dtype of the elements of an array."""
        return dtype

    def constant(self, node: nodes.Constant) -> Parts:
        """Parts of a constant."""
        return (node,)

    def operation(self, node: nodes.Apply, operands: Sequence[Parts]) -> Parts:
        """Parts of a primitive's result."""
        return (
            nodes.Apply(
                node.primitive, tuple([part for (part,) in operands]), node.dtype
            ),
        )

    def cast(self, node: nodes.Cast, operand: Parts) -> Parts:
        """Parts of a converted scalar."""
        return (convert(operand[0], node.dtype),)

    def load(self, node: nodes.Load, index: nodes.Scalar) -> Parts:
        """Parts of an element of an array."""
        return (nodes.Load(node.array, index, node.dtype),)

    def store(self, node: nodes.Store, index: nodes.Scalar, value: Parts) -> None:
        """Write an element of an array."""
        self.statements.append(nodes.Store(node.array, index, value[0]))

    def shared(self, node: nodes.Shared) -> nodes.Shared:
        """An array that is shared by a group."""
        return replace(node, dtype=self.stored(node.dtype))

    def atomic(
        self,
        node: nodes.Atomic,
        index: nodes.Scalar,
        value: Parts,
        expected: Parts | None,
    ) -> None:
        """Change an element of an array in one step."""
        result = (
            self.define(node.result, node.value.dtype)[0].name if node.result else ""
        )
        compared = None if expected is None else expected[0]
        self.statements.append(
            replace(node, index=index, value=value[0], result=result, expected=compared)
        )

    def stays(self, node: nodes.Scalar) -> bool:
        """Whether an expression is its own part, told without looking into operands
        that are operations."""
        if type(node) is not nodes.Apply or not self.keeps(node.dtype):
            return False
        for item in node.arguments:
            if type(item) is not nodes.Name and type(item) is not nodes.Constant:
                return False
            if not self.keeps(item.dtype):
                return False
        return True

    def keeps(self, dtype: DType) -> bool:
        """Whether scalars of a dtype are their own parts."""
        found = self.kept.get(dtype)
        if found is None:
            found = self.kept[dtype] = self.dtypes(dtype) == (dtype,)
        return found

    # --------------------------------------------------------------- variables
    def define(self, name: str, dtype: DType) -> tuple[nodes.Name, ...]:
        """Names for the parts of a parameter or variable."""
        dtypes = self.dtypes(dtype)
        if len(dtypes) == 1:
            found: tuple[nodes.Name, ...] = (nodes.Name(name, dtypes[0]),)
        else:
            ends = ("re", "im")
            found = tuple(
                [
                    nodes.Name(self.fresh(f"{name}_{end}"), part)
                    for end, part in zip(ends, dtypes, strict=True)
                ]
            )
        self.variables[name] = found
        return found

    # -------------------------------------------------------------- expressions
    def scalar(self, node: nodes.Scalar) -> Parts:
        """Parts of an expression; those of a scalar with several are atoms."""
        if type(node) is nodes.Name:
            return self.variables[node.name]
        if type(node) is nodes.Constant:
            return self.constant(node)
        if type(node) is nodes.Apply:
            operands = [self.scalar(item) for item in node.arguments]
            return self.atoms(self.operation(node, operands))
        if type(node) is nodes.Cast:
            return self.atoms(self.cast(node, self.scalar(node.argument)))
        if type(node) is nodes.Select:
            return self.atoms(self.select(node))
        if type(node) is nodes.Load:
            return self.atoms(self.load(node, self.one(node.index)))
        return (node,)

    def one(self, node: nodes.Scalar) -> nodes.Scalar:
        """An expression that stays a single scalar: an index, a condition, a bound."""
        (part,) = self.scalar(node)
        return part

    def atoms(self, parts: Parts) -> Parts:
        """Several parts get names: each may be used more than once."""
        if len(parts) == 1:
            return parts
        return tuple([self.bind("part", part) for part in parts])

    def select(self, node: nodes.Select) -> Parts:
        condition = self.one(node.condition)
        then, otherwise = self.scalar(node.when_true), self.scalar(node.when_false)
        if len(then) > 1:
            condition = self.bind("condition", condition)
        return tuple(
            [
                nodes.Select(condition, x, y, x.dtype)
                for x, y in zip(then, otherwise, strict=True)
            ]
        )

    # --------------------------------------------------------------- statements
    def body(self, body: nodes.Body) -> None:
        for node in body:
            self.statement(node)

    def inner(
        self, body: nodes.Body, condition: tuple[str, nodes.Scalar] | None = None
    ) -> nodes.Body:
        """The statements of a branch or loop; at its end ``condition`` is computed
        anew into a variable."""
        outer, self.statements = self.statements, []
        self.body(body)
        if condition is not None:
            name, value = condition
            self.statements.append(nodes.Assign(name, self.one(value)))
        found, self.statements = tuple(self.statements), outer
        return found

    def statement(self, node: nodes.Statement) -> None:
        if type(node) is nodes.Let:
            if self.stays(node.value):
                self.variables[node.name] = (nodes.Name(node.name, node.value.dtype),)
                self.statements.append(node)
                return
            parts = self.scalar(node.value)
            names = self.define(node.name, node.value.dtype)
            for name, part in zip(names, parts, strict=True):
                self.statements.append(nodes.Let(name.name, part))
        elif type(node) is nodes.Assign:
            self.assign(node)
        elif type(node) is nodes.Store:
            index, value = self.one(node.index), self.scalar(node.value)
            self.store(node, index, value)
        elif type(node) is nodes.Atomic:
            index, value = self.one(node.index), self.scalar(node.value)
            expected = None if node.expected is None else self.scalar(node.expected)
            self.atomic(node, index, value, expected)
        elif type(node) is nodes.If:
            condition = self.one(node.condition)
            then, otherwise = self.inner(node.body), self.inner(node.otherwise)
            self.statements.append(nodes.If(condition, then, otherwise))
        elif type(node) is nodes.While:
            self.loop(node)
        elif type(node) is nodes.For:
            start, stop, step = (
                self.one(node.start),
                self.one(node.stop),
                self.one(node.step),
            )
            self.define(node.name, node.start.dtype)
            inner = self.inner(node.body)
            self.statements.append(nodes.For(node.name, start, stop, step, inner))
        elif type(node) is nodes.Shared:
            self.statements.append(self.shared(node))
        else:
            self.statements.append(node)

    def assign(self, node: nodes.Assign) -> None:
        parts = self.scalar(node.value)
        if len(parts) > 1:
            # A part of the new value may be the other part of the old one.
            copies = [self.fresh(node.name) for _ in parts]
            for copy, part in zip(copies, parts):
                self.statements.append(nodes.Let(copy, part))
            parts = tuple([nodes.Name(c, x.dtype) for c, x in zip(copies, parts)])
        for name, part in zip(self.variables[node.name], parts, strict=True):
            self.statements.append(nodes.Assign(name.name, part))

    def loop(self, node: nodes.While) -> None:
        """A condition that takes statements is computed before and within the loop."""
        before = len(self.statements)
        condition = self.one(node.condition)
        if len(self.statements) == before:
            self.statements.append(nodes.While(condition, self.inner(node.body)))
            return
        go = self.fresh("go")
        self.statements.append(nodes.Let(go, condition))
        body = self.inner(node.body, (go, node.condition))
        self.statements.append(nodes.While(nodes.Name(go, condition.dtype), body))


def convert(operand: nodes.Scalar, dtype: DType) -> nodes.Scalar:
    """A cast, unless there is nothing to do."""
    return operand if operand.dtype == dtype else nodes.Cast(operand, dtype)


def involves(kernel: nodes.Kernel, wanted: Callable[[DType], bool]) -> bool:
    """Whether there is a parameter, element or value of such a dtype."""
    return any(map(wanted, census(kernel).dtypes))
