"""What keeps a pending value from being computed by a group that is known.

A group is known again by how its arrays lie, where each is seen as it is.  What is seen
otherwise is fused the long way, which takes longer than to store it, if it is small.
"""

from __future__ import annotations

from .graph import State, Value

__all__ = ["obstacles"]

SMALL = 1 << 20
"""Bytes of what is stored for it."""


def obstacles(root: Value) -> list[Value]:
    """Pending values below another one, on a named device, that are better stored
    first: elements, and small arrays of which something else than all is read."""
    found: list[Value] = []
    if not root.device.is_named or root.expr is None:
        return found
    seen = {id(root)}
    stack = [root.expr]
    while stack:
        expr = stack.pop()
        form = expr.form
        for place in form.arrays:
            read = expr.sources[place]
            inner = read.expr
            if inner is None or id(read) in seen:
                continue
            seen.add(id(read))
            if (
                read.state == State.PENDING
                and (
                    form.inputs[place] is not read.view
                    or read.layout.shape != form.shape
                )
                and read.layout.size * read.dtype.itemsize <= SMALL
            ):
                found.append(read)
            else:
                stack.append(inner)
    return found
