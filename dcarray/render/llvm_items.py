"""Kernels over a grid made ready for loops over work items."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from ..kernel import infer, nodes
from ..kernel.uniform import Survey, surveyed
from ..kernel.walk import (
    assigned,
    expressions,
    names,
    parts,
    rebuild,
    rebuild_body,
    statements,
)
from .llvm_strides import reads_rows

__all__ = ["apart", "invariants_first", "placed", "uniform_values", "within"]

_FEW = 12
"""Parts of an expression that is computed again where it is used."""

_COUNTING = frozenset(
    "add subtract multiply left_shift right_shift bitwise_and bitwise_or".split()
)

_SHORT = 4
"""Rounds up to which a loop is unrolled, and need not be taken apart."""


def placed(kernel: nodes.Kernel) -> nodes.Kernel:
    """Places of an item, and what is counted from them, stand where they are used: to
    keep them for each item takes longer."""
    given = {item.name for item in kernel.parameters}
    found: dict[str, nodes.Scalar] = {}
    changed = assigned(kernel.body)

    def change(node: nodes.Scalar) -> nodes.Scalar:
        return found.get(node.name, node) if isinstance(node, nodes.Name) else node

    for node in statements(kernel.body):
        if isinstance(node, nodes.Let) and node.name not in changed:
            value = rebuild(node.value, change)
            if _is_place(value, given):
                found[node.name] = value
    body = rebuild_body(kernel.body, change)
    return nodes.Kernel(kernel.name, kernel.parameters, body)


def _is_place(value: nodes.Scalar, given: set[str]) -> bool:
    """Whether a value is a place, or a few sums and products of places and numbers."""
    items = list(parts(value))
    if len(items) > _FEW or not any(isinstance(x, nodes.Index) for x in items):
        return False
    for item in items:
        if isinstance(item, nodes.Name) and item.name not in given:
            return False
        if isinstance(item, nodes.Apply) and item.primitive not in _COUNTING:
            return False
        if isinstance(item, (nodes.Load, nodes.Select)) or item.dtype.kind not in "iu":
            return False
    return True


def within(kernel: nodes.Kernel) -> tuple[nodes.Kernel, dict[int, nodes.Scalar]]:
    """A kernel that does nothing outside of some lengths without the question; and
    where to end instead, by axis: loops without branches become vector code."""
    *first, last = kernel.body or (nodes.Barrier(),)
    values = {node.name: node.value for node in first if isinstance(node, nodes.Let)}
    given = {item.name for item in kernel.parameters}
    ends: dict[int, nodes.Scalar] = {}
    if not isinstance(last, nodes.If) or last.otherwise or len(values) < len(first):
        return kernel, {}
    conditions = [last.condition]
    while conditions:
        item = conditions.pop()
        if isinstance(item, nodes.Name) and item.name in values:
            conditions.append(values[item.name])
            continue
        if not isinstance(item, nodes.Apply):
            return kernel, {}
        if item.primitive == "bitwise_and":
            conditions.extend(item.arguments)
            continue
        place, end = item.arguments if item.primitive == "less" else (item, item)
        if not isinstance(place, nodes.Index) or place.kind != "global_id":
            return kernel, {}
        if not isinstance(end, nodes.Name) or end.name not in given:
            return kernel, {}
        if end.dtype != np.int64 or place.axis in ends:
            return kernel, {}
        ends[place.axis] = end
    body = (*first, *last.body)
    if any(map(meets, body)) or any(map(_reads, first)):
        return kernel, {}
    return nodes.Kernel(kernel.name, kernel.parameters, body), ends


def _reads(node: nodes.Statement) -> bool:
    """Whether a statement reads an array."""
    found = (part for item in expressions(node) for part in parts(item))
    return any(isinstance(part, nodes.Load) for part in found)


def meets(node: nodes.Statement) -> bool:
    """Whether there is a barrier inside."""
    return any(isinstance(item, nodes.Barrier) for item in statements((node,)))


def uniform_values(kernel: nodes.Kernel) -> set[str]:
    """Variables that have one value, which is the same for all items of a group."""
    changed = assigned(kernel.body) | surveyed(kernel).varying
    lets = (node for node in statements(kernel.body) if isinstance(node, nodes.Let))
    return {node.name for node in lets} - changed


def invariants_first(kernel: nodes.Kernel) -> nodes.Kernel:
    """What is the same in all rounds of a loop that stores nothing, before the loop.

    What it reads is read only if there are rounds: it may not be there otherwise.
    """
    return nodes.Kernel(kernel.name, kernel.parameters, _settled(kernel.body))


def _settled(body: nodes.Body) -> nodes.Body:
    found: list[nodes.Statement] = []
    for node in body:
        if isinstance(node, nodes.If):
            then, otherwise = _settled(node.body), _settled(node.otherwise)
            node = nodes.If(node.condition, then, otherwise)
        elif isinstance(node, nodes.While):
            node = nodes.While(node.condition, _settled(node.body))
        elif isinstance(node, nodes.For):
            node = dataclasses.replace(node, body=_settled(node.body))
            changes = (nodes.Store, nodes.Atomic, nodes.Barrier, nodes.While)
            inner = list(statements(node.body))
            if not any(isinstance(item, changes) for item in inner):
                before, node = _parted(node, inner)
                found.extend(before)
        found.append(node)
    return tuple(found)


def _parted(
    node: nodes.For, inner: list[nodes.Statement]
) -> tuple[list[nodes.Statement], nodes.For]:
    """What may stand before a loop, and the loop without it."""
    own = {node.name, *assigned(node.body)}
    own |= {item.name for item in inner if isinstance(item, (nodes.Let, nodes.For))}
    changed = assigned(node.body)
    before: list[nodes.Statement] = []
    loads: list[nodes.Statement] = []
    body: list[nodes.Statement] = []
    for item in node.body:
        moves = isinstance(item, nodes.Let) and item.name not in changed
        if not moves or own & set(names(*expressions(item))):
            body.append(item)
            continue
        assert isinstance(item, nodes.Let)
        own.discard(item.name)
        zero = nodes.Constant(_ZEROS[item.value.dtype.kind], item.value.dtype)
        before.append(nodes.Let(item.name, zero))
        loads.append(nodes.Assign(item.name, item.value))
    if loads:
        up, down = (
            infer.apply("bitwise_and", infer.apply(sign, node.step, 0), way)
            for sign, way in (
                ("greater", infer.apply("less", node.start, node.stop)),
                ("less", infer.apply("greater", node.start, node.stop)),
            )
        )
        rounds = infer.apply("bitwise_or", up, down)
        before.append(nodes.If(rounds, tuple(loads)))
    return before, dataclasses.replace(node, body=tuple(body))


_ZEROS: dict[str, bool | int | float] = {"b": False, "i": 0, "u": 0, "f": 0.0}


def apart(kernel: nodes.Kernel, quick: Callable[[nodes.Apply], bool]) -> set[int]:
    """Statements that a group does together, by their `id`: those with a barrier, and
    loops of arithmetic with as many rounds for all items.

    Of such a loop each round is done for all items, and becomes vector code; item by
    item it would be a chain of operations that wait for each other.  ``quick`` says
    whether an operation has instructions of its own.
    """
    survey = surveyed(kernel)
    found: set[int] = set()

    def visit(body: nodes.Body) -> None:
        for node in body:
            if meets(node) or (
                isinstance(node, nodes.For)
                and not _is_short(node)
                and _is_arithmetic(node, survey, quick)
                and not reads_rows(node, survey.uniform)
            ):
                found.add(id(node))
                if isinstance(node, (nodes.For, nodes.While, nodes.If)):
                    visit(node.body)
                if isinstance(node, nodes.If):
                    visit(node.otherwise)

    visit(kernel.body)
    return found


def _is_short(node: nodes.For) -> bool:
    ends = (node.start, node.stop, node.step)
    values = [int(x.value) for x in ends if isinstance(x, nodes.Constant)]  # type: ignore[arg-type]
    return len(values) == 3 and values[2] != 0 and len(range(*values)) <= _SHORT


def _is_arithmetic(
    node: nodes.Statement, survey: Survey, quick: Callable[[nodes.Apply], bool]
) -> bool:
    if isinstance(node, (nodes.While, nodes.Atomic)):
        return False
    items = expressions(node)
    if isinstance(node, nodes.For) and not all(map(survey.uniform, items)):
        return False
    for part in (part for item in items for part in parts(item)):
        if isinstance(part, nodes.Apply) and not quick(part):
            return False
    inner: nodes.Body = ()
    if isinstance(node, (nodes.For, nodes.If)):
        inner = node.body
    if isinstance(node, nodes.If):
        inner = (*inner, *node.otherwise)
    return all(_is_arithmetic(item, survey, quick) for item in inner)
