"""Branches of the kernel language.

Where both sides only compute values, they are computed both and `Select` picks; where
they do more, there is an `If`, and the variables that they leave are assigned to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from . import infer, nodes
from .calls import Calls
from .elements import Frame
from .expressions import Expressions
from .walk import parts

__all__ = ["Branches", "Collect", "Returned"]

DType: TypeAlias = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Returned:
    """A ``return`` was met; ``value`` is a scalar, a tuple of them or None."""

    value: Any


class Collect:
    """Statements that are read meanwhile go into a list of their own."""

    def __init__(self, parser: Expressions) -> None:
        self.parser = parser
        self.outer = parser.statements
        self.body: list[nodes.Statement] = []

    def __enter__(self) -> list[nodes.Statement]:
        self.parser.statements = self.body
        return self.body

    def __exit__(self, *_: object) -> None:
        self.parser.statements = self.outer


class Branches(Calls):
    """Reads conditional expressions and ``if`` statements."""

    def block(self, frame: Frame, statements: Sequence[ast.stmt]) -> Returned | None:
        """Read statements; given by `parse.Parser`."""
        raise AssertionError("given by parse.Parser")

    def choose(
        self, frame: Frame, node: ast.AST, condition: nodes.Scalar, sides: Any
    ) -> Any:
        results = []
        bodies = []
        for side in sides:
            with Collect(self) as body:
                results.append(self.expression(frame, side))
            bodies.append(body)
        return self.merge(frame, node, condition, bodies, results)

    def unless_decided(
        self,
        frame: Frame,
        node: ast.AST,
        left: nodes.Scalar,
        rest: Callable[[], Any],
        every: bool,
    ) -> Any:
        with Collect(self) as body:
            right = rest()
        pure = all(isinstance(item, nodes.Let) for item in body)
        if pure and not _loads(body) and not _loads(right):
            self.statements.extend(body)
            if isinstance(right, bool):
                return left if right is every else right
            return infer.apply("bitwise_and" if every else "bitwise_or", left, right)
        # What reads an array must not be computed in vain: it may be out of range.
        left = self.bind("condition", left)
        bodies = [body, []] if every else [[], body]
        values = (right, False) if every else (True, right)
        return self.merge(frame, node, left, bodies, values)

    def branch(
        self, frame: Frame, node: ast.If, rest: Sequence[ast.stmt]
    ) -> tuple[bool, Returned | None]:
        """Read an ``if``.

        Returns whether the rest of the block has been read too, and its result.
        """
        condition = infer.truth(self.value(frame, node.test))
        sides = (node.body, node.orelse)
        if isinstance(condition, bool):
            chosen = node.body if condition else node.orelse
            return True, self.block(frame, [*chosen, *rest])
        condition = self.bind("condition", condition)
        # After a return in one branch, the rest of the block belongs to the other.
        leaves = any(isinstance(item, ast.Return) for item in ast.walk(node))
        frames = []
        bodies = []
        results = []
        for side in sides:
            inner = frame.branch()
            with Collect(self) as body:
                results.append(self.block(inner, [*side, *(rest if leaves else ())]))
            frames.append(inner)
            bodies.append(body)
        if leaves:
            first, second = results
            if not any(found and found.value is not None for found in results):
                then, otherwise = (tuple(body) for body in bodies)
                self.statements.append(nodes.If(condition, then, otherwise))
                return True, Returned(None)
            if first is None or second is None:
                frame.source.fail(node, "one way through ends without a return")
            values = [first.value, second.value]
            return True, Returned(self.merge(frame, node, condition, bodies, values))
        # Names that both branches leave with a value, and that differ.
        shared = [name for name in frames[0].names if name in frames[1].names]
        changed = [
            name
            for name in shared
            if frames[0].names[name] is not frames[1].names[name]
            or frame.names.get(name) is not frames[0].names[name]
        ]
        values = [tuple(inner.names[name] for name in changed) for inner in frames]
        merged = self.merge(frame, node, condition, bodies, values, changed)
        for name in [key for key in frame.names if key not in shared]:
            del frame.names[name]
        frame.names.update(zip(changed, merged))
        return False, None

    def merge(
        self,
        frame: Frame,
        node: ast.AST,
        condition: nodes.Scalar,
        bodies: Sequence[list[nodes.Statement]],
        values: Sequence[Any],
        labels: Sequence[str] = (),
    ) -> Any:
        """What two branches leave behind: a value, or a tuple of them."""
        first, second = values
        if not isinstance(first, tuple) and not isinstance(second, tuple):
            wrapped = [(first,), (second,)]
            return self.merge(frame, node, condition, bodies, wrapped, labels)[0]
        if not isinstance(first, tuple) or not isinstance(second, tuple):
            frame.source.fail(node, "the branches give different numbers of values")
        if len(first) != len(second):
            frame.source.fail(node, "the branches give different numbers of values")
        names = [*labels, *(["chosen"] * (len(first) - len(labels)))]
        pure = all(isinstance(item, nodes.Let) for body in bodies for item in body)
        pure = pure and not any(_loads(item) for item in (*bodies, first, second))
        if pure:
            for body in bodies:
                self.statements.extend(body)
            return tuple(
                self._select(frame, node, condition, x, y, name)
                for x, y, name in zip(first, second, names)
            )
        merged = []
        outcome = [list(body) for body in bodies]
        for x, y, name in zip(first, second, names):
            if x is y:
                merged.append(x)
                continue
            dtype = self._common(frame, node, x, y)
            local = self.fresh(name)
            zero = infer.convert(False, dtype)
            self.statements.append(nodes.Let(local, zero))
            for body, item in zip(outcome, (x, y)):
                body.append(nodes.Assign(local, infer.convert(item, dtype)))
            merged.append(nodes.Name(local, dtype))
        then, otherwise = (tuple(body) for body in outcome)
        self.statements.append(nodes.If(condition, then, otherwise))
        return tuple(merged)

    def _select(
        self,
        frame: Frame,
        node: ast.AST,
        condition: nodes.Scalar,
        x: Any,
        y: Any,
        name: str,
    ) -> Any:
        if x is y:
            return x
        self._common(frame, node, x, y)
        return self.bind(name, self.select(condition, x, y))

    def _common(self, frame: Frame, node: ast.AST, x: Any, y: Any) -> DType:
        for item in (x, y):
            if not infer.is_typed(item) and not isinstance(item, (int, float, complex)):
                frame.source.mistype(
                    node, "the branches give something else than numbers"
                )
        return self.promote(x, y)


def _loads(found: object) -> bool:
    """Whether something reads an array, which must not happen out of turn."""
    if type(found) is nodes.Name or type(found) is nodes.Constant:
        return False
    if isinstance(found, (list, tuple)):
        return any(map(_loads, found))
    if type(found) is nodes.Let:
        found = found.value
    if not isinstance(found, infer.TYPED):
        return False
    return any([type(item) is nodes.Load for item in parts(found)])
