"""``break``, ``continue`` and ``return`` in loops, which the IR does not have, as
variables and branches.

Syntax in, syntax out: a loop runs while a variable ``go`` is true, and what follows a
branch that may jump is inside of ``if on``.  A ``return`` says what it gives, and that
it is ``done``, and leaves the loops around it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

__all__ = [
    "Loop",
    "gives",
    "has_jump",
    "has_return",
    "read",
    "returns_value",
    "without_else",
    "without_jumps",
    "without_returns",
    "write",
]

Loop = ast.While | ast.For


def has_jump(
    node: ast.AST, kinds: type | tuple[type, ...] = (ast.Break, ast.Continue)
) -> bool:
    """Whether a loop, or a statement in it, has a jump that is its own."""
    stack: list[ast.AST] = list(ast.iter_child_nodes(node))
    while stack:
        item = stack.pop()
        if isinstance(item, kinds):
            return True
        if not isinstance(item, (ast.While, ast.For)):
            stack.extend(ast.iter_child_nodes(item))
    return False


def has_return(node: ast.AST) -> bool:
    """Whether there is a ``return`` inside."""
    return any(isinstance(item, ast.Return) for item in ast.walk(node))


def returns_value(node: ast.AST) -> bool:
    """Whether a ``return`` inside gives something."""
    return any(gives(item) for item in ast.walk(node))


def gives(node: ast.AST) -> bool:
    """Whether it is a ``return`` of something."""
    return isinstance(node, ast.Return) and node.value is not None


def _is_endless(node: Loop) -> bool:
    """Whether only a ``return`` leaves a loop."""
    if not isinstance(node, ast.While) or not isinstance(node.test, ast.Constant):
        return False
    return bool(node.test.value) and not has_jump(node, ast.Break)


def without_returns(
    node: Loop, prefix: str, results: Sequence[str], several: bool = False
) -> list[ast.stmt]:
    """The same loop with ``break`` for ``return``; the last statement returns.

    Parameters
    ----------
    node : While or For
    prefix : str
        What no name of the function begins with.
    results : sequence of str
        Names for what is returned.
    several : bool
        Whether that is a tuple.
    """
    done = f"{prefix}_done"

    def target(place: ast.AST) -> ast.expr:
        names: list[ast.expr] = [write(place, name) for name in results]
        return _at(place, ast.Tuple(names, ast.Store())) if several else names[0]

    def given(place: ast.AST) -> ast.expr:
        names = [read(place, name) for name in results]
        return _at(place, ast.Tuple(names, ast.Load())) if several else names[0]

    def block(body: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for item in body:
            if isinstance(item, ast.Return):
                if item.value is not None:
                    kept = ast.Assign([target(item.value)], item.value)
                    found.append(ast.copy_location(kept, item))
                found.append(_set(item, done, True))
                found.append(ast.copy_location(ast.Break(), item))
                return found
            if isinstance(item, ast.If) and has_return(item):
                branch = ast.If(item.test, block(item.body), block(item.orelse))
                found.append(ast.copy_location(branch, item))
            elif isinstance(item, (ast.While, ast.For)) and has_return(item):
                found.append(loop(item))
                leave = ast.copy_location(ast.Break(), item)
                found.append(_if(item, read(item, done), [leave]))
            else:
                found.append(item)
        return found

    def loop(item: Loop) -> Loop:
        return _alike(item, block(item.body), block(item.orelse))

    value = given(node) if returns_value(node) else None
    end: ast.stmt = ast.copy_location(ast.Return(value), node)
    if not _is_endless(node):
        end = _if(node, read(node, done), [end])
    return [_set(node, done, False), loop(node), end]


def without_else(node: Loop, prefix: str) -> list[ast.stmt]:
    """The same loop without ``else``: what follows where no ``break`` has left it."""
    if not has_jump(node, ast.Break):
        return [_alike(node, node.body), *node.orelse]
    left = f"{prefix}_left"

    def block(body: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for item in body:
            if isinstance(item, ast.Break):
                found.append(_set(item, left, True))
            elif isinstance(item, ast.If):
                branch = ast.If(item.test, block(item.body), block(item.orelse))
                item = ast.copy_location(branch, item)
            found.append(item)
        return found

    unless = _at(node, ast.UnaryOp(ast.Not(), read(node, left)))
    after = _if(node, unless, node.orelse)
    return [_set(node, left, False), _alike(node, block(node.body)), after]


def _alike(
    node: Loop, body: list[ast.stmt], orelse: list[ast.stmt] | None = None
) -> Loop:
    """A loop with another body."""
    if isinstance(node, ast.While):
        return ast.copy_location(ast.While(node.test, body, orelse or []), node)
    return ast.copy_location(ast.For(node.target, node.iter, body, orelse or []), node)


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
        test = ast.BoolOp(ast.And(), [read(node, go), node.test])
        loop: ast.stmt = ast.While(ast.copy_location(test, node.test), inner, [])
        return [first, ast.copy_location(loop, node)]
    bounds = _bounds(node.iter) if counts else None
    if bounds is None:
        # The other rounds do nothing.
        body: list[ast.stmt] = [_if(node, read(node, go), inner)]
        loop = ast.For(node.target, node.iter, body, [])
        return [first, ast.copy_location(loop, node)]
    start, stop, step = bounds
    end = f"{counter}_end"
    ahead = ast.Compare(
        read(node, counter),
        [ast.Lt() if step > 0 else ast.Gt()],
        [read(node, end)],
    )
    test = ast.BoolOp(ast.And(), [read(node, go), _at(node, ahead)])
    target = ast.Assign([node.target], read(node, counter))
    add = ast.AugAssign(write(node, counter), ast.Add(), _at(node, ast.Constant(step)))
    inner = [ast.copy_location(target, node), *inner, ast.copy_location(add, node)]
    loop = ast.While(_at(node, test), inner, [])
    begin = ast.Assign([write(node, counter)], start)
    finish = ast.Assign([write(node, end)], stop)
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
            found.append(_if(node, read(node, on), _block(rest, go, on)))
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


def read(place: ast.AST, name: str) -> ast.expr:
    return _at(place, ast.Name(name, ast.Load()))


def write(place: ast.AST, name: str) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Store()), place)


def _set(place: ast.AST, name: str, value: bool) -> ast.stmt:
    found = ast.Assign([write(place, name)], _at(place, ast.Constant(value)))
    return ast.copy_location(found, place)


def _if(place: ast.AST, test: ast.expr, body: list[ast.stmt]) -> ast.stmt:
    return ast.copy_location(ast.If(test, body, []), place)
