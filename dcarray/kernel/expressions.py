"""Expressions of the kernel language: Python syntax → operands.

An operand is a typed scalar of the IR or something that is known while a kernel is
specialised: a number, a tuple, a dtype, a function.  What is known is computed by
Python at once, so conditions over facts and constants leave no trace in the IR.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import KernelTypeError
from . import infer, nodes, operators
from .elements import Elements, Frame, both, describe
from .views import Items, View

__all__ = ["BINARY", "NUMBERS", "Expressions", "construct"]

_BINARY: dict[type[ast.operator], tuple[Callable[[Any, Any], Any], Any]] = {
    ast.Add: (operator.add, "add"),
    ast.Sub: (operator.sub, "subtract"),
    ast.Mult: (operator.mul, "multiply"),
    ast.Div: (operator.truediv, "divide"),
    ast.FloorDiv: (operator.floordiv, operators.floor_divide),
    ast.Mod: (operator.mod, operators.remainder),
    ast.Pow: (operator.pow, operators.power_any),
    ast.LShift: (operator.lshift, "left_shift"),
    ast.RShift: (operator.rshift, "right_shift"),
    ast.BitAnd: (operator.and_, "bitwise_and"),
    ast.BitOr: (operator.or_, "bitwise_or"),
    ast.BitXor: (operator.xor, "bitwise_xor"),
}
_COMPARE: dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], str]] = {
    ast.Eq: (operator.eq, "equal"),
    ast.NotEq: (operator.ne, "not_equal"),
    ast.Lt: (operator.lt, "less"),
    ast.LtE: (operator.le, "less_equal"),
    ast.Gt: (operator.gt, "greater"),
    ast.GtE: (operator.ge, "greater_equal"),
}
_UNARY: dict[type[ast.unaryop], tuple[Callable[[Any], Any], str]] = {
    ast.USub: (operator.neg, "negative"),
    ast.UAdd: (operator.pos, ""),
    ast.Invert: (operator.invert, "invert"),
}
BINARY = tuple(_BINARY)
NUMBERS = (bool, int, float, complex)
_NOTHING: Mapping[str, Any] = {}
_STAY = frozenset(("numpy", "math", "dcarray", "builtins"))
"""Packages in which a name always means the same."""


class Expressions(Elements):
    """Reads expressions; `calls.Calls` adds calls, `branches.Branches` branches,
    `parse.Parser` the other statements and functions."""

    def called(self, frame: Frame, node: ast.Call) -> Any:
        """The value of a call; given by `calls.Calls`."""
        raise AssertionError("given by calls.Calls")

    def inline(
        self,
        frame: Frame,
        place: ast.AST,
        function: Any,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any] = _NOTHING,
    ) -> Any:
        """The value of a call of another function; given by `parse.Parser`."""
        raise AssertionError("given by parse.Parser")

    def unless_decided(
        self,
        frame: Frame,
        node: ast.AST,
        left: nodes.Scalar,
        rest: Callable[[], Any],
        every: bool,
    ) -> Any:
        """``left and rest()`` or ``left or rest()``; given by `branches.Branches`."""
        raise AssertionError("given by branches.Branches")

    def choose(
        self, frame: Frame, node: ast.AST, condition: nodes.Scalar, sides: Any
    ) -> Any:
        """One of two expressions, by a condition that is not known; given by
        `branches.Branches`."""
        raise AssertionError("given by branches.Branches")

    # --------------------------------------------------------------- expressions
    def value(self, frame: Frame, node: ast.expr) -> nodes.Scalar | Any:
        """A number: a typed scalar or a Python number."""
        return self.number(frame, node, self.expression(frame, node))

    def number(self, frame: Frame, node: ast.expr, found: Any) -> nodes.Scalar | Any:
        """``found``, which must be a number."""
        if infer.is_typed(found) or isinstance(found, NUMBERS):
            return found
        frame.source.mistype(node, f"expected a number, got {describe(found)}")

    def expression(self, frame: Frame, node: ast.expr) -> Any:
        """What an expression stands for."""
        method = _READERS.get(type(node))
        if method is None:
            frame.source.fail(node, f"{construct(node)} is not part of the language")
        try:
            found = method(self, frame, node)
        except KernelTypeError:
            raise
        except TypeError as error:
            frame.source.mistype(node, str(error))
        except (OverflowError, ZeroDivisionError, ValueError) as error:
            frame.source.fail(node, str(error))
        if infer.is_typed(found):
            self.dtypes.setdefault(found.dtype, (frame.source, node))
        return found

    def _constant(self, frame: Frame, node: ast.Constant) -> Any:
        if not isinstance(node.value, NUMBERS) and node.value is not None:
            frame.source.fail(node, f"the literal {node.value!r} is not a number")
        return node.value

    def _name(self, frame: Frame, node: ast.Name) -> Any:
        if node.id in frame.names:
            return frame.names[node.id]
        local = frame.source.function.__code__.co_varnames
        try:
            found = frame.source.lookup(node.id)
        except KeyError:
            found = frame
        if node.id in local:
            frame.source.fail(node, f"{node.id!r} may not have a value here")
        if found is frame:
            frame.source.fail(node, f"{node.id!r} is not defined")
        self.lookups.append((frame.source, node.id, found))
        return found.item() if isinstance(found, np.generic) else found

    def _attribute(self, frame: Frame, node: ast.Attribute) -> Any:
        base = self.expression(frame, node.value)
        if isinstance(base, (types.ModuleType, type)) or hasattr(base, "kernel_words"):
            if not hasattr(base, node.attr):
                frame.source.fail(node, f"{describe(base)} has no {node.attr!r}")
            found = getattr(base, node.attr)
            if not _stays(base):
                self.lookups.append((frame.source, ast.unparse(node), found))
            return found.item() if isinstance(found, np.generic) else found
        if infer.is_typed(base):
            if node.attr in ("real", "imag"):
                return infer.apply(node.attr, base)
            if node.attr == "dtype":
                return base.dtype
        if isinstance(base, View) and node.attr in ("shape", "size"):
            return getattr(base, node.attr)
        if isinstance(base, View) and node.attr == "ndim":
            return len(base.shape)
        if isinstance(base, (View, nodes.Array)) and node.attr == "dtype":
            return base.array.dtype if isinstance(base, View) else base.dtype
        if isinstance(base, np.dtype) and node.attr in ("type", "itemsize"):
            return getattr(base, node.attr)
        frame.source.fail(node, f"{describe(base)} has no attribute {node.attr!r}")

    def _tuple(self, frame: Frame, node: ast.Tuple) -> Any:
        return tuple(self.expression(frame, item) for item in node.elts)

    def _slice(self, frame: Frame, node: ast.Slice) -> slice:
        """A slice of an array: its ends are integers or None, its step is known."""
        step = 1 if node.step is None else self.expression(frame, node.step)
        if type(step) is not int or step == 0:
            frame.source.fail(node, "the step of a slice is a number that is known")
        ends: list[Any] = []
        for item in (node.lower, node.upper):
            end = None if item is None else self.expression(frame, item)
            if end is not None and type(end) is not int:
                end = infer.convert(self.index(frame, node, end), np.dtype(np.int64))
            ends.append(end)
        return slice(ends[0], ends[1], step)

    def _binary(self, frame: Frame, node: ast.BinOp) -> Any:
        if type(node.op) not in _BINARY:
            message = f"{construct(node.op)} is not part of the language"
            frame.source.fail(node, message)
        left = self.value(frame, node.left)
        right = self.value(frame, node.right)
        return self.binary(frame, node, node.op, left, right)

    def binary(
        self, frame: Frame, node: ast.AST, op: ast.operator, left: Any, right: Any
    ) -> Any:
        """``left op right``."""
        known, meaning = _BINARY[type(op)]
        if not infer.is_typed(left) and not infer.is_typed(right):
            return known(left, right)
        if isinstance(meaning, str):
            return infer.apply(meaning, left, right)
        dtype = self.promote(left, right)
        sides = [infer.convert(side, dtype) for side in (left, right)]
        return self.inline(frame, node, meaning, sides)

    def _unary(self, frame: Frame, node: ast.UnaryOp) -> Any:
        operand = self.value(frame, node.operand)
        if isinstance(node.op, ast.Not):
            found = infer.truth(operand)
            return (
                not found if isinstance(found, bool) else infer.apply("invert", found)
            )
        known, meaning = _UNARY[type(node.op)]
        if not infer.is_typed(operand):
            return known(operand)
        return infer.apply(meaning, operand) if meaning else operand

    def _compare(self, frame: Frame, node: ast.Compare) -> Any:
        left = self.expression(frame, node.left)
        result: Any = True
        for op, comparator in zip(node.ops, node.comparators):
            right = self.expression(frame, comparator)
            if type(op) in _COMPARE:
                left = self.number(frame, node.left, left)
                right = self.number(frame, comparator, right)
                known, meaning = _COMPARE[type(op)]
                step: Any
                if infer.is_typed(left) or infer.is_typed(right):
                    step = infer.apply(meaning, left, right)
                else:
                    step = known(left, right)
            else:
                step = self._related(frame, node, op, left, right)
            result = both("bitwise_and", result, step)
            left = right
        return result

    def _related(
        self, frame: Frame, node: ast.Compare, op: ast.cmpop, left: Any, right: Any
    ) -> Any:
        """``is`` of what is known, and ``in`` a tuple."""
        if isinstance(op, (ast.Is, ast.IsNot)):
            numbers = infer.is_typed(left) or infer.is_typed(right)
            if (left is None or right is None) or not numbers:
                return (left is right) is isinstance(op, ast.Is)
        elif isinstance(right, tuple):
            found: Any = False
            for item in right:
                both_known = not infer.is_typed(left) and not infer.is_typed(item)
                equal = left == item if both_known else infer.apply("equal", left, item)
                found = both("bitwise_or", found, equal)
            if isinstance(op, ast.In):
                return found
            known = isinstance(found, bool)
            return not found if known else infer.apply("invert", found)
        frame.source.fail(node, f"{construct(op)} is not part of the language")

    def _logic(self, frame: Frame, node: ast.BoolOp) -> Any:
        return self._decided(frame, node, node.values, isinstance(node.op, ast.And))

    def _decided(
        self, frame: Frame, node: ast.AST, values: Sequence[ast.expr], every: bool
    ) -> Any:
        """Whether every one of several conditions holds, or any."""
        given = self.value(frame, values[0])
        if self.learns and infer.dtype_of(given) != np.bool_:
            # Python would give one of the operands.
            message = f"got {describe(given)}: compare it with something"
            frame.source.mistype(
                values[0], f"'and' and 'or' take conditions, {message}"
            )
        left = infer.truth(given)
        # What is known to be decided hides the rest, which need not even be typed.
        if len(values) == 1 or (isinstance(left, bool) and left is not every):
            return left
        if isinstance(left, bool):
            return self._decided(frame, node, values[1:], every)

        def rest() -> Any:
            return self._decided(frame, node, values[1:], every)

        return self.unless_decided(frame, node, left, rest, every)

    def _conditional(self, frame: Frame, node: ast.IfExp) -> Any:
        condition = infer.truth(self.value(frame, node.test))
        if isinstance(condition, bool):
            return self.expression(frame, node.body if condition else node.orelse)
        return self.choose(frame, node, condition, (node.body, node.orelse))

    def _subscript(self, frame: Frame, node: ast.Subscript) -> Any:
        base = self.expression(frame, node.value)
        if isinstance(base, Items):
            return base.at(self.expression(frame, node.slice))
        if isinstance(base, tuple) and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            known: list[Any] = [item and self.expression(frame, item) for item in ends]
            return base[slice(*known)]
        index = self.expression(frame, node.slice)
        if isinstance(base, (nodes.Array, View)):
            return self.picked(frame, node, base, index)
        if isinstance(base, tuple) and isinstance(index, int):
            if not -len(base) <= index < len(base):
                frame.source.fail(node, f"index {index} of {len(base)} values")
            return base[index]
        frame.source.mistype(node, f"{describe(base)} cannot be indexed like this")


def _stays(space: Any) -> bool:
    """Whether what a module or a class holds does not change."""
    name = getattr(space, "__module__", None) or getattr(space, "__name__", "")
    return str(name).partition(".")[0] in _STAY


_WORDS = {
    "FunctionDef": "def",
    "AsyncFunctionDef": "async def",
    "ClassDef": "class",
    "JoinedStr": "f-string",
    "ListComp": "list comprehension",
    "SetComp": "set comprehension",
    "DictComp": "dict comprehension",
    "GeneratorExp": "generator expression",
    "NamedExpr": ":=",
    "MatMult": "@",
    "Is": "is",
    "IsNot": "is not",
    "In": "in",
    "NotIn": "not in",
    "AsyncFor": "async for",
    "AsyncWith": "async with",
    "ImportFrom": "import",
    "Delete": "del",
    "TryStar": "try",
}


def construct(node: ast.AST) -> str:
    """What to call a piece of syntax: ``ListComp`` → ``'list comprehension'``."""
    if isinstance(node, ast.Expr):
        return construct(node.value)
    name = type(node).__name__
    return repr(_WORDS.get(name, name.lower()))


_READERS: dict[type[ast.expr], Callable[[Expressions, Frame, Any], Any]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Tuple: Expressions._tuple,
    ast.Slice: Expressions._slice,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._logic,
    ast.IfExp: Expressions._conditional,
    ast.Subscript: Expressions._subscript,
    ast.Call: lambda reader, frame, node: reader.called(frame, node),
}
