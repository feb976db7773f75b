"""A program as one scalar function: the bodies of its operations, inlined.

Backends that spell whole kernels start from here.  The CPU's plans do not: there, most
operations are NumPy's own loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from ..kernel import nodes
from ..kernel.rewrite import rebuild, simplify
from ..kernel.verify import verify
from .bodies import body_kernel
from .program import Program

__all__ = ["inlined", "spliced"]


@cache
def inlined(program: Program) -> nodes.Kernel:
    """One work item's share of a program.

    Returns
    -------
    Kernel
        A scalar function.  Its parameters are the leaves and then the scalars; its
        results are the outputs and then, if there is a reduction, what is reduced.
    """
    names = [f"leaf{place}" for place in range(len(program.leaves))]
    names += [f"scalar{place}" for place in range(len(program.scalars))]
    dtypes = (*program.leaves, *program.scalars)
    parameters = tuple(map(nodes.Value, names, dtypes))
    slots: list[nodes.Scalar] = list(map(nodes.Name, names, dtypes))
    body: list[nodes.Statement] = []
    for place, node in enumerate(program.nodes):
        given = [slots[slot] for slot in node.inputs]
        kernel = body_kernel(node.op, tuple([x.dtype for x in given]), node.dtypes)
        statements, results = spliced(kernel, given, f"n{place}_")
        body.extend(statements)
        for index, result in enumerate(results):
            name = f"n{place}_result{index}"
            body.append(nodes.Let(name, result))
            slots.append(nodes.Name(name, result.dtype))
    wanted = [slots[slot] for slot in program.outputs]
    if program.reduction is not None:
        wanted.append(slots[program.reduction.slot])
    kernel = nodes.Kernel("fused", parameters, tuple(body), tuple(wanted))
    return simplify(verify(kernel))


def spliced(
    kernel: nodes.Kernel, given: Sequence[nodes.Scalar], prefix: str
) -> tuple[nodes.Body, tuple[nodes.Scalar, ...]]:
    """Statements and results of a scalar function, its parameters replaced by ``given``
    and its variables renamed."""
    known = {
        parameter.name: operand
        for parameter, operand in zip(kernel.parameters, given, strict=True)
    }

    def change(node: nodes.Scalar) -> nodes.Scalar:
        if isinstance(node, nodes.Name):
            return known.get(node.name) or nodes.Name(prefix + node.name, node.dtype)
        return node

    renamed = _Renaming(prefix, change)
    results = tuple([rebuild(result, change) for result in kernel.results])
    return renamed.body(kernel.body), results


class _Renaming:
    """Gives the variables of a body other names."""

    def __init__(
        self, prefix: str, change: Callable[[nodes.Scalar], nodes.Scalar]
    ) -> None:
        self.prefix = prefix
        self.change = change

    def body(self, body: nodes.Body) -> nodes.Body:
        return tuple([self.statement(node) for node in body])

    def statement(self, node: nodes.Statement) -> nodes.Statement:
        change = self.change
        if isinstance(node, (nodes.Let, nodes.Assign)):
            name = self.prefix + node.name
            return replace(node, name=name, value=rebuild(node.value, change))
        if isinstance(node, nodes.If):
            return nodes.If(
                rebuild(node.condition, change),
                self.body(node.body),
                self.body(node.otherwise),
            )
        if isinstance(node, nodes.While):
            return nodes.While(rebuild(node.condition, change), self.body(node.body))
        assert isinstance(node, nodes.For), f"{node} in a scalar function"
        return nodes.For(
            self.prefix + node.name,
            rebuild(node.start, change),
            rebuild(node.stop, change),
            rebuild(node.step, change),
            self.body(node.body),
        )
