"""The short way through `fuse`, for groups in which all arrays are contiguous alike.

Most groups of most programs are: their program is found again by a key that costs
little more than the walk over the expressions.
"""

from __future__ import annotations

from typing import Any

from ..config import current
from ..ops.program import Program
from .fuse import Group, Target, fuse, outlives
from .graph import Expr, Read, State, Value

__all__ = ["fuse_plain"]

_programs: dict[tuple[Any, ...], Program] = {}


def fuse_plain(root: Value) -> Group | None:
    """`fuse` where every array has the one C-contiguous layout of the shape.

    The program is found by a key that is cheap to build: for each operation its row,
    its dtypes and the numbers of its inputs.  None where anything asks for the long
    way.
    """
    expr = root.expr
    if expr is None or not expr.plain:
        return None
    settings = current()
    limit = settings.max_group_nodes
    leaves: list[Read] = []
    scalars: list[Any] = []
    exprs: list[Expr] = []
    values: list[Value] = []
    key: list[Any] = []
    # Leaves and scalars are numbered from 0 with bits to tell them from nodes.
    slots: dict[int, int] = {}
    uses: dict[int, int] = {}
    numbers: dict[int, int] = {}
    stack: list[Expr] = [expr]
    while stack:
        expr = stack[-1]
        inputs = expr.inputs
        depth = len(stack)
        for operand in inputs[::-1]:
            if type(operand) is Read:
                value, layout, _ = operand
                inner = value.expr
                if inner is not None and id(value) not in slots:
                    # Neither running elsewhere, nor seen through another layout.
                    if value.state != _PENDING or layout is not value.layout:
                        return None
                    if not inner.plain:
                        return None
                    stack.append(inner)
        if len(stack) > depth:
            continue
        stack.pop()
        if len(expr.results) != 1:
            return None
        result = expr.results[0]()
        if result is None:
            return None
        if id(result) in slots:
            continue
        key.append(expr.op)
        key.append(expr.signature)
        for operand in inputs:
            if type(operand) is Read:
                source, _, dtype = operand
                name = id(source)
                slot = slots.get(name)
                if slot is None:
                    if dtype is not source.dtype and dtype != source.dtype:
                        name = id(operand)
                    slot = -1 - len(leaves)
                    slots[name] = slot
                    leaves.append(operand)
                    key.append(dtype)
                uses[name] = uses.get(name, 0) + 1
                key.append(slot)
            else:
                slot = numbers.get(id(operand))
                if slot is None:
                    slot = numbers[id(operand)] = len(scalars)
                    scalars.append(operand)
                key.append(_SCALAR_MARK)
                key.append(slot)
        slots[id(result)] = len(values)
        values.append(result)
        exprs.append(expr)
        if len(values) > limit:
            return None
    if len(leaves) > settings.max_group_inputs:
        return None
    outputs = [root]
    for value in values:
        if value is root:
            continue
        binding, readers = value.binding, value.readers
        bound = binding is not None and binding() is not None
        more = readers is not None and len(readers) > uses[id(value)]
        if (bound or more) and outlives(value, {id(v) for v in values}):
            outputs.append(value)
            key.append(slots[id(value)])
    found = tuple(key)
    program = _programs.get(found)
    if program is None:
        group = fuse(Target(Read(root, root.layout, root.dtype)))
        # Only where both number alike may the program be found by the short key.
        if (
            not group.blockers
            and [r.value for r in group.leaves] == [r.value for r in leaves]
            and [id(s) for s in group.scalars] == [id(s) for s in scalars]
            and group.exprs == exprs
            and [v for v, _ in group.outputs] == outputs
        ):
            if len(_programs) > 4096:
                _programs.clear()
            _programs[found] = group.program
        return group
    return Group(
        program,
        root.layout.shape,
        leaves,
        scalars,
        [(value, value.layout) for value in outputs],
        exprs,
        values,
        [],
    )


_PENDING = State.PENDING
_SCALAR_MARK = "scalar"
