"""The shortest way to a group: one that ends as another one did before.

A loop evaluates the same expression time and again.  What the first of them came to is
kept with its last operation as a `Pattern`; the next one need only be compared with it,
operand by operand, and no key is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .. import native
from ..config import Settings, current
from .found import Found, found_of
from .graph import Form, State, Value

if TYPE_CHECKING:
    from .plans import Plan

__all__ = ["NODES", "OTHERS", "Pattern", "matched", "remember"]

MOST = 4
"""Patterns that end in one operation on operands that lie so."""

NODES, OTHERS = 64, 32
"""How large a group may be: operations; leaves, and numbers."""

_LEAF, _NUMBER = NODES, NODES + OTHERS

_PENDING = State.PENDING


class Pattern:
    """A group of operations, but for its operands.

    Attributes
    ----------
    head : object
        What `known.find` was asked for besides the value.
    settings : Settings
        Those in force.
    plan : Plan
    forms : tuple of Form
        The operations, the last one at the end.
    parents, places : bytes
        Where each of the others is an operand: of which operation, and which one.
    counts : bytes
        How often each of them is one.
    codes : bytes
        What the operands of all operations are: the number of an operation, of an array
        behind `_LEAF`, or of a number behind `_NUMBER`.
    leaves, numbers : bytes
        Where each array and number is met first: the operation, the operand.
    apart : tuple of bytes
        Which operations, arrays and numbers must not be the same: one after the other.
    """

    __slots__ = (
        "apart",
        "codes",
        "counts",
        "forms",
        "head",
        "leaves",
        "numbers",
        "parents",
        "places",
        "plan",
        "settings",
    )

    def __init__(
        self, head: Any, settings: Settings, plan: Plan, values: Sequence[Value]
    ) -> None:
        self.head = head
        self.settings = settings
        self.plan = plan
        exprs: list[Any] = [value.expr for value in values]
        slots = {id(value): k for k, value in enumerate(values)}
        self.forms = tuple([expr.form for expr in exprs])
        parents, places = bytearray(len(values)), bytearray(len(values))
        counts = bytearray(len(values))
        codes = bytearray()
        leaves: dict[Any, tuple[int, int]] = {}
        numbers: dict[Any, tuple[int, int]] = {}
        for k, expr in enumerate(exprs):
            pairs = zip(expr.sources, expr.form.inputs, strict=True)
            for place, (source, seen) in enumerate(pairs):
                if seen is None:
                    numbers.setdefault(id(source), (k, place))
                    codes.append(_NUMBER + list(numbers).index(id(source)))
                elif id(source) in slots:
                    slot = slots[id(source)]
                    parents[slot], places[slot] = k, place
                    counts[slot] += 1
                    codes.append(slot)
                else:
                    leaves.setdefault((id(source), seen), (k, place))
                    codes.append(_LEAF + list(leaves).index((id(source), seen)))
        self.parents, self.places = bytes(parents), bytes(places)
        self.counts, self.codes = bytes(counts), bytes(codes)
        self.leaves = bytes([x for pair in leaves.values() for x in pair])
        self.numbers = bytes([x for pair in numbers.values() for x in pair])
        self.apart = (
            _alike(self.forms),
            _alike([seen for _, seen in leaves]),
            _alike([None] * len(numbers)),
        )


def _alike(kinds: Sequence[Any]) -> bytes:
    """Pairs of places that have the same kind."""
    pairs = combinations(range(len(kinds)), 2)
    return bytes([x for i, j in pairs if kinds[i] is kinds[j] for x in (i, j)])


def remember(
    head: Any,
    plan: Plan,
    leaves: Sequence[Value],
    scalars: Sequence[Any],
    values: Sequence[Value],
) -> None:
    """Keep a group of which nothing but the last value is stored, if that is."""
    if len(values) > NODES or max(len(leaves), len(scalars)) > OTHERS:
        return
    pattern = plan.pattern
    if pattern is None:
        pattern = plan.pattern = Pattern(head, current(), plan, values)
    pattern.settings = current()
    form: Form = pattern.forms[-1]
    others = [other for other in form.patterns or () if other is not pattern]
    form.patterns = [pattern, *others[: MOST - 1]]


def matched(form: Form, root: Value, head: Any, is_stored: bool) -> Found | None:
    """The group that a value ends, if it was met before; ``form`` is that of its
    operation.  The caller holds the lock.

    ``is_stored`` says that the value itself gets memory.
    """
    settings = current()
    for pattern in form.patterns or ():
        if pattern.settings is settings and (
            pattern.head is head or (head is not None and pattern.head == head)
        ):
            found = _compared(pattern, root, is_stored)
            if found is not None:
                return found
    return None


def _compared(pattern: Pattern, root: Value, is_stored: bool) -> Found | None:
    forms, codes, counts = pattern.forms, pattern.codes, pattern.counts
    parents, places = pattern.parents, pattern.places
    count = len(forms)
    values: list[Any] = [None] * count
    value = root
    k = count - 1
    while True:
        expr = value.expr
        if expr is None or expr.form is not forms[k]:
            return None
        if k < count - 1 or not is_stored:
            # What is still wanted when the group has run is stored, too.
            binding, readers = value.binding, value.readers
            if (
                value.state is not _PENDING
                or (binding is not None and native.referent(binding) is not None)
                or (readers is not None and len(readers) > counts[k])
            ):
                return None
        values[k] = value
        if k == 0:
            break
        k -= 1
        parent = values[parents[k]]
        value = _operand(parent, places[k])
    firsts = pattern.leaves
    leaves: list[Any] = []
    for at in range(0, len(firsts), 2):
        value = _operand(values[firsts[at]], firsts[at + 1])
        if value.expr is not None:
            return None
        leaves.append(value)
    firsts = pattern.numbers
    scalars: list[Any] = []
    for at in range(0, len(firsts), 2):
        scalars.append(_operand(values[firsts[at]], firsts[at + 1]))
    at = 0
    for value in values:
        for source in value.expr.sources:
            code = codes[at]
            at += 1
            if code < _LEAF:
                wanted = values[code]
            elif code < _NUMBER:
                wanted = leaves[code - _LEAF]
            else:
                wanted = scalars[code - _NUMBER]
            if source is not wanted:
                return None
    apart = pattern.apart
    if (
        not _differ(values, apart[0])
        or not _differ(leaves, apart[1])
        or not _differ(scalars, apart[2])
    ):
        return None
    stored = [root] if is_stored else []
    return found_of(pattern.plan, leaves, scalars, stored, values)


def _operand(value: Value, place: int) -> Any:
    expr: Any = value.expr
    return expr.sources[place]


def _differ(things: list[Any], pairs: bytes) -> bool:
    for at in range(0, len(pairs), 2):
        if things[pairs[at]] is things[pairs[at + 1]]:
            return False
    return True
