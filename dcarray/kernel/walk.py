"""Walking over the IR: its parts in order, and copies with parts changed.

Every pass walks over every kernel: what is here returns lists, looks at the most
frequent kinds of nodes first, and makes no copy of what stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from . import nodes

__all__ = [
    "Census",
    "assigned",
    "census",
    "children",
    "expressions",
    "names",
    "parts",
    "rebuild",
    "rebuild_body",
    "rebuild_statement",
    "scalars",
    "statements",
    "used",
    "with_children",
]

DType: TypeAlias = np.dtype[Any]
Rewrite: TypeAlias = Callable[[nodes.Scalar], nodes.Scalar]
Notify: TypeAlias = Callable[[nodes.Statement], None]


def children(node: nodes.Scalar) -> tuple[nodes.Scalar, ...]:
    """The operands of an expression."""
    if type(node) is nodes.Apply:
        return node.arguments
    if type(node) is nodes.Name or type(node) is nodes.Constant:
        return ()
    if type(node) is nodes.Cast:
        return (node.argument,)
    if type(node) is nodes.Select:
        return (node.condition, node.when_true, node.when_false)
    if type(node) is nodes.Load:
        return (node.index,)
    return ()


def with_children(node: nodes.Scalar, operands: list[nodes.Scalar]) -> nodes.Scalar:
    """The same expression over other operands."""
    if type(node) is nodes.Apply:
        return nodes.Apply(node.primitive, tuple(operands), node.dtype)
    if type(node) is nodes.Cast:
        return nodes.Cast(operands[0], node.dtype)
    if type(node) is nodes.Select:
        return nodes.Select(operands[0], operands[1], operands[2], node.dtype)
    if type(node) is nodes.Load:
        return nodes.Load(node.array, operands[0], node.dtype)
    return node


def rebuild(node: nodes.Scalar, change: Rewrite) -> nodes.Scalar:
    """``change`` applied to every part of an expression, operands first."""
    if type(node) is nodes.Name or type(node) is nodes.Constant:
        return change(node)
    operands = children(node)
    changed = []
    same = True
    for item in operands:
        if type(item) is nodes.Name or type(item) is nodes.Constant:
            new = change(item)
        else:
            new = rebuild(item, change)
        if new is not item:
            same = False
        changed.append(new)
    return change(node if same else with_children(node, changed))


def rebuild_statement(
    node: nodes.Statement, change: Rewrite, done: Notify | None = None
) -> nodes.Statement:
    """``change`` applied to every expression of a statement, bodies included."""
    if type(node) is nodes.Let:
        value = rebuild(node.value, change)
        return node if value is node.value else nodes.Let(node.name, value)
    if type(node) is nodes.Assign:
        return nodes.Assign(node.name, rebuild(node.value, change))
    if type(node) is nodes.Store:
        index, value = rebuild(node.index, change), rebuild(node.value, change)
        if index is node.index and value is node.value:
            return node
        return nodes.Store(node.array, index, value)
    if type(node) is nodes.Atomic:
        index, value = rebuild(node.index, change), rebuild(node.value, change)
        expected = None if node.expected is None else rebuild(node.expected, change)
        return nodes.Atomic(
            node.operation, node.array, index, value, node.result, expected
        )
    if type(node) is nodes.For:
        start = rebuild(node.start, change)
        stop = rebuild(node.stop, change)
        step = rebuild(node.step, change)
        return nodes.For(
            node.name, start, stop, step, rebuild_body(node.body, change, done)
        )
    if type(node) is nodes.While:
        body = rebuild_body(node.body, change, done)
        return nodes.While(rebuild(node.condition, change), body)
    if type(node) is nodes.If:
        body = rebuild_body(node.body, change, done)
        otherwise = rebuild_body(node.otherwise, change, done)
        return nodes.If(rebuild(node.condition, change), body, otherwise)
    return node


def rebuild_body(
    body: nodes.Body, change: Rewrite, done: Notify | None = None
) -> nodes.Body:
    """``change`` applied to every expression of a body; ``done`` hears of each
    statement before the next one is changed."""
    rebuilt = []
    for node in body:
        node = rebuild_statement(node, change, done)
        if done is not None:
            done(node)
        rebuilt.append(node)
    return tuple(rebuilt)


def statements(body: nodes.Body) -> list[nodes.Statement]:
    """Every statement, each followed by those inside it."""
    found: list[nodes.Statement] = []
    _collect(body, found)
    return found


def _collect(body: nodes.Body, found: list[nodes.Statement]) -> None:
    for node in body:
        found.append(node)
        if type(node) is nodes.Let or type(node) is nodes.Store:
            continue
        if type(node) is nodes.For or type(node) is nodes.While:
            _collect(node.body, found)
        elif type(node) is nodes.If:
            _collect(node.body, found)
            _collect(node.otherwise, found)


def expressions(node: nodes.Statement) -> tuple[nodes.Scalar, ...]:
    """The expressions of a statement itself, not those of its bodies."""
    if type(node) is nodes.Let or type(node) is nodes.Assign:
        return (node.value,)
    if type(node) is nodes.Store:
        return (node.index, node.value)
    if type(node) is nodes.Atomic:
        given = () if node.expected is None else (node.expected,)
        return (node.index, node.value, *given)
    if type(node) is nodes.For:
        return (node.start, node.stop, node.step)
    if type(node) is nodes.While or type(node) is nodes.If:
        return (node.condition,)
    return ()


def parts(*given: nodes.Scalar) -> list[nodes.Scalar]:
    """Expressions and everything below them."""
    found = list(given)
    for item in found:  # grows
        if type(item) is nodes.Name or type(item) is nodes.Constant:
            continue
        if type(item) is nodes.Apply:
            found += item.arguments
        else:
            found += children(item)
    return found


def scalars(kernel: nodes.Kernel) -> list[nodes.Scalar]:
    """Every expression of a kernel, and everything below it."""
    found = list(kernel.results)
    for node in statements(kernel.body):
        if type(node) is nodes.Let:
            found.append(node.value)
        else:
            found += expressions(node)
    return parts(*found)


def assigned(body: nodes.Body) -> set[str]:
    """Variables whose value changes after their definition."""
    return {node.name for node in statements(body) if type(node) is nodes.Assign}


def names(*found: nodes.Scalar) -> list[str]:
    """The names that expressions read, each as often as it is read."""
    read: list[str] = []
    stack = list(found)
    for item in stack:  # grows
        if type(item) is nodes.Name:
            read.append(item.name)
        elif type(item) is nodes.Apply:
            stack += item.arguments
        elif type(item) is not nodes.Constant:
            stack += children(item)
    return read


def used(kernel: nodes.Kernel) -> Counter[str]:
    """How often each name is read."""
    return Counter([part.name for part in scalars(kernel) if type(part) is nodes.Name])


@dataclass(frozen=True, slots=True)
class Census:
    """What there is in a kernel.

    Attributes
    ----------
    dtypes : frozenset of dtype
        Of parameters, elements and values.
    primitives : frozenset of str
    casts : frozenset of (dtype, dtype)
        From, to.
    """

    dtypes: frozenset[DType]
    primitives: frozenset[str]
    casts: frozenset[tuple[DType, DType]]


def census(kernel: nodes.Kernel) -> Census:
    """What there is in a kernel, counted once: a pass that has nothing to do need not
    walk."""
    known: Census | None = kernel.memo.get("census")
    if known is None:
        known = kernel.memo["census"] = _census(kernel)
    return known


def _census(kernel: nodes.Kernel) -> Census:
    dtypes = {item.dtype for item in kernel.parameters}
    primitives: set[str] = set()
    casts: set[tuple[DType, DType]] = set()
    found = list(kernel.results)
    for node in statements(kernel.body):
        if type(node) is nodes.Let:
            found.append(node.value)
        else:
            found += expressions(node)
            if type(node) is nodes.Shared:
                dtypes.add(node.dtype)
    for item in found:  # grows
        # A name has the dtype of its definition.
        if type(item) is nodes.Name:
            continue
        dtypes.add(item.dtype)
        if type(item) is nodes.Apply:
            primitives.add(item.primitive)
            found += item.arguments
        elif type(item) is nodes.Cast:
            casts.add((item.argument.dtype, item.dtype))
            found.append(item.argument)
        elif type(item) is not nodes.Constant:
            found += children(item)
    return Census(frozenset(dtypes), frozenset(primitives), frozenset(casts))
