"""Numbers that are chosen in double precision only to be rounded: rounded before.

A body says ``cast(2.0**85 if small else 1.0, x)``, and its literals are doubles.  A
device without doubles can do that as soon as each of them is rounded first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .folding import fold
from .verify import between
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
    rounding = _Rounding(kernel)
    body = rounding.body(kernel.body)
    results = tuple([rebuild(item, rounding.change) for item in kernel.results])
    return between(replace(kernel, body=body, results=results))


class _Rounding:
    """Rounds first, and computes what depends on constants alone."""

    def __init__(self, kernel: nodes.Kernel) -> None:
        self.singles = _singles(kernel)
        self.variables = assigned(kernel.body)
        self.known: dict[str, nodes.Constant] = {}

    def change(self, node: nodes.Scalar) -> nodes.Scalar:
        if type(node) is nodes.Name:
            return self.known.get(node.name, node)
        if _is_rounding(node):
            assert type(node) is nodes.Cast
            return self.rounded(node.argument)
        return fold(node)

    def rounded(self, node: nodes.Scalar) -> nodes.Scalar:
        if type(node) is nodes.Name and node.name in self.singles:
            return self.change(nodes.Name(node.name, SINGLE))
        if type(node) is nodes.Select:
            x, y = self.rounded(node.when_true), self.rounded(node.when_false)
            return fold(nodes.Select(node.condition, x, y, SINGLE))
        return fold(nodes.Cast(node, SINGLE))

    def body(self, body: nodes.Body) -> nodes.Body:
        found: list[nodes.Statement] = []
        for node in body:
            if type(node) is nodes.Let:
                node = self.let(node)
            elif type(node) is nodes.If:
                condition = rebuild(node.condition, self.change)
                inner, otherwise = self.body(node.body), self.body(node.otherwise)
                node = nodes.If(condition, inner, otherwise)
            elif type(node) is nodes.For or type(node) is nodes.While:
                head = rebuild_statement(replace(node, body=()), self.change)
                assert isinstance(head, (nodes.For, nodes.While))
                node = replace(head, body=self.body(node.body))
            else:
                node = rebuild_statement(node, self.change)
            found.append(node)
        return tuple(found)

    def let(self, node: nodes.Let) -> nodes.Let:
        value = node.value
        if node.name in self.singles:
            value = self.rounded(value)
        value = rebuild(value, self.change)
        if type(value) is nodes.Constant and node.name not in self.variables:
            self.known[node.name] = value
        return node if value is node.value else nodes.Let(node.name, value)


def _is_rounding(node: nodes.Scalar) -> bool:
    return (
        type(node) is nodes.Cast
        and node.dtype == SINGLE
        and node.argument.dtype == DOUBLE
    )


def _singles(kernel: nodes.Kernel) -> set[str]:
    """Variables of double precision whose every use rounds them, in the end."""
    variables = assigned(kernel.body)
    lets = [
        node
        for node in statements(kernel.body)
        if type(node) is nodes.Let
        and node.value.dtype == DOUBLE
        and node.name not in variables
    ]
    if not lets:
        return {ROUNDED}
    chosen = {node.name for node in lets}
    uses = _Uses()
    for node in statements(kernel.body):
        if type(node) is nodes.Let and node.name in chosen:
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
        if type(node) is nodes.Name:
            if target is None:
                self.other.add(node.name)
            else:
                self.chosen.setdefault(node.name, set()).add(target)
        elif type(node) is nodes.Select and node.dtype == DOUBLE:
            self.note(node.condition, None)
            self.note(node.when_true, target)
            self.note(node.when_false, target)
        else:
            inner = ROUNDED if _is_rounding(node) else None
            for item in children(node):
                self.note(item, inner)
