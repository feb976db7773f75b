"""Numbers that are chosen in double precision only to be rounded: rounded before.

A body says ``cast(2.0**85 if small else 1.0, x)``, and its literals are doubles.  A
device without doubles can do that as soon as each of them is rounded first.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .rewrite import fold_constants
from .verify import verify
from .walk import (
    assigned,
    children,
    expressions,
    parts,
    rebuild,
    rebuild_statement,
    statements,
)

__all__ = ["round_early"]

DType: TypeAlias = np.dtype[Any]
Use: TypeAlias = DType | str | None
"""What becomes of a double: a dtype that it is rounded to, a variable that it is chosen
for, or something else."""

DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)


def round_early(kernel: nodes.Kernel) -> nodes.Kernel:
    """The kernel, in which a choice between doubles that is rounded to float32 is a
    choice between numbers of float32.  The values are the same."""
    if not any(_is_rounding(node) for node in _all(kernel)):
        return kernel
    singles = _singles(kernel)

    def change(node: nodes.Scalar) -> nodes.Scalar:
        if _is_rounding(node):
            assert isinstance(node, nodes.Cast)
            return _rounded(node.argument, singles)
        return node

    def body(given: nodes.Body) -> nodes.Body:
        found: list[nodes.Statement] = []
        for node in given:
            if isinstance(node, nodes.Let) and node.name in singles:
                value = rebuild(_rounded(node.value, singles), change)
                found.append(nodes.Let(node.name, value))
            elif isinstance(node, nodes.If):
                condition = rebuild(node.condition, change)
                inner, otherwise = body(node.body), body(node.otherwise)
                found.append(nodes.If(condition, inner, otherwise))
            elif isinstance(node, (nodes.For, nodes.While)):
                head = rebuild_statement(replace(node, body=()), change)
                assert isinstance(head, (nodes.For, nodes.While))
                found.append(replace(head, body=body(node.body)))
            else:
                found.append(rebuild_statement(node, change))
        return tuple(found)

    return verify(fold_constants(replace(kernel, body=body(kernel.body))))


def _all(kernel: nodes.Kernel) -> list[nodes.Scalar]:
    return [
        part
        for node in statements(kernel.body)
        for item in expressions(node)
        for part in parts(item)
    ]


def _is_rounding(node: nodes.Scalar) -> bool:
    return (
        isinstance(node, nodes.Cast)
        and node.dtype == SINGLE
        and node.argument.dtype == DOUBLE
    )


def _rounded(node: nodes.Scalar, singles: set[str]) -> nodes.Scalar:
    if isinstance(node, nodes.Name) and node.name in singles:
        return nodes.Name(node.name, SINGLE)
    if isinstance(node, nodes.Select):
        when_true = _rounded(node.when_true, singles)
        when_false = _rounded(node.when_false, singles)
        return nodes.Select(node.condition, when_true, when_false, SINGLE)
    return nodes.Cast(node, SINGLE)


def _singles(kernel: nodes.Kernel) -> set[str]:
    """Variables of double precision whose every use rounds them, in the end."""
    variables = assigned(kernel.body)
    lets = [
        node
        for node in statements(kernel.body)
        if isinstance(node, nodes.Let)
        and node.value.dtype == DOUBLE
        and node.name not in variables
    ]
    chosen = {node.name for node in lets}
    uses: dict[str, set[Use]] = defaultdict(set)
    for node in statements(kernel.body):
        is_let = isinstance(node, nodes.Let) and node.name in chosen
        for item in expressions(node):
            _note(item, node.name if is_let else None, uses)  # type: ignore[union-attr]
    found: set[str] = set()
    # What a variable is chosen for is defined after it.
    for let in reversed(lets):
        if all(use == SINGLE or use in found for use in uses[let.name]):
            found.add(let.name)
    return found


def _note(node: nodes.Scalar, use: Use, uses: dict[str, set[Use]]) -> None:
    if isinstance(node, nodes.Name):
        uses[node.name].add(use)
    elif isinstance(node, nodes.Select) and node.dtype == DOUBLE:
        _note(node.condition, None, uses)
        _note(node.when_true, use, uses)
        _note(node.when_false, use, uses)
    else:
        inner = SINGLE if _is_rounding(node) else None
        for item in children(node):
            _note(item, inner, uses)
