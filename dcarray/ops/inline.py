"""A program as one scalar function: the bodies of its operations, inlined.

Backends that spell whole kernels start from here.  The CPU's plans do not: there, most
operations are NumPy's own loops.
"""

from __future__ import annotations

from functools import cache

from ..kernel import nodes
from ..kernel.rewrite import simplify
from ..kernel.splice import spliced
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
    return simplify(kernel)
