"""Numbers that are chosen in double precision only to be rounded: rounded before.

A body says ``cast(2.0**85 if small else 1.0, x)``, and its literals are doubles.  A
device without doubles can do that as soon as each of them is rounded first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .rewrite import fold_constants
from .verify import verify
from .walk import (
    assigned,
    census,
    children,
    expressions,
    rebuild,
    rebuild_statement,
    statements,
)

__all__ = ["round_early"]

DType: TypeAlias = np.dtype[Any]
DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)
ROUNDED = ""


def round_early(kernel: nodes.Kernel) -> nodes.Kernel:
    """The kernel, in which a choice between doubles that is rounded to float32 is a
    choice between numbers of float32.  The values are the same."""
    if (DOUBLE, SINGLE) not in census(kernel).casts:
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
    uses = _Uses()
    for node in statements(kernel.body):
        if isinstance(node, nodes.Let) and node.name in chosen:
            uses.note(node.value, node.name)
        else:
            for item in expressions(node):
                uses.note(item, None)
    found = {ROUNDED}
    # What a variable is chosen for is defined after it.
    for let in reversed(lets):
        if let.name not in uses.other and uses.chosen.get(let.name, found) <= found:
            found.add(let.name)
    return found


class _Uses:
    """What becomes of variables, besides being rounded.

    Attributes
    ----------
    chosen : dict
        The variables that one is chosen for, `ROUNDED` where it is rounded.
    other : set of str
        Variables of which something else becomes.
    """

    def __init__(self) -> None:
        self.chosen: dict[str, set[str]] = {}
        self.other: set[str] = set()

    def note(self, node: nodes.Scalar, target: str | None) -> None:
        """An expression that is chosen for a variable, or for something else."""
        if isinstance(node, nodes.Name):
            if target is None:
                self.other.add(node.name)
            else:
                self.chosen.setdefault(node.name, set()).add(target)
        elif isinstance(node, nodes.Select) and node.dtype == DOUBLE:
            self.note(node.condition, None)
            self.note(node.when_true, target)
            self.note(node.when_false, target)
        else:
            inner = ROUNDED if _is_rounding(node) else None
            for item in children(node):
                self.note(item, inner)
