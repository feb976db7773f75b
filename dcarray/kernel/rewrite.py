"""Passes: functions `Kernel` → `Kernel` that keep what a kernel computes, bit for bit.

`simplify` runs the usual ones and verifies the result.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from . import nodes
from .folding import fold_constants
from .language import LANES
from .sharing import share_subexpressions
from .verify import between, verify
from .walk import (
    assigned,
    expressions,
    names,
    parts,
    rebuild,
    rebuild_statement,
)

__all__ = [
    "eliminate_dead",
    "fold_constants",
    "inline_single_uses",
    "rebuild",
    "share_subexpressions",
    "simplify",
]


def simplify(kernel: nodes.Kernel) -> nodes.Kernel:
    """Constants folded, every value computed once, nothing computed in vain; then
    verified.

    A kernel that this gave is given back as it is.
    """
    if "simple" in kernel.memo:
        return kernel
    kernel = between(kernel)
    kernel = verify(eliminate_dead(between(share_subexpressions(kernel))))
    kernel.memo["simple"] = True
    return kernel


def eliminate_dead(kernel: nodes.Kernel) -> nodes.Kernel:
    """Remove variables that no result or store depends on, and branches and loops
    that are left without effect."""
    live = set(names(*kernel.results))
    while True:
        passed: set[str] = set()
        _enliven(kernel.body, live, passed)
        # A loop, or an assignment after the last use, makes of a name that was passed
        # one that is read.
        if passed.isdisjoint(live):
            return replace(kernel, body=_living(kernel.body, live))


def _enliven(body: nodes.Body, live: set[str], passed: set[str]) -> bool:
    """Add the names that living statements read; whether there is such a statement.

    What a statement reads comes before it.  Names of variables that nothing has read
    so far are added to ``passed``.
    """
    effect = False
    for node in reversed(body):
        if type(node) is nodes.Let or type(node) is nodes.Assign:
            if node.name in live:
                effect = True
                _read(node.value, live)
            else:
                passed.add(node.name)
            continue
        if type(node) is nodes.For or type(node) is nodes.While:
            if not _enliven(node.body, live, passed):
                continue
        elif type(node) is nodes.If:
            inner = _enliven(node.body, live, passed)
            if not _enliven(node.otherwise, live, passed) and not inner:
                continue
        effect = True
        for item in expressions(node):
            _read(item, live)
    return effect


def _read(node: nodes.Scalar, live: set[str]) -> None:
    """Add the names in an expression."""
    if type(node) is nodes.Apply:
        for item in node.arguments:
            if type(item) is nodes.Name:
                live.add(item.name)
            elif type(item) is not nodes.Constant:
                live.update(names(item))
    else:
        live.update(names(node))


def _living(body: nodes.Body, live: set[str]) -> nodes.Body:
    kept: list[nodes.Statement] = []
    for node in body:
        if type(node) is nodes.Let or type(node) is nodes.Assign:
            if node.name not in live:
                continue
        elif type(node) is nodes.For:
            inner = _living(node.body, live)
            if not inner:
                continue
            node = nodes.For(node.name, node.start, node.stop, node.step, inner)
        elif type(node) is nodes.While:
            inner = _living(node.body, live)
            if not inner:
                continue
            node = nodes.While(node.condition, inner)
        elif type(node) is nodes.If:
            inner, otherwise = _living(node.body, live), _living(node.otherwise, live)
            if not inner and not otherwise:
                continue
            node = nodes.If(node.condition, inner, otherwise)
        kept.append(node)
    return tuple(kept)


def inline_single_uses(kernel: nodes.Kernel) -> nodes.Kernel:
    """Put a value that is read once where it is read: the opposite of sharing.

    Renderers that make text use it, for expressions that can be read.  Values move
    neither into loops nor past an assignment to what they are made of.
    """
    # What statements read that have no others inside; None for those that have.
    reads: list[list[str] | None] = []
    compound: list[nodes.Statement] = []
    count = Counter(names(*kernel.results))
    for node in kernel.body:
        if isinstance(node, (nodes.For, nodes.While, nodes.If)):
            compound.append(node)
            reads.append(None)
        else:
            found = names(*expressions(node))
            count.update(found)
            reads.append(found)
    once = {node.name for node in kernel.body if type(node) is nodes.Let}
    once = {name for name in once if count[name] == 1}
    _take_read(tuple(compound), once)
    if not once:
        return kernel
    variables = assigned(kernel.body)
    inlined: dict[str, nodes.Scalar] = {}

    def moved(node: nodes.Scalar) -> nodes.Scalar:
        return inlined.get(node.name, node) if type(node) is nodes.Name else node

    body: list[nodes.Statement] = []
    for node, read in zip(kernel.body, reads, strict=True):
        if read is None:
            body.append(node)
            continue
        stays = type(node) is not nodes.Let or node.name not in once
        if type(node) is nodes.Let and not stays:
            stays = any(map(_stays_in_turn, parts(node.value)))
            stays |= not variables.isdisjoint((node.name, *read))
        if not inlined.keys().isdisjoint(read):
            node = rebuild_statement(node, moved)
        if type(node) is nodes.Let and not stays:
            inlined[node.name] = node.value
        else:
            body.append(node)
    results = tuple([rebuild(item, moved) for item in kernel.results])
    return replace(kernel, body=tuple(body), results=results)


def _take_read(body: nodes.Body, given: set[str]) -> None:
    """Take away the names that statements read, inner ones included."""
    for node in body:
        if not given:
            return
        read: set[str] = set()
        for item in expressions(node):
            _read(item, read)
        given -= read
        if type(node) is nodes.For or type(node) is nodes.While:
            _take_read(node.body, given)
        elif type(node) is nodes.If:
            _take_read(node.body, given)
            _take_read(node.otherwise, given)


def _stays_in_turn(node: nodes.Scalar) -> bool:
    """Whether a part of an expression is done where it stands: it reads an array, or
    all lanes of a subgroup do it together."""
    if type(node) is nodes.Apply:
        return node.primitive in LANES
    return type(node) is nodes.Load
