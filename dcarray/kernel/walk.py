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
    if isinstance(node, (nodes.Name, nodes.Constant)):
        return ()
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
        return nodes.Apply(node.primitive, tuple(operands), node.dtype)
    if isinstance(node, nodes.Cast):
        return nodes.Cast(operands[0], node.dtype)
    if isinstance(node, nodes.Select):
        return nodes.Select(operands[0], operands[1], operands[2], node.dtype)
    if isinstance(node, nodes.Load):
        return nodes.Load(node.array, operands[0], node.dtype)
    return node


def rebuild(node: nodes.Scalar, change: Rewrite) -> nodes.Scalar:
    """``change`` applied to every part of an expression, operands first."""
    operands = children(node)
    if operands:
        changed = [rebuild(item, change) for item in operands]
        for new, old in zip(changed, operands, strict=True):
            if new is not old:
                node = with_children(node, changed)
                break
    return change(node)


def rebuild_statement(
    node: nodes.Statement, change: Rewrite, done: Notify | None = None
) -> nodes.Statement:
    """``change`` applied to every expression of a statement, bodies included."""
    if isinstance(node, nodes.Let):
        value = rebuild(node.value, change)
        return node if value is node.value else nodes.Let(node.name, value)
    if isinstance(node, nodes.Assign):
        return nodes.Assign(node.name, rebuild(node.value, change))
    if isinstance(node, nodes.Store):
        index, value = rebuild(node.index, change), rebuild(node.value, change)
        if index is node.index and value is node.value:
            return node
        return nodes.Store(node.array, index, value)
    if isinstance(node, nodes.Atomic):
        index, value = rebuild(node.index, change), rebuild(node.value, change)
        expected = None if node.expected is None else rebuild(node.expected, change)
        return nodes.Atomic(
            node.operation, node.array, index, value, node.result, expected
        )
    if isinstance(node, nodes.For):
        start = rebuild(node.start, change)
        stop = rebuild(node.stop, change)
        step = rebuild(node.step, change)
        return nodes.For(
            node.name, start, stop, step, rebuild_body(node.body, change, done)
        )
    if isinstance(node, nodes.While):
        body = rebuild_body(node.body, change, done)
        return nodes.While(rebuild(node.condition, change), body)
    if isinstance(node, nodes.If):
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
        if isinstance(node, (nodes.Let, nodes.Store)):
            continue
        if isinstance(node, (nodes.For, nodes.While)):
            _collect(node.body, found)
        elif isinstance(node, nodes.If):
            _collect(node.body, found)
            _collect(node.otherwise, found)


def expressions(node: nodes.Statement) -> tuple[nodes.Scalar, ...]:
    """The expressions of a statement itself, not those of its bodies."""
    if isinstance(node, (nodes.Let, nodes.Assign)):
        return (node.value,)
    if isinstance(node, nodes.Store):
        return (node.index, node.value)
    if isinstance(node, nodes.Atomic):
        given = () if node.expected is None else (node.expected,)
        return (node.index, node.value, *given)
    if isinstance(node, nodes.For):
        return (node.start, node.stop, node.step)
    if isinstance(node, (nodes.While, nodes.If)):
        return (node.condition,)
    return ()


def parts(*given: nodes.Scalar) -> list[nodes.Scalar]:
    """Expressions and everything below them."""
    found = list(given)
    for item in found:  # grows
        if isinstance(item, (nodes.Name, nodes.Constant)):
            continue
        if isinstance(item, nodes.Apply):
            found += item.arguments
        else:
            found += children(item)
    return found


def scalars(kernel: nodes.Kernel) -> list[nodes.Scalar]:
    """Every expression of a kernel, and everything below it."""
    found = list(kernel.results)
    for node in statements(kernel.body):
        if isinstance(node, nodes.Let):
            found.append(node.value)
        else:
            found += expressions(node)
    return parts(*found)


def assigned(body: nodes.Body) -> set[str]:
    """Variables whose value changes after their definition."""
    return {node.name for node in statements(body) if isinstance(node, nodes.Assign)}


def names(*found: nodes.Scalar) -> list[str]:
    """The names that expressions read, each as often as it is read."""
    return [part.name for part in parts(*found) if isinstance(part, nodes.Name)]


def used(kernel: nodes.Kernel) -> Counter[str]:
    """How often each name is read."""
    return Counter(
        [part.name for part in scalars(kernel) if isinstance(part, nodes.Name)]
    )


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
        if isinstance(node, nodes.Let):
            found.append(node.value)
        else:
            found += expressions(node)
            if isinstance(node, nodes.Shared):
                dtypes.add(node.dtype)
    for item in parts(*found):
        # A name has the dtype of its definition.
        if isinstance(item, nodes.Name):
            continue
        dtypes.add(item.dtype)
        if isinstance(item, nodes.Apply):
            primitives.add(item.primitive)
        elif isinstance(item, nodes.Cast):
            casts.add((item.argument.dtype, item.dtype))
    return Census(frozenset(dtypes), frozenset(primitives), frozenset(casts))
