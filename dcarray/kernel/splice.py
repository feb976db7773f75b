"""Writing IR: names that are not taken yet, values that get a name, and functions of
the kernel language put in where they are called.

Functions are parsed and simplified once for their dtypes; afterwards a call costs no
more than the renaming of their variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .narrowing import round_early
from .parse import parse
from .rewrite import simplify
from .walk import children, statements, with_children

__all__ = ["Parts", "Writer", "function_kernel", "spliced", "taken_names"]

DType: TypeAlias = np.dtype[Any]
Parts: TypeAlias = tuple[nodes.Scalar, ...]
Function: TypeAlias = Callable[..., Any]


@cache
def function_kernel(function: Function, dtypes: tuple[DType, ...]) -> nodes.Kernel:
    """A function in the kernel language for these dtypes, without what it does in
    vain."""
    return round_early(simplify(parse(function, dtypes)))


def taken_names(kernel: nodes.Kernel) -> set[str]:
    """Every name that a kernel uses."""
    found = {parameter.name for parameter in kernel.parameters}
    for node in statements(kernel.body):
        if isinstance(node, (nodes.Let, nodes.For, nodes.Shared)):
            found.add(node.name)
        elif isinstance(node, nodes.Atomic):
            found.add(node.result)
    return found


class Writer:
    """A list of statements that grows.

    Parameters
    ----------
    taken : set of str
        Names that are used already.
    """

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.counts: dict[str, int] = {}
        self.calls = -1
        self.statements: list[nodes.Statement] = []

    def fresh(self, name: str) -> str:
        """A name that is not used yet, like ``name``."""
        found = name
        while found in self.taken:
            count = self.counts.get(name, 0) + 1
            self.counts[name] = count
            found = f"{name}_{count}"
        self.taken.add(found)
        return found

    def bind(self, name: str, value: nodes.Scalar) -> nodes.Scalar:
        """Give a value a name, unless it is one or is a constant."""
        if type(value) is nodes.Name or type(value) is nodes.Constant:
            return value
        local = self.fresh(name)
        self.statements.append(nodes.Let(local, value))
        return nodes.Name(local, value.dtype)

    def call(self, function: Function, arguments: Sequence[nodes.Scalar]) -> Parts:
        """The results of a function in the kernel language; its statements are
        written."""
        kernel = function_kernel(function, tuple([item.dtype for item in arguments]))
        given = [
            self.bind(parameter.name, argument)
            for parameter, argument in zip(kernel.parameters, arguments, strict=True)
        ]
        if self.calls < 0:
            # Names of functions' variables begin with the number of the call.
            calls = [re.match(r"f(\d+)_", name) for name in self.taken]
            self.calls = max([int(match[1]) for match in calls if match], default=-1)
            self.calls += 1
        body, results = spliced(kernel, given, f"f{self.calls}_")
        self.calls += 1
        self.statements.extend(body)
        return results


def spliced(
    kernel: nodes.Kernel, given: Sequence[nodes.Scalar], prefix: str
) -> tuple[nodes.Body, tuple[nodes.Scalar, ...]]:
    """Statements and results of a scalar function, its parameters replaced by ``given``
    and its variables renamed."""
    known = {
        parameter.name: operand
        for parameter, operand in zip(kernel.parameters, given, strict=True)
    }

    renamed = _Renaming(prefix, known)
    results = tuple([renamed.scalar(result) for result in kernel.results])
    return renamed.body(kernel.body), results


class _Renaming:
    """Gives the variables of a body other names; ``known`` has what stands for
    names."""

    def __init__(self, prefix: str, known: dict[str, nodes.Scalar]) -> None:
        self.prefix = prefix
        self.known = known

    def name(self, node: nodes.Name) -> nodes.Scalar:
        found = self.known.get(node.name)
        if found is None:
            found = nodes.Name(self.prefix + node.name, node.dtype)
            self.known[node.name] = found
        return found

    def scalar(self, node: nodes.Scalar) -> nodes.Scalar:
        if type(node) is nodes.Name:
            return self.name(node)
        if type(node) is nodes.Constant:
            return node
        known = self.known
        operands: list[nodes.Scalar] = []
        for item in children(node):
            if type(item) is nodes.Name:
                operands.append(known.get(item.name) or self.name(item))
            else:
                operands.append(self.scalar(item))
        if type(node) is nodes.Apply:
            return nodes.Apply(node.primitive, tuple(operands), node.dtype)
        return with_children(node, operands)

    def body(self, body: nodes.Body) -> nodes.Body:
        return tuple([self.statement(node) for node in body])

    def statement(self, node: nodes.Statement) -> nodes.Statement:
        if type(node) is nodes.Let:
            return nodes.Let(self.prefix + node.name, self.scalar(node.value))
        if type(node) is nodes.Assign:
            return nodes.Assign(self.prefix + node.name, self.scalar(node.value))
        if type(node) is nodes.If:
            return nodes.If(
                self.scalar(node.condition),
                self.body(node.body),
                self.body(node.otherwise),
            )
        if type(node) is nodes.While:
            return nodes.While(self.scalar(node.condition), self.body(node.body))
        assert type(node) is nodes.For, f"{node} in a scalar function"
        return nodes.For(
            self.prefix + node.name,
            self.scalar(node.start),
            self.scalar(node.stop),
            self.scalar(node.step),
            self.body(node.body),
        )
