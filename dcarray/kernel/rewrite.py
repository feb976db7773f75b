"""Passes: functions `Kernel` → `Kernel` that keep what a kernel computes, bit for bit.

`simplify` runs the usual ones and verifies the result of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from . import nodes
from .language import PRIMITIVES
from .verify import verify

__all__ = [
    "eliminate_dead",
    "fold_constants",
    "inline_single_uses",
    "share_subexpressions",
    "simplify",
]

Rewrite = Callable[[nodes.Scalar], nodes.Scalar]


def simplify(kernel: nodes.Kernel) -> nodes.Kernel:
    """Constants folded, every value computed once, nothing computed in vain."""
    kernel = verify(fold_constants(kernel))
    kernel = verify(share_subexpressions(kernel))
    return verify(eliminate_dead(kernel))


# --------------------------------------------------------------------- traversal
def children(node: nodes.Scalar) -> tuple[nodes.Scalar, ...]:
    """The operands of an expression."""
    if isinstance(node, nodes.Apply):
        return node.arguments
    if isinstance(node, nodes.Cast):
        return (node.argument,)
    if isinstance(node, nodes.Select):
        return (node.condition, node.when_true, node.when_false)
    if isinstance(node, nodes.Load):
        return (node.index,)
    return ()


def with_children(node: nodes.Scalar, operands: list[nodes.Scalar]) -> nodes.Scalar:
    """The same expression over other operands."""
    if isinstance(node, nodes.Apply):
        return replace(node, arguments=tuple(operands))
    if isinstance(node, nodes.Cast):
        return replace(node, argument=operands[0])
    if isinstance(node, nodes.Select):
        return nodes.Select(operands[0], operands[1], operands[2], node.dtype)
    if isinstance(node, nodes.Load):
        return replace(node, index=operands[0])
    return node


def rebuild(node: nodes.Scalar, change: Rewrite) -> nodes.Scalar:
    """``change`` applied to every part of an expression, operands first."""
    operands = children(node)
    if operands:
        changed = [rebuild(item, change) for item in operands]
        if any(new is not old for new, old in zip(changed, operands)):
            node = with_children(node, changed)
    return change(node)


def rebuild_statement(node: nodes.Statement, change: Rewrite) -> nodes.Statement:
    """``change`` applied to every expression of a statement, bodies included."""
    if isinstance(node, (nodes.Let, nodes.Assign)):
        return replace(node, value=rebuild(node.value, change))
    if isinstance(node, (nodes.Store, nodes.Atomic)):
        index = rebuild(node.index, change)
        return replace(node, index=index, value=rebuild(node.value, change))
    if isinstance(node, nodes.For):
        start = rebuild(node.start, change)
        stop = rebuild(node.stop, change)
        step = rebuild(node.step, change)
        return nodes.For(node.name, start, stop, step, rebuild_body(node.body, change))
    if isinstance(node, nodes.While):
        body = rebuild_body(node.body, change)
        return nodes.While(rebuild(node.condition, change), body)
    if isinstance(node, nodes.If):
        body = rebuild_body(node.body, change)
        otherwise = rebuild_body(node.otherwise, change)
        return nodes.If(rebuild(node.condition, change), body, otherwise)
    return node


def rebuild_body(body: nodes.Body, change: Rewrite) -> nodes.Body:
    """``change`` applied to every expression of a body."""
    return tuple(rebuild_statement(node, change) for node in body)


def statements(body: nodes.Body) -> Iterator[nodes.Statement]:
    """Every statement, also those inside others."""
    for node in body:
        yield node
        if isinstance(node, (nodes.For, nodes.While, nodes.If)):
            yield from statements(node.body)
        if isinstance(node, nodes.If):
            yield from statements(node.otherwise)


def expressions(node: nodes.Statement) -> tuple[nodes.Scalar, ...]:
    """The expressions of a statement itself, not those of its bodies."""
    if isinstance(node, (nodes.Let, nodes.Assign)):
        return (node.value,)
    if isinstance(node, (nodes.Store, nodes.Atomic)):
        return (node.index, node.value)
    if isinstance(node, nodes.For):
        return (node.start, node.stop, node.step)
    if isinstance(node, (nodes.While, nodes.If)):
        return (node.condition,)
    return ()


def parts(node: nodes.Scalar) -> Iterator[nodes.Scalar]:
    """An expression and everything below it."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(children(item))


def assigned(body: nodes.Body) -> set[str]:
    """Variables whose value changes after their definition."""
    return {node.name for node in statements(body) if isinstance(node, nodes.Assign)}


def used(kernel: nodes.Kernel) -> Counter[str]:
    """How often each name is read."""
    count: Counter[str] = Counter()
    found = [item for node in statements(kernel.body) for item in expressions(node)]
    for expression in (*found, *kernel.results):
        for part in parts(expression):
            if isinstance(part, nodes.Name):
                count[part.name] += 1
    return count


# ------------------------------------------------------------------------ passes
def fold_constants(kernel: nodes.Kernel) -> nodes.Kernel:
    """Compute what depends on constants alone."""
    results = tuple(rebuild(item, _fold) for item in kernel.results)
    return replace(kernel, body=rebuild_body(kernel.body, _fold), results=results)


def _fold(node: nodes.Scalar) -> nodes.Scalar:
    if isinstance(node, nodes.Select):
        if isinstance(node.condition, nodes.Constant):
            return node.when_true if node.condition.value else node.when_false
        return node.when_true if node.when_true == node.when_false else node
    if isinstance(node, nodes.Apply):
        values = []
        for argument in node.arguments:
            if not isinstance(argument, nodes.Constant):
                return node
            values.append(np.asarray(argument.value, argument.dtype))
        with np.errstate(all="ignore"):
            found = np.asarray(PRIMITIVES[node.primitive].numpy(*values))
        return nodes.Constant(found.astype(node.dtype).item(), node.dtype)
    if isinstance(node, nodes.Cast) and isinstance(node.argument, nodes.Constant):
        value = np.asarray(node.argument.value, node.argument.dtype)
        with np.errstate(all="ignore"):
            return nodes.Constant(value.astype(node.dtype).item(), node.dtype)
    return node


def share_subexpressions(kernel: nodes.Kernel) -> nodes.Kernel:
    """One `Let` for each operation, and one operation for each value.

    Expressions over variables that are assigned to, and loads, are not shared: the
    same text may have another value later.
    """
    sharing = _Sharing(kernel)
    known: dict[nodes.Scalar, nodes.Scalar] = {}
    body = sharing.body(kernel.body, known)
    results = tuple(sharing.atom(item, known, body) for item in kernel.results)
    return replace(kernel, body=tuple(body), results=results)


class _Sharing:
    def __init__(self, kernel: nodes.Kernel) -> None:
        self.variables = assigned(kernel.body)
        self.taken = {item.name for item in kernel.parameters}
        for node in statements(kernel.body):
            if isinstance(node, (nodes.Let, nodes.For, nodes.Shared)):
                self.taken.add(node.name)
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
        if isinstance(node, nodes.Load):
            return False
        return not any(
            isinstance(item, nodes.Name) and item.name in self.variables
            for item in (node, *children(node))
        )

    def operation(
        self,
        node: nodes.Scalar,
        known: dict[nodes.Scalar, nodes.Scalar],
        out: list[nodes.Statement],
    ) -> nodes.Scalar:
        """``node`` with names or constants as operands."""
        if isinstance(node, nodes.Name):
            return self.alias.get(node.name, node)
        operands = [self.atom(item, known, out) for item in children(node)]
        return with_children(node, operands) if operands else node

    def atom(
        self,
        node: nodes.Scalar,
        known: dict[nodes.Scalar, nodes.Scalar],
        out: list[nodes.Statement],
    ) -> nodes.Scalar:
        """A name or a constant for the value of ``node``."""
        found = self.operation(node, known, out)
        if isinstance(found, (nodes.Name, nodes.Constant)):
            return found
        if found in known:
            return known[found]
        name = nodes.Name(self.fresh(), found.dtype)
        out.append(nodes.Let(name.name, found))
        if self.steady(found):
            known[found] = name
        return name

    def body(
        self, body: nodes.Body, known: dict[nodes.Scalar, nodes.Scalar]
    ) -> list[nodes.Statement]:
        out: list[nodes.Statement] = []
        for node in body:
            if isinstance(node, nodes.Let):
                self.let(node, known, out)
            elif isinstance(node, nodes.Assign):
                value = self.operation(node.value, known, out)
                out.append(replace(node, value=value))
            elif isinstance(node, (nodes.Store, nodes.Atomic)):
                index = self.atom(node.index, known, out)
                value = self.atom(node.value, known, out)
                out.append(replace(node, index=index, value=value))
            elif isinstance(node, nodes.For):
                start, stop, step = (
                    self.atom(item, known, out)
                    for item in (node.start, node.stop, node.step)
                )
                inner = tuple(self.body(node.body, dict(known)))
                out.append(nodes.For(node.name, start, stop, step, inner))
            elif isinstance(node, nodes.While):
                # The condition is computed anew each time: it stays where it is.
                condition = rebuild(node.condition, self.renamed)
                inner = tuple(self.body(node.body, dict(known)))
                out.append(nodes.While(condition, inner))
            elif isinstance(node, nodes.If):
                condition = self.atom(node.condition, known, out)
                inner = tuple(self.body(node.body, dict(known)))
                otherwise = tuple(self.body(node.otherwise, dict(known)))
                out.append(nodes.If(condition, inner, otherwise))
            else:
                out.append(node)
        return out

    def renamed(self, node: nodes.Scalar) -> nodes.Scalar:
        return self.alias.get(node.name, node) if isinstance(node, nodes.Name) else node

    def let(
        self,
        node: nodes.Let,
        known: dict[nodes.Scalar, nodes.Scalar],
        out: list[nodes.Statement],
    ) -> None:
        value = self.operation(node.value, known, out)
        name = nodes.Name(node.name, value.dtype)
        if node.name not in self.variables and self.steady(value):
            if isinstance(value, (nodes.Name, nodes.Constant)):
                self.alias[node.name] = value
                return
            if value in known:
                self.alias[node.name] = known[value]
                return
            known[value] = name
        out.append(nodes.Let(node.name, value))


def eliminate_dead(kernel: nodes.Kernel) -> nodes.Kernel:
    """Remove variables that nothing reads, and branches and loops without effect."""
    while True:
        count = used(kernel)
        body = _living(kernel.body, count)
        if body == kernel.body:
            return kernel
        kernel = replace(kernel, body=body)


def _living(body: nodes.Body, count: Counter[str]) -> nodes.Body:
    kept: list[nodes.Statement] = []
    for node in body:
        if isinstance(node, (nodes.Let, nodes.Assign)) and not count[node.name]:
            continue
        if isinstance(node, (nodes.For, nodes.If)):
            node = replace(node, body=_living(node.body, count))
            if isinstance(node, nodes.If):
                node = replace(node, otherwise=_living(node.otherwise, count))
            if not node.body and not (isinstance(node, nodes.If) and node.otherwise):
                continue
        elif isinstance(node, nodes.While):
            node = replace(node, body=_living(node.body, count))
        kept.append(node)
    return tuple(kept)


def inline_single_uses(kernel: nodes.Kernel) -> nodes.Kernel:
    """Put a value that is read once where it is read: the opposite of sharing.

    Renderers that make text use it, for expressions that can be read.  Values move
    neither into loops nor past an assignment to what they are made of.
    """
    variables = assigned(kernel.body)
    count = used(kernel)
    inlined: dict[str, nodes.Scalar] = {}

    def moved(node: nodes.Scalar) -> nodes.Scalar:
        return inlined.get(node.name, node) if isinstance(node, nodes.Name) else node

    within = [
        item
        for node in kernel.body
        if isinstance(node, (nodes.For, nodes.While, nodes.If))
        for part in statements((node,))
        for item in expressions(part)
    ]
    inside = {
        part.name
        for expression in within
        for part in parts(expression)
        if isinstance(part, nodes.Name)
    }
    body: list[nodes.Statement] = []
    for node in kernel.body:
        node = rebuild_statement(node, moved)
        if isinstance(node, nodes.Let) and count[node.name] == 1:
            names = {
                part.name for part in parts(node.value) if isinstance(part, nodes.Name)
            }
            loads = any(isinstance(part, nodes.Load) for part in parts(node.value))
            stays = node.name in inside or node.name in variables or names & variables
            if not stays and not loads:
                inlined[node.name] = node.value
                continue
        body.append(node)
    results = tuple(rebuild(item, moved) for item in kernel.results)
    return replace(kernel, body=tuple(body), results=results)
