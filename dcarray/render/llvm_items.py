"""Kernels over a grid made ready for loops over work items."""

from __future__ import annotations

import numpy as np

from ..kernel import nodes
from ..kernel.walk import (
    assigned,
    expressions,
    parts,
    rebuild,
    rebuild_body,
    statements,
)

__all__ = ["meets", "placed", "within"]


def placed(kernel: nodes.Kernel) -> nodes.Kernel:
    """Places of an item stand where they are used: they need no memory."""
    found: dict[str, nodes.Scalar] = {}
    changed = assigned(kernel.body)

    def change(node: nodes.Scalar) -> nodes.Scalar:
        return found.get(node.name, node) if isinstance(node, nodes.Name) else node

    for node in statements(kernel.body):
        if isinstance(node, nodes.Let) and node.name not in changed:
            value = rebuild(node.value, change)
            if isinstance(value, nodes.Index):
                found[node.name] = value
    body = rebuild_body(kernel.body, change)
    return nodes.Kernel(kernel.name, kernel.parameters, body)


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
