"""Passes: functions `Kernel` → `Kernel` that keep what a kernel computes, bit for bit.

`simplify` runs the usual ones and verifies the result of each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from . import nodes
from .language import LANES, PRIMITIVES
from .verify import verify
from .walk import (
    assigned,
    children,
    expressions,
    names,
    parts,
    rebuild,
    rebuild_body,
    rebuild_statement,
    statements,
    with_children,
)

__all__ = [
    "eliminate_dead",
    "fold_constants",
    "inline_single_uses",
    "rebuild",
    "share_subexpressions",
    "simplify",
]


def simplify(kernel: nodes.Kernel) -> nodes.Kernel:
    """Constants folded, every value computed once, nothing computed in vain.

    A kernel that this gave is given back as it is.
    """
    if "simple" in kernel.memo:
        return kernel
    kernel = verify(fold_constants(kernel))
    kernel = verify(share_subexpressions(kernel))
    kernel = verify(eliminate_dead(kernel))
    kernel.memo["simple"] = True
    return kernel


def fold_constants(kernel: nodes.Kernel) -> nodes.Kernel:
    """Compute what depends on constants alone."""
    variables = assigned(kernel.body)
    known: dict[str, nodes.Constant] = {}

    def change(node: nodes.Scalar) -> nodes.Scalar:
        if isinstance(node, nodes.Name):
            return known.get(node.name, node)
        return node if isinstance(node, nodes.Constant) else _fold(node)

    def done(node: nodes.Statement) -> None:
        if not isinstance(node, nodes.Let) or node.name in variables:
            return
        if isinstance(node.value, nodes.Constant):
            known[node.name] = node.value

    body = rebuild_body(kernel.body, change, done)
    results = tuple(rebuild(item, change) for item in kernel.results)
    return replace(kernel, body=body, results=results)


def _fold(node: nodes.Scalar) -> nodes.Scalar:
    if isinstance(node, nodes.Apply):
        for argument in node.arguments:
            if not isinstance(argument, nodes.Constant):
                return node
        values = [np.asarray(x.value, x.dtype) for x in node.arguments]  # type: ignore[union-attr]
        with np.errstate(all="ignore"):
            found = np.asarray(PRIMITIVES[node.primitive].numpy(*values))
        return nodes.Constant(found.astype(node.dtype).item(), node.dtype)
    if isinstance(node, nodes.Select):
        if isinstance(node.condition, nodes.Constant):
            return node.when_true if node.condition.value else node.when_false
        return node.when_true if node.when_true == node.when_false else node
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
        self.variables: set[str] = set()
        self.taken = {item.name for item in kernel.parameters}
        for node in statements(kernel.body):
            if isinstance(node, (nodes.Let, nodes.For, nodes.Shared)):
                self.taken.add(node.name)
            elif isinstance(node, nodes.Assign):
                self.variables.add(node.name)
            elif isinstance(node, nodes.Atomic):
                self.taken.add(node.result)
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
        if not self.variables:
            return True
        for item in (node, *children(node)):
            if isinstance(item, nodes.Name) and item.name in self.variables:
                return False
        return True

    def operation(
        self,
        node: nodes.Scalar,
        known: dict[nodes.Scalar, nodes.Scalar],
        out: list[nodes.Statement],
    ) -> nodes.Scalar:
        """``node`` with names or constants as operands."""
        if isinstance(node, nodes.Name):
            return self.alias.get(node.name, node)
        given = children(node)
        operands = [self.atom(item, known, out) for item in given]
        for new, old in zip(operands, given, strict=True):
            if new is not old:
                return with_children(node, operands)
        return node

    def atom(
        self,
        node: nodes.Scalar,
        known: dict[nodes.Scalar, nodes.Scalar],
        out: list[nodes.Statement],
    ) -> nodes.Scalar:
        """A name or a constant for the value of ``node``."""
        if isinstance(node, nodes.Name):
            return self.alias.get(node.name, node)
        if isinstance(node, nodes.Constant):
            return node
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
                out.append(nodes.Assign(node.name, value))
            elif isinstance(node, nodes.Store):
                index = self.atom(node.index, known, out)
                value = self.atom(node.value, known, out)
                out.append(nodes.Store(node.array, index, value))
            elif isinstance(node, nodes.Atomic):
                operands = [self.atom(item, known, out) for item in expressions(node)]
                index, value, *rest = operands
                expected = rest[0] if rest else None
                out.append(replace(node, index=index, value=value, expected=expected))
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
        if node.name not in self.variables and self.steady(value):
            if isinstance(value, (nodes.Name, nodes.Constant)):
                self.alias[node.name] = value
                return
            name = nodes.Name(node.name, value.dtype)
            before = known.setdefault(value, name)
            if before is not name:
                self.alias[node.name] = before
                return
        out.append(node if value is node.value else nodes.Let(node.name, value))


def eliminate_dead(kernel: nodes.Kernel) -> nodes.Kernel:
    """Remove variables that no result or store depends on, and branches and loops
    that are left without effect."""
    live = set(names(*kernel.results))
    seen: set[int] = set()
    while True:
        before = len(live)
        _enliven(kernel.body, live, seen)
        if len(live) == before:
            return replace(kernel, body=_living(kernel.body, live))


def _enliven(body: nodes.Body, live: set[str], seen: set[int]) -> bool:
    """Add the names that living statements read; whether there is such a statement.

    ``seen`` has the statements whose names were added, by identity.
    """
    effect = False
    # From the end: what a statement reads comes before it, but for loops.
    for node in reversed(body):
        if isinstance(node, (nodes.Let, nodes.Assign)):
            alive = node.name in live
        elif isinstance(node, (nodes.For, nodes.While)):
            alive = _enliven(node.body, live, seen)
        elif isinstance(node, nodes.If):
            inner = _enliven(node.body, live, seen)
            alive = _enliven(node.otherwise, live, seen) or inner
        else:
            alive = True
        if alive:
            effect = True
            if id(node) not in seen:
                seen.add(id(node))
                live.update(names(*expressions(node)))
    return effect


def _living(body: nodes.Body, live: set[str]) -> nodes.Body:
    kept: list[nodes.Statement] = []
    for node in body:
        if isinstance(node, (nodes.Let, nodes.Assign)) and node.name not in live:
            continue
        if isinstance(node, nodes.For):
            body = _living(node.body, live)
            node = nodes.For(node.name, node.start, node.stop, node.step, body)
            if not body:
                continue
        elif isinstance(node, nodes.While):
            node = nodes.While(node.condition, _living(node.body, live))
            if not node.body:
                continue
        elif isinstance(node, nodes.If):
            otherwise = _living(node.otherwise, live)
            node = nodes.If(node.condition, _living(node.body, live), otherwise)
            if not node.body and not node.otherwise:
                continue
        kept.append(node)
    return tuple(kept)


def inline_single_uses(kernel: nodes.Kernel) -> nodes.Kernel:
    """Put a value that is read once where it is read: the opposite of sharing.

    Renderers that make text use it, for expressions that can be read.  Values move
    neither into loops nor past an assignment to what they are made of.
    """
    compound = (nodes.For, nodes.While, nodes.If)
    inner = statements(tuple([x for x in kernel.body if isinstance(x, compound)]))
    stays = set(names(*[item for node in inner for item in expressions(node)]))
    variables = assigned(kernel.body)
    flat = [node for node in kernel.body if not isinstance(node, compound)]
    read = [item for node in flat for item in expressions(node)]
    count = Counter(names(*read, *kernel.results))
    inlined: dict[str, nodes.Scalar] = {}

    def moved(node: nodes.Scalar) -> nodes.Scalar:
        return inlined.get(node.name, node) if isinstance(node, nodes.Name) else node

    body: list[nodes.Statement] = []
    for node in kernel.body:
        if isinstance(node, compound):
            body.append(node)
            continue
        node = rebuild_statement(node, moved)
        if isinstance(node, nodes.Let) and count[node.name] == 1:
            found = parts(node.value)
            loads = any(isinstance(part, nodes.Load) for part in found)
            changes = not variables.isdisjoint((node.name, *names(node.value)))
            if node.name not in stays and not changes and not loads:
                inlined[node.name] = node.value
                continue
        body.append(node)
    results = tuple([rebuild(item, moved) for item in kernel.results])
    return replace(kernel, body=tuple(body), results=results)


def _stays_in_turn(node: nodes.Scalar) -> bool:
    """Whether a part of an expression is done where it stands: it reads an array, or
    all lanes of a subgroup do it together."""
    exchanges = isinstance(node, nodes.Apply) and node.primitive in LANES
    return exchanges or isinstance(node, nodes.Load)
