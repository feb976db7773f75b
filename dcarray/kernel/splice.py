"""Writing IR: names that are not taken yet, values that get a name, and functions of
the kernel language put in where they are called.

Functions are parsed and simplified once for their dtypes; afterwards a call costs no
more than the renaming of their variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .parse import parse
from .rewrite import simplify
from .verify import verify
from .walk import rebuild, statements

__all__ = ["Writer", "function_kernel", "taken_names"]

DType: TypeAlias = np.dtype[Any]
Parts: TypeAlias = tuple[nodes.Scalar, ...]
Function: TypeAlias = Callable[..., Any]


@cache
def function_kernel(function: Function, dtypes: tuple[DType, ...]) -> nodes.Kernel:
    """A function in the kernel language for these dtypes, without what it does in
    vain."""
    return simplify(verify(parse(function, dtypes)))


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
        if isinstance(value, (nodes.Name, nodes.Constant)):
            return value
        local = self.fresh(name)
        self.statements.append(nodes.Let(local, value))
        return nodes.Name(local, value.dtype)

    def call(self, function: Function, arguments: Sequence[nodes.Scalar]) -> Parts:
        """The results of a function in the kernel language; its statements are
        written."""
        kernel = function_kernel(function, tuple([item.dtype for item in arguments]))
        known: dict[str, nodes.Scalar] = {}
        for parameter, argument in zip(kernel.parameters, arguments, strict=True):
            known[parameter.name] = self.bind(parameter.name, argument)
        self.statements.extend(self._renamed(kernel.body, known))
        return tuple([rebuild(item, _renaming(known)) for item in kernel.results])

    def _renamed(
        self, body: nodes.Body, known: dict[str, nodes.Scalar]
    ) -> list[nodes.Statement]:
        """The statements of a scalar function with fresh names for its variables."""
        change = _renaming(known)
        out: list[nodes.Statement] = []
        for node in body:
            if isinstance(node, nodes.Let):
                value = rebuild(node.value, change)
                name = self.fresh(node.name)
                known[node.name] = nodes.Name(name, value.dtype)
                out.append(nodes.Let(name, value))
            elif isinstance(node, nodes.Assign):
                variable = known[node.name]
                assert isinstance(variable, nodes.Name)
                out.append(nodes.Assign(variable.name, rebuild(node.value, change)))
            elif isinstance(node, nodes.If):
                condition = rebuild(node.condition, change)
                then = tuple(self._renamed(node.body, known))
                otherwise = tuple(self._renamed(node.otherwise, known))
                out.append(nodes.If(condition, then, otherwise))
            elif isinstance(node, nodes.While):
                condition = rebuild(node.condition, change)
                inner = tuple(self._renamed(node.body, known))
                out.append(nodes.While(condition, inner))
            else:
                assert isinstance(node, nodes.For), f"{node} in a scalar function"
                name = self.fresh(node.name)
                bounds = [
                    rebuild(item, change) for item in (node.start, node.stop, node.step)
                ]
                known[node.name] = nodes.Name(name, bounds[0].dtype)
                inner = tuple(self._renamed(node.body, known))
                out.append(
                    replace(
                        node,
                        name=name,
                        start=bounds[0],
                        stop=bounds[1],
                        step=bounds[2],
                        body=inner,
                    )
                )
        return out


def _renaming(
    known: dict[str, nodes.Scalar],
) -> Callable[[nodes.Scalar], nodes.Scalar]:
    def change(node: nodes.Scalar) -> nodes.Scalar:
        return known[node.name] if isinstance(node, nodes.Name) else node

    return change
