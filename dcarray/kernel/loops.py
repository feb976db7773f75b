"""Loops of the kernel language.

What a loop changes becomes a variable that is assigned to.  A loop over known values
is unrolled; one over an array counts its places.  What leaves a loop from its middle is
rewritten by `jumps` first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from ..errors import KernelSyntaxError, KernelTypeError
from . import infer, jumps, nodes
from .branches import Branches, Collect
from .elements import Frame, describe
from .views import Items, View, least, minus, plus, rounds, times

__all__ = ["Loops"]

DType: TypeAlias = np.dtype[Any]

_LONGEST = 1024  # iterations of a loop over known values, which is unrolled
_TRIALS = 4


class Loops(Branches):
    """Reads ``while`` and ``for``."""

    def __init__(self, checks: bool = False) -> None:
        super().__init__(checks)
        self.awaited: dict[str, list[Any]] = {}
        self.promised: dict[str, DType] = {}

    def assign(self, frame: Frame, target: ast.expr, value: Any) -> None:
        """``target = value``; given by `parse.Parser`."""
        raise AssertionError("given by parse.Parser")

    # ------------------------------------------------------------------ preparation
    def prepared(self, frame: Frame, node: jumps.Loop) -> Sequence[ast.stmt]:
        """A loop as statements without what the IR does not have; the loop itself if
        there is nothing of it."""
        place = f"dc_{node.lineno}_{node.col_offset}"
        if node.orelse:
            return jumps.without_else(node, place)
        if jumps.has_return(node):
            return self._returning(frame, node, place)
        if isinstance(node, ast.For) and not self._counts(frame, node):
            items = self.items(frame, node.iter)
            if not items.known:
                return self._counting(frame, node, items, place)
        if jumps.has_jump(node):
            counts = isinstance(node, ast.For) and self._counts(frame, node)
            return jumps.without_jumps(node, place, counts)
        return (node,)

    def _counts(self, frame: Frame, node: ast.For) -> bool:
        """Whether it is ``for name in range(...)``."""
        called = isinstance(node.iter, ast.Call) and node.iter
        if not called or not isinstance(node.target, ast.Name):
            return False
        return self.expression(frame, called.func) is range

    def _counting(
        self, frame: Frame, node: ast.For, items: Items, place: str
    ) -> Sequence[ast.stmt]:
        """A loop over an array or the like as one over its places."""
        names = {
            f"{place}_items": items,
            f"{place}_length": items.length,
            f"{place}_range": range,
        }
        frame.names.update(names)
        given, length, counts = (jumps.read(node, name) for name in names)
        at = f"{place}_at"
        item = ast.Subscript(given, jumps.read(node, at), ast.Load())
        first = ast.Assign([node.target], ast.copy_location(item, node.iter))
        body = [ast.copy_location(first, node.target), *node.body]
        over = ast.copy_location(ast.Call(counts, [length], []), node.iter)
        loop = ast.For(jumps.write(node, at), over, body, [])
        return (ast.copy_location(loop, node),)

    def _returning(
        self, frame: Frame, node: jumps.Loop, place: str
    ) -> Sequence[ast.stmt]:
        """A loop with ``return`` inside as one with ``break``.

        What is returned is read on trial, for its dtypes.
        """
        result = f"{place}_result"
        found = jumps.without_returns(node, place, (result,))
        if not jumps.returns_value(node):
            return found
        self.awaited[result] = []
        inner = frame.branch()
        with self._on_trial():
            self.block(inner, found[:-1])
        values = self.awaited.pop(result)
        several = [x if isinstance(x, tuple) else (x,) for x in values]
        if len({len(row) for row in several}) > 1:
            frame.source.fail(node, "gives different numbers of values")
        names = []
        for number, column in enumerate(zip(*several, strict=True)):
            name = f"{result}{number}"
            dtype = self.promote(*column)
            self.promised[name] = dtype
            frame.names[name] = infer.convert(0, dtype)
            names.append(name)
        if not values:  # the body itself says what is wrong
            return found[:-1]
        if not isinstance(values[0], tuple):
            return jumps.without_returns(node, place, (names[0],))
        return jumps.without_returns(node, place, names, True)

    @contextmanager
    def _on_trial(self) -> Iterator[None]:
        """What is read meanwhile leaves nothing behind, mistakes included."""
        taken, dtypes = set(self.taken), dict(self.dtypes)
        sites, barriers = len(self.sites), len(self.barriers)
        try:
            with Collect(self):
                yield
        except (KernelSyntaxError, KernelTypeError):
            return  # the reading in earnest says what is wrong
        finally:
            self.taken, self.dtypes = taken, dtypes
            del self.sites[sites:]
            del self.barriers[barriers:]

    # --------------------------------------------------------------------- variables
    def settled(
        self, frame: Frame, node: jumps.Loop, counter: DType | None
    ) -> dict[str, DType]:
        """Dtypes that numbers take in a loop: ``s = 0.0; s += x[i]`` makes ``s`` what
        ``x`` is.  The body is read on trial, to see what the numbers become."""
        found: dict[str, DType] = {}
        for item in ast.walk(node) if self.learns else ():
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                weak = infer.weak_dtype(frame.names.get(item.id))
                if weak is not None:
                    found[item.id] = weak
        for _ in range(_TRIALS if found else 0):
            inner = frame.branch()
            tried = {name: nodes.Name(name, dtype) for name, dtype in found.items()}
            inner.names.update(tried)
            if counter is not None and isinstance(node, ast.For):
                assert isinstance(node.target, ast.Name)
                inner.names[node.target.id] = nodes.Name(node.target.id, counter)
            with self._on_trial():
                self.block(inner, node.body)
            before = dict(found)
            for name, variable in tried.items():
                new = inner.names.get(name)
                if new is not None and new is not variable:
                    found[name] = self._grown(variable, new)
            if all(_is_same(found[x], before[x]) for x in found):
                break
        return found

    def _grown(self, variable: nodes.Name, new: Any) -> DType:
        """The dtype of a variable that becomes ``new`` in a loop."""
        if not infer.is_typed(new):
            numbers = isinstance(new, (int, float, complex))
            return self.promote(variable, new) if numbers else variable.dtype
        dtype: DType = new.dtype
        whole = variable.dtype.kind == "i" and dtype.kind in "biu"
        return variable.dtype if whole and dtype != np.uint64 else dtype

    def carried(
        self, frame: Frame, node: jumps.Loop, counter: DType | None = None
    ) -> dict[str, nodes.Name]:
        """Variables that a loop changes, each made a variable that is assigned to."""
        found: dict[str, nodes.Name] = {}
        settled = self.settled(frame, node, counter)
        for item in ast.walk(node):
            if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Store):
                continue
            old = frame.names.get(item.id)
            if item.id in found or old is None or isinstance(old, nodes.Array):
                continue
            if not infer.is_typed(old) and not isinstance(old, (int, float, complex)):
                frame.source.fail(item, f"{item.id!r} cannot change in a loop")
            dtype = settled.get(item.id, infer.dtype_of(old))
            local = self.fresh(item.id)
            self.statements.append(nodes.Let(local, infer.convert(old, dtype)))
            found[item.id] = nodes.Name(local, dtype)
        frame.names.update(found)
        return found

    def loop_body(
        self, frame: Frame, node: jumps.Loop, carried: dict[str, nodes.Name]
    ) -> None:
        """Read the body of a loop and assign the variables that it changed."""
        inner = frame.branch()
        self.block(inner, node.body)
        changed: list[tuple[nodes.Name, nodes.Scalar]] = []
        for name, variable in carried.items():
            new = inner.names.get(name, variable)
            if new is variable:
                continue
            if infer.is_typed(new) and new.dtype != variable.dtype:
                message = f"{name!r} is {variable.dtype} and becomes {new.dtype}"
                if not self._widens(new.dtype, variable.dtype):
                    frame.source.mistype(node, f"{message} in the loop")
            try:
                typed = infer.convert(new, variable.dtype)
            except TypeError as error:
                frame.source.mistype(node, f"{name!r}: {error}")
            changed.append((variable, typed))
        # A new value may be the old one of another variable: read all, then write.
        variables = set(carried.values())
        for position, (variable, new) in enumerate(changed):
            if new in variables:
                local = self.fresh(variable.name)
                self.statements.append(nodes.Let(local, new))
                changed[position] = (variable, nodes.Name(local, new.dtype))
        for variable, new in changed:
            self.statements.append(nodes.Assign(variable.name, new))

    def _widens(self, source: DType, target: DType) -> bool:
        """Whether a value may be stored into a variable that a number began."""
        return (
            self.learns
            and source.kind in "biu"
            and target.kind in "iu"
            and (np.can_cast(source, target))
        )

    def while_loop(self, frame: Frame, node: ast.While) -> None:
        carried = self.carried(frame, node)
        with Collect(self) as before:
            condition = self._condition(frame, node)
        if not before:
            with Collect(self) as body:
                self.loop_body(frame, node, carried)
            self.statements.append(nodes.While(condition, tuple(body)))
            return
        # A condition that needs statements is computed before and within the loop.
        self.statements.extend(before)
        go = self.fresh("go")
        self.statements.append(nodes.Let(go, condition))
        with Collect(self) as body:
            self.loop_body(frame, node, carried)
            again = self._condition(frame, node)
            self.statements.append(nodes.Assign(go, again))
        name = nodes.Name(go, condition.dtype)
        self.statements.append(nodes.While(name, tuple(body)))

    def _condition(self, frame: Frame, node: ast.While) -> nodes.Scalar:
        found = infer.truth(self.value(frame, node.test))
        if isinstance(found, bool):
            frame.source.fail(node.test, "the condition of a loop never changes")
        return found

    def for_loop(self, frame: Frame, node: ast.For) -> None:
        """Read a loop over ``range``, or over what is known."""
        if not self._counts(frame, node):
            items = self.items(frame, node.iter)
            for place in range(items.length):
                self.assign(frame, node.target, items.at(place))
                self.block(frame, node.body)
            return
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        start, stop, step = self._bounds(frame, node.iter)
        dtype = self.promote(start, stop, step)
        if dtype.kind not in "iu":
            frame.source.mistype(node.iter, f"range counts integers, not {dtype}")
        start, stop, step = (infer.convert(x, dtype) for x in (start, stop, step))
        carried = self.carried(frame, node, dtype)
        counter = self.fresh(node.target.id)
        carried.pop(node.target.id, None)
        loop = frame.branch()
        loop.names[node.target.id] = nodes.Name(counter, dtype)
        with Collect(self) as body:
            self.loop_body(loop, node, carried)
        frame.names.pop(node.target.id, None)
        self.statements.append(nodes.For(counter, start, stop, step, tuple(body)))

    # ------------------------------------------------------------ what loops run over
    def _bounds(self, frame: Frame, node: ast.Call) -> tuple[Any, Any, Any]:
        """Start, stop and step of a call of ``range``."""
        values = [self.value(frame, item) for item in node.args]
        if len(values) == 1:
            return 0, values[0], 1
        if len(values) == 2:
            return values[0], values[1], 1
        if len(values) == 3:
            return values[0], values[1], values[2]
        frame.source.fail(node, "range takes one to three arguments")

    def items(self, frame: Frame, node: ast.expr) -> Items:
        """What a loop runs over."""
        if isinstance(node, ast.Call):
            function = self.expression(frame, node.func)
            if function is range:
                return self._numbers(frame, node)
            if function in (enumerate, zip, reversed) and not node.keywords:
                inner = [self.items(frame, item) for item in node.args[:1]]
                if function is enumerate and 1 <= len(node.args) <= 2:
                    first = [self.value(frame, item) for item in node.args[1:]]
                    return _numbered(inner[0], first[0] if first else 0)
                if function is reversed and len(node.args) == 1:
                    return _backwards(inner[0])
                if function is zip and node.args:
                    rest = [self.items(frame, item) for item in node.args[1:]]
                    return self._zipped(frame, node, [*inner, *rest])
        found = self.expression(frame, node)
        if isinstance(found, tuple) and len(found) <= _LONGEST:
            return Items(len(found), lambda k: found[k], True)
        if isinstance(found, View) and found.shape:
            return Items(found.shape[0], lambda k: self.picked(frame, node, found, k))
        message = "a loop runs over range(...), an array or a known tuple"
        frame.source.mistype(node, f"{message}, got {describe(found)}")

    def _numbers(self, frame: Frame, node: ast.Call) -> Items:
        start, stop, step = self._bounds(frame, node)
        if type(step) is not int or step == 0:
            message = "the step of such a range is a number that is known"
            frame.source.fail(node, message)
        return Items(rounds(start, stop, step), lambda k: plus(start, times(k, step)))

    def _zipped(self, frame: Frame, node: ast.Call, items: Sequence[Items]) -> Items:
        length = items[0].length
        for item in items[1:]:
            length = least(length, item.length)
        known = any(item.known for item in items)
        if known and not isinstance(length, int):
            message = "zip of known values and an array whose length is not known"
            frame.source.fail(node, message)
        return Items(length, lambda k: tuple([x.at(k) for x in items]), known)


def _is_same(x: DType, y: DType) -> bool:
    """Whether two dtypes are one, weak or not."""
    return x == y and x.metadata is y.metadata


def _numbered(items: Items, first: Any) -> Items:
    """``enumerate``."""
    return Items(items.length, lambda k: (plus(k, first), items.at(k)), items.known)


def _backwards(items: Items) -> Items:
    """``reversed``."""

    def at(place: Any) -> Any:
        return items.at(minus(plus(items.length, -1), place))

    return Items(items.length, at, items.known)
