"""How far apart the elements are that a loop reads: from round to round, and from work
item to work item."""

from __future__ import annotations

from collections.abc import Callable

from ..kernel import nodes
from ..kernel.walk import expressions, parts, statements

__all__ = ["reads_rows"]

_ENOUGH = 12
"""Operations for each element from which it does not matter how it is read."""

Coefficient = int | None
"""What an index is multiplied by; None is everything that is not known to be 0 or 1."""


def reads_rows(node: nodes.For, is_uniform: Callable[[nodes.Scalar], bool]) -> bool:
    """Whether each item reads neighbours from round to round, where neighbouring items
    are far apart: then an item does all of its rounds, and the next one follows."""
    values = {
        item.name: item.value
        for item in statements(node.body)
        if isinstance(item, nodes.Let)
    }

    def by_round(leaf: nodes.Scalar) -> Coefficient:
        return int(isinstance(leaf, nodes.Name) and leaf.name == node.name)

    def by_item(leaf: nodes.Scalar) -> Coefficient:
        if isinstance(leaf, nodes.Index):
            return int(leaf.kind in ("global_id", "local_id") and leaf.axis == 0)
        return 0 if is_uniform(leaf) else None

    rows = operations = 0
    for item in node.body:
        for part in (part for given in expressions(item) for part in parts(given)):
            operations += isinstance(part, nodes.Apply) and part.dtype.kind == "f"
            if isinstance(part, nodes.Load):
                near = _coefficient(part.index, values, by_round) in (1, -1)
                far = _coefficient(part.index, values, by_item) is None
                rows += near and far
    return rows > 0 and operations < _ENOUGH * rows


def _coefficient(
    node: nodes.Scalar,
    values: dict[str, nodes.Scalar],
    of_leaf: Callable[[nodes.Scalar], Coefficient],
) -> Coefficient:
    """What one of the variables of an index is multiplied by."""
    if isinstance(node, nodes.Name) and node.name in values:
        return _coefficient(values[node.name], values, of_leaf)
    if isinstance(node, nodes.Cast):
        return _coefficient(node.argument, values, of_leaf)
    if not isinstance(node, nodes.Apply):
        return of_leaf(node)
    found = [_coefficient(item, values, of_leaf) for item in node.arguments]
    if not any(found) and None not in found:
        return 0
    if None in found or node.primitive not in ("add", "subtract"):
        return None
    first, second = found
    assert first is not None and second is not None
    total = first + second if node.primitive == "add" else first - second
    return total if total in (-1, 0, 1) else None
