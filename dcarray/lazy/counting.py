"""How large pending expressions are.

Recording adds up what the operands say of themselves, so that what is used twice counts
twice.  Where that comes to more than a bound, all below is counted once.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ..config import Settings, current
from .graph import Expr, Value, lock

__all__ = ["more_than", "within_bounds"]


def within_bounds(value: Value) -> bool:
    """Whether a pending value may stay pending."""
    expr = value.expr
    if expr is None:
        return True
    global _bounds
    settings, bounds = current(), _bounds
    if bounds[0] is not settings:
        bounds = (settings, settings.max_group_nodes, settings.max_pending_bytes)
        _bounds = bounds
    nodes, held = bounds[1], bounds[2]
    if expr.nodes <= nodes and expr.held <= held:
        return True
    with lock:
        _count_again(expr)
    # What is nearly as large now would only be counted again with the next operation.
    return expr.nodes <= nodes - nodes // 8 and expr.held <= held - held // 8


_bounds: tuple[Settings | None, int, int] = (None, 0, 0)
"""Settings that were in force, and theirs; one object: other threads have others."""


def _count_again(root: Expr) -> None:
    """Bring up to date what an expression, and all below it, say of themselves: some of
    it may have run since."""
    done: set[int] = set()
    buffers: dict[int, int] = {}
    stack = [root]
    while stack:
        expr = stack[-1]
        nodes, held, widest, first, waits = 1, 0, 0, expr.serial, False
        for place in expr.form.arrays:
            source = expr.sources[place]
            inner = source.expr
            if inner is None:
                if source.buffer is not None:
                    nbytes = source.buffer.nbytes
                    held += nbytes
                    widest = max(widest, nbytes)
                    buffers[id(source.buffer)] = nbytes
            elif id(inner) in done:
                nodes += inner.nodes
                held += inner.held
                widest = max(widest, inner.widest)
                first = min(first, inner.first)
            else:
                stack.append(inner)
                waits = True
        if waits:
            continue
        stack.pop()
        done.add(id(expr))
        expr.count(nodes, held, widest, first)
    root.nodes, root.held = len(done), sum(buffers.values())


def more_than(room: int, expr: Expr, known: Container[Any]) -> bool:
    """Whether an expression has more operations than that, without those whose results
    are known, by identity and layout."""
    if expr.nodes <= room:
        return False
    seen = {id(expr)}
    stack = [expr]
    while stack and len(seen) <= room:
        expr = stack.pop()
        for place in expr.form.arrays:
            source = expr.sources[place]
            inner = source.expr
            if (
                inner is not None
                and id(inner) not in seen
                and (id(source), source.layout) not in known
            ):
                seen.add(id(inner))
                stack.append(inner)
    return len(seen) > room
