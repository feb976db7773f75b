"""Walking over the IR: its parts in order, and copies with parts changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from . import nodes

__all__ = [
    "assigned",
    "children",
    "expressions",
    "names",
    "parts",
    "rebuild",
    "rebuild_body",
    "rebuild_statement",
    "statements",
    "used",
    "with_children",
]

Rewrite: TypeAlias = Callable[[nodes.Scalar], nodes.Scalar]
Notify: TypeAlias = Callable[[nodes.Statement], None]


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


def rebuild_statement(
    node: nodes.Statement, change: Rewrite, done: Notify | None = None
) -> nodes.Statement:
    """``change`` applied to every expression of a statement, bodies included."""
    if isinstance(node, (nodes.Let, nodes.Assign)):
        return replace(node, value=rebuild(node.value, change))
    if isinstance(node, nodes.Store):
        index = rebuild(node.index, change)
        return replace(node, index=index, value=rebuild(node.value, change))
    if isinstance(node, nodes.Atomic):
        index, value = rebuild(node.index, change), rebuild(node.value, change)
        expected = None if node.expected is None else rebuild(node.expected, change)
        return replace(node, index=index, value=value, expected=expected)
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


def names(*found: nodes.Scalar) -> Iterator[str]:
    """The names that expressions read, each as often as it is read."""
    for expression in found:
        for part in parts(expression):
            if isinstance(part, nodes.Name):
                yield part.name


def used(kernel: nodes.Kernel) -> Counter[str]:
    """How often each name is read."""
    count = Counter(names(*kernel.results))
    for node in statements(kernel.body):
        count.update(names(*expressions(node)))
    return count
