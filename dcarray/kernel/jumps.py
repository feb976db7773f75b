"""``break`` and ``continue``, which the IR does not have, as variables and branches.

Syntax in, syntax out: a loop runs while a variable ``go`` is true, and what follows a
branch that may jump is inside of ``if on``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

__all__ = ["has_jump", "without_jumps"]

Loop = ast.While | ast.For


def has_jump(node: ast.AST) -> bool:
    """Whether a loop, or a statement in it, has a jump that is its own."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(node))
    while stack:
        item = stack.pop()
        if isinstance(item, (ast.Break, ast.Continue)):
            return True
        if not isinstance(item, (ast.While, ast.For)):
            stack.extend(ast.iter_child_nodes(item))
    return False


def without_jumps(node: Loop, prefix: str, counts: bool) -> list[ast.stmt]:
    """The same loop without jumps.

    Parameters
    ----------
    node : While or For
    prefix : str
        What no name of the function begins with.
    counts : bool
        Whether it is ``for ... in range``.
    """
    go, on, counter = f"{prefix}_go", f"{prefix}_on", f"{prefix}_counter"
    inner = [_set(node, on, True), *_block(node.body, go, on)]
    first = _set(node, go, True)
    if isinstance(node, ast.While):
        test = ast.BoolOp(ast.And(), [_read(node, go), node.test])
        loop: ast.stmt = ast.While(ast.copy_location(test, node.test), inner, [])
        return [first, ast.copy_location(loop, node)]
    bounds = _bounds(node.iter) if counts else None
    if bounds is None:
        # The other rounds do nothing.
        body: list[ast.stmt] = [_if(node, _read(node, go), inner)]
        loop = ast.For(node.target, node.iter, body, [])
        return [first, ast.copy_location(loop, node)]
    start, stop, step = bounds
    end = f"{counter}_end"
    ahead = ast.Compare(
        _read(node, counter),
        [ast.Lt() if step > 0 else ast.Gt()],
        [_read(node, end)],
    )
    test = ast.BoolOp(ast.And(), [_read(node, go), _at(node, ahead)])
    target = ast.Assign([node.target], _read(node, counter))
    add = ast.AugAssign(_write(node, counter), ast.Add(), _at(node, ast.Constant(step)))
    inner = [ast.copy_location(target, node), *inner, ast.copy_location(add, node)]
    loop = ast.While(_at(node, test), inner, [])
    begin = ast.Assign([_write(node, counter)], start)
    finish = ast.Assign([_write(node, end)], stop)
    found: list[ast.stmt] = [begin, finish, first, loop]
    return [ast.copy_location(item, node) for item in found]


def _block(body: Sequence[ast.stmt], go: str, on: str) -> list[ast.stmt]:
    """Statements without jumps; what follows one that may jump is guarded."""
    found: list[ast.stmt] = []
    for position, node in enumerate(body):
        if isinstance(node, ast.Break):
            return [*found, _set(node, go, False), _set(node, on, False)]
        if isinstance(node, ast.Continue):
            return [*found, _set(node, on, False)]
        if not isinstance(node, ast.If) or not has_jump(node):
            found.append(node)
            continue
        then = _block(node.body, go, on)
        otherwise = _block(node.orelse, go, on)
        found.append(ast.copy_location(ast.If(node.test, then, otherwise), node))
        rest = body[position + 1 :]
        if rest:
            found.append(_if(node, _read(node, on), _block(rest, go, on)))
        return found
    return found


def _bounds(node: ast.expr) -> tuple[ast.expr, ast.expr, int] | None:
    """Start, stop and step of ``range(...)``, if the step is written as a number."""
    assert isinstance(node, ast.Call)
    given = node.args
    step = 1
    if len(given) == 3:
        try:
            step = ast.literal_eval(given[2])
        except ValueError:
            return None
        if type(step) is not int or step == 0:
            return None
    if not 1 <= len(given) <= 3:
        return None
    if len(given) == 1:
        return _at(node, ast.Constant(0)), given[0], step
    return given[0], given[1], step


def _at(place: ast.AST, node: ast.expr) -> ast.expr:
    return ast.copy_location(node, place)


def _read(place: ast.AST, name: str) -> ast.expr:
    return _at(place, ast.Name(name, ast.Load()))


def _write(place: ast.AST, name: str) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Store()), place)


def _set(place: ast.AST, name: str, value: bool) -> ast.stmt:
    found = ast.Assign([_write(place, name)], _at(place, ast.Constant(value)))
    return ast.copy_location(found, place)


def _if(place: ast.AST, test: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    return ast.copy_location(ast.If(test, body, []), place)
