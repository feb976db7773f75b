"""Where an expression that has grown to its bound is cut in two.

A loop records the same operations again and again.  If each group begins with the same
operation of the loop's body, all of them are one program, which is built once, and what
one round hands on to the next is all that is stored in between.
"""

from __future__ import annotations

from .counting import within_bounds
from .execute import evaluate
from .graph import Expr, Form, Value, lock

__all__ = ["keep_within_bounds"]


def keep_within_bounds(value: Value) -> None:
    """Run a pending value, or most of what it is made of, if its expression has grown
    to its bound."""
    if within_bounds(value):
        return
    with lock:
        first = _before_last_round(value)
    if first:
        evaluate(first)
        if within_bounds(value):
            return
    evaluate((value,))


def _before_last_round(value: Value) -> list[Value]:
    """The pending operands of the operation where the last round begins; none if it is
    not known where that is, or in the older half of the expression."""
    exprs = _exprs_below(value)
    rounds: dict[Form, list[Expr]] = {}
    for expr in exprs:
        rounds.setdefault(expr.form, []).append(expr)
    for expr in exprs:
        last = rounds[expr.form][-1]
        if last is not expr:
            if 2 * exprs.index(last) < len(exprs):
                return []
            return [
                last.sources[place]
                for place in last.form.arrays
                if last.sources[place].expr is not None
            ]
    return []


def _exprs_below(value: Value) -> list[Expr]:
    """All pending operations of an expression, as they were recorded."""
    assert value.expr is not None
    found = {value.expr.serial: value.expr}
    stack = [value.expr]
    while stack:
        expr = stack.pop()
        for place in expr.form.arrays:
            inner = expr.sources[place].expr
            if inner is not None and inner.serial not in found:
                found[inner.serial] = inner
                stack.append(inner)
    return [found[serial] for serial in sorted(found)]
