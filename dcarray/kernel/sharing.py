"""One operation for each value: what is computed twice is given a name, and what
depends on constants alone is one.

Every kernel is walked over here, and more than once: the walk looks at the most
frequent kinds of nodes first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from . import nodes
from .folding import fold
from .walk import children, expressions, rebuild, statements, with_children

__all__ = ["share_subexpressions"]

Known: TypeAlias = dict[nodes.Scalar, nodes.Scalar]


def share_subexpressions(kernel: nodes.Kernel) -> nodes.Kernel:
    """One `Let` for each operation, and one operation for each value; constants are
    folded.

    Expressions over variables that are assigned to, and loads, are not shared: the
    same text may have another value later.
    """
    sharing = _Sharing(kernel)
    known: Known = {}
    body = sharing.body(kernel.body, known)
    results = tuple([sharing.atom(item, known, body) for item in kernel.results])
    return replace(kernel, body=tuple(body), results=results)


class _Sharing:
    def __init__(self, kernel: nodes.Kernel) -> None:
        self.variables: set[str] = set()
        self.taken = {item.name for item in kernel.parameters}
        for node in statements(kernel.body):
            if type(node) is nodes.Assign:
                self.variables.add(node.name)
            elif type(node) is nodes.Atomic:
                self.taken.add(node.result)
            elif isinstance(node, (nodes.Let, nodes.For, nodes.Shared)):
                self.taken.add(node.name)
        # One object for each name that stays: there are fewer to keep.
        self.alias: dict[str, nodes.Scalar] = {}
        self.count = 0

    def fresh(self) -> str:
        while True:
            name = f"t{self.count}"
            self.count += 1
            if name not in self.taken:
                return name

    def steady(self, node: nodes.Scalar) -> bool:
        """Whether ``node``, with atoms as operands, means the same later on."""
        if type(node) is nodes.Load:
            return False
        if not self.variables:
            return True
        for item in (node, *children(node)):
            if type(item) is nodes.Name and item.name in self.variables:
                return False
        return True

    def operation(
        self, node: nodes.Scalar, known: Known, out: list[nodes.Statement]
    ) -> nodes.Scalar:
        """``node`` with names or constants as operands, or what it comes to."""
        if type(node) is nodes.Name:
            return self.alias.setdefault(node.name, node)
        if type(node) is nodes.Apply:
            return self.apply(node, known, out)
        if type(node) is nodes.Constant or type(node) is nodes.Index:
            return node
        if type(node) is nodes.Select:
            return self.select(node, known, out)
        (given,) = children(node)
        operand = self.atom(given, known, out)
        if operand is not given:
            node = with_children(node, [operand])
        return fold(node)

    def apply(
        self, node: nodes.Apply, known: Known, out: list[nodes.Statement]
    ) -> nodes.Scalar:
        alias = self.alias
        operands: list[nodes.Scalar] = []
        changes = False
        constant = True
        for item in node.arguments:
            operand = item
            if type(item) is nodes.Name:
                operand = alias.setdefault(item.name, item)
            elif type(item) is not nodes.Constant:
                operand = self.atom(item, known, out)
            if operand is not item:
                changes = True
            if type(operand) is not nodes.Constant:
                constant = False
            operands.append(operand)
        if changes:
            node = nodes.Apply(node.primitive, tuple(operands), node.dtype)
        return fold(node) if constant else node

    def select(
        self, node: nodes.Select, known: Known, out: list[nodes.Statement]
    ) -> nodes.Scalar:
        if node.when_true == node.when_false:
            return self.operation(node.when_true, known, out)
        condition = self.atom(node.condition, known, out)
        if type(condition) is nodes.Constant:
            chosen = node.when_true if condition.value else node.when_false
            return self.operation(chosen, known, out)
        x = self.atom(node.when_true, known, out)
        y = self.atom(node.when_false, known, out)
        if x == y:
            return x
        given = (node.condition, node.when_true, node.when_false)
        if condition is given[0] and x is given[1] and y is given[2]:
            return node
        return nodes.Select(condition, x, y, node.dtype)

    def atom(
        self, node: nodes.Scalar, known: Known, out: list[nodes.Statement]
    ) -> nodes.Scalar:
        """A name or a constant for the value of ``node``."""
        if type(node) is nodes.Name:
            return self.alias.setdefault(node.name, node)
        if type(node) is nodes.Constant:
            return node
        found = self.operation(node, known, out)
        if type(found) is nodes.Name or type(found) is nodes.Constant:
            return found
        before = known.get(found)
        if before is not None:
            return before
        name = nodes.Name(self.fresh(), found.dtype)
        out.append(nodes.Let(name.name, found))
        if self.steady(found):
            known[found] = name
        return name

    def body(self, body: nodes.Body, known: Known) -> list[nodes.Statement]:
        out: list[nodes.Statement] = []
        for node in body:
            if type(node) is nodes.Let:
                self.let(node, known, out)
            elif type(node) is nodes.Assign:
                value = self.operation(node.value, known, out)
                out.append(nodes.Assign(node.name, value))
            elif type(node) is nodes.Store:
                index = self.atom(node.index, known, out)
                value = self.atom(node.value, known, out)
                out.append(nodes.Store(node.array, index, value))
            elif type(node) is nodes.Atomic:
                operands = [self.atom(item, known, out) for item in expressions(node)]
                index, value, *rest = operands
                expected = rest[0] if rest else None
                out.append(replace(node, index=index, value=value, expected=expected))
            elif type(node) is nodes.For:
                bounds = (node.start, node.stop, node.step)
                start, stop, step = [self.atom(item, known, out) for item in bounds]
                inner = tuple(self.body(node.body, dict(known)))
                out.append(nodes.For(node.name, start, stop, step, inner))
            elif type(node) is nodes.While:
                # The condition is computed anew each time: it stays where it is.
                condition = rebuild(node.condition, self.renamed)
                inner = tuple(self.body(node.body, dict(known)))
                out.append(nodes.While(condition, inner))
            elif type(node) is nodes.If:
                condition = self.atom(node.condition, known, out)
                inner = tuple(self.body(node.body, dict(known)))
                otherwise = tuple(self.body(node.otherwise, dict(known)))
                out.append(nodes.If(condition, inner, otherwise))
            else:
                out.append(node)
        return out

    def renamed(self, node: nodes.Scalar) -> nodes.Scalar:
        if type(node) is nodes.Name:
            return self.alias.setdefault(node.name, node)
        return fold(node)

    def let(self, node: nodes.Let, known: Known, out: list[nodes.Statement]) -> None:
        value = self.operation(node.value, known, out)
        if not self.variables:
            steady = type(value) is not nodes.Load
        else:
            steady = node.name not in self.variables and self.steady(value)
        if steady:
            if type(value) is nodes.Name or type(value) is nodes.Constant:
                self.alias[node.name] = value
                return
            name = nodes.Name(node.name, value.dtype)
            before = known.setdefault(value, name)
            if before is not name:
                self.alias[node.name] = before
                return
        out.append(node if value is node.value else nodes.Let(node.name, value))
