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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import infer, nodes, operators
from .grid import Atomic, Barrier, Place, SharedMemory
from .language import Conversion, Fact, Primitive
from .source import Source

__all__ = ["Expressions", "Frame"]

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
_CASTS: dict[Any, np.dtype[Any]] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
_NUMBERS = (bool, int, float, complex)


@dataclass(slots=True)
class Frame:
    """One function that is being read, and what its local names stand for."""

    source: Source
    names: dict[str, Any] = field(default_factory=dict)

    def branch(self) -> Frame:
        """A frame for statements that may not run."""
        return Frame(self.source, dict(self.names))


class Expressions:
    """Reads expressions; `branches.Branches` adds branches, `parse.Parser` the other
    statements and calls of functions."""

    def __init__(self, arrays: Mapping[str, nodes.Array]) -> None:
        self.arrays = dict(arrays)
        self.statements: list[nodes.Statement] = []
        self.taken: set[str] = set(arrays)

    def inline(
        self, frame: Frame, place: ast.AST, function: Any, arguments: Sequence[Any]
    ) -> Any:
        """The value of a call of another function; given by `parse.Parser`."""
        raise AssertionError("given by parse.Parser")

    def choose(
        self, frame: Frame, node: ast.AST, condition: nodes.Scalar, sides: Any
    ) -> Any:
        """One of two expressions, by a condition that is not known; given by
        `branches.Branches`."""
        raise AssertionError("given by branches.Branches")

    # ----------------------------------------------------------------- variables
    def fresh(self, name: str) -> str:
        """A name that the kernel does not use yet, like ``name``."""
        found = name
        count = 1
        while found in self.taken:
            found = f"{name}_{count}"
            count += 1
        self.taken.add(found)
        return found

    def bind(self, name: str, value: nodes.Scalar) -> nodes.Scalar:
        """Give a value a name, unless it is one or is a constant."""
        if isinstance(value, (nodes.Name, nodes.Constant)):
            return value
        local = self.fresh(name)
        self.statements.append(nodes.Let(local, value))
        return nodes.Name(local, value.dtype)

    # --------------------------------------------------------------- expressions
    def value(self, frame: Frame, node: ast.expr) -> nodes.Scalar | Any:
        """A number: a typed scalar or a Python number."""
        found = self.expression(frame, node)
        if infer.is_typed(found) or isinstance(found, _NUMBERS):
            return found
        frame.source.fail(node, f"expected a number, got {_describe(found)}")

    def expression(self, frame: Frame, node: ast.expr) -> Any:
        """What an expression stands for."""
        method = _READERS.get(type(node))
        if method is None:
            frame.source.fail(node, f"{_construct(node)} is not part of the language")
        try:
            return method(self, frame, node)
        except (TypeError, OverflowError, ZeroDivisionError, ValueError) as error:
            frame.source.fail(node, str(error))

    def _constant(self, frame: Frame, node: ast.Constant) -> Any:
        if not isinstance(node.value, _NUMBERS):
            frame.source.fail(node, f"the literal {node.value!r} is not a number")
        return node.value

    def _name(self, frame: Frame, node: ast.Name) -> Any:
        if node.id in frame.names:
            return frame.names[node.id]
        local = frame.source.function.__code__.co_varnames
        try:
            found = frame.source.lookup(node.id)
        except KeyError:
            found = None
        if node.id in local or found is None:
            frame.source.fail(node, f"{node.id!r} may not have a value here")
        return found.item() if isinstance(found, np.generic) else found

    def _attribute(self, frame: Frame, node: ast.Attribute) -> Any:
        base = self.expression(frame, node.value)
        if isinstance(base, types.ModuleType):
            return getattr(base, node.attr)
        if infer.is_typed(base) and node.attr in ("real", "imag"):
            return infer.apply(node.attr, base)
        frame.source.fail(node, f"{_describe(base)} has no attribute {node.attr!r}")

    def _tuple(self, frame: Frame, node: ast.Tuple) -> Any:
        return tuple(self.expression(frame, item) for item in node.elts)

    def _binary(self, frame: Frame, node: ast.BinOp) -> Any:
        left = self.value(frame, node.left)
        right = self.value(frame, node.right)
        return self.binary(frame, node, node.op, left, right)

    def binary(
        self, frame: Frame, node: ast.AST, op: ast.operator, left: Any, right: Any
    ) -> Any:
        """``left op right``."""
        if type(op) not in _BINARY:
            frame.source.fail(node, f"{_construct(op)} is not part of the language")
        known, meaning = _BINARY[type(op)]
        if not infer.is_typed(left) and not infer.is_typed(right):
            return known(left, right)
        if isinstance(meaning, str):
            return infer.apply(meaning, left, right)
        dtype = infer.promote(left, right)
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
        left = self.value(frame, node.left)
        result: Any = True
        for op, comparator in zip(node.ops, node.comparators):
            right = self.value(frame, comparator)
            if type(op) not in _COMPARE:
                frame.source.fail(node, f"{_construct(op)} is not part of the language")
            known, meaning = _COMPARE[type(op)]
            if not infer.is_typed(left) and not infer.is_typed(right):
                step: Any = known(left, right)
            else:
                step = infer.apply(meaning, left, right)
            result = _both("bitwise_and", result, step)
            left = right
        return result

    def _logic(self, frame: Frame, node: ast.BoolOp) -> Any:
        conjunction = isinstance(node.op, ast.And)
        result: Any = conjunction
        for item in node.values:
            step = infer.truth(self.value(frame, item))
            # What is known to be decided hides the rest, which need not even be typed.
            if isinstance(step, bool) and step is not conjunction:
                return step
            result = _both("bitwise_and" if conjunction else "bitwise_or", result, step)
        return result

    def _conditional(self, frame: Frame, node: ast.IfExp) -> Any:
        condition = infer.truth(self.value(frame, node.test))
        if isinstance(condition, bool):
            return self.expression(frame, node.body if condition else node.orelse)
        return self.choose(frame, node, condition, (node.body, node.orelse))

    def _subscript(self, frame: Frame, node: ast.Subscript) -> Any:
        base = self.expression(frame, node.value)
        if isinstance(base, tuple) and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            known: list[Any] = [item and self.expression(frame, item) for item in ends]
            return base[slice(*known)]
        index = self.expression(frame, node.slice)
        if isinstance(base, nodes.Array):
            return nodes.Load(base.name, self.index(frame, node, index), base.dtype)
        if isinstance(base, tuple) and isinstance(index, int):
            if not -len(base) <= index < len(base):
                frame.source.fail(node, f"index {index} of {len(base)} values")
            return base[index]
        frame.source.fail(node, f"{_describe(base)} cannot be indexed like this")

    def index(self, frame: Frame, node: ast.AST, found: Any) -> nodes.Scalar:
        """An index of an array as a typed integer."""
        if isinstance(found, int) and not isinstance(found, bool):
            return infer.convert(found, np.dtype(np.int64))
        if infer.is_typed(found) and found.dtype.kind in "iu":
            return self.bind("index", found)
        frame.source.fail(node, f"an index is an integer, got {_describe(found)}")

    # --------------------------------------------------------------------- calls
    def _call(self, frame: Frame, node: ast.Call) -> Any:
        if node.keywords:
            frame.source.fail(node, "arguments are given by position")
        function = self.expression(frame, node.func)
        arguments = [self.expression(frame, item) for item in node.args]
        return self.call(frame, node, function, arguments)

    def call(
        self, frame: Frame, node: ast.AST, function: Any, arguments: Sequence[Any]
    ) -> Any:
        """The value of a call."""
        fail = frame.source.fail
        body = getattr(function, "body", function)
        if isinstance(body, types.FunctionType):
            return self.inline(frame, node, body, arguments)
        if isinstance(function, (Place, SharedMemory, Barrier, Atomic)):
            return self._grid(frame, node, function, arguments)
        for item in arguments:
            if not infer.is_typed(item) and not isinstance(item, _NUMBERS):
                fail(node, f"expected numbers, got {_describe(item)}")
        if isinstance(function, Primitive):
            return infer.apply(function.name, *arguments)
        if isinstance(function, Fact):
            return function.rule(infer.dtype_of(_single(arguments)))
        if isinstance(function, Conversion):
            if len(arguments) != function.arity:
                fail(node, f"{function.name} takes {function.arity} arguments")
            dtype = function.rule(infer.dtype_of(arguments[-1]))
            return infer.convert(arguments[0], dtype)
        if isinstance(function, type) and issubclass(function, np.generic):
            return infer.convert(_single(arguments), np.dtype(function))
        if function in _CASTS:
            return self._builtin_cast(function, _single(arguments))
        if function is abs:
            return infer.apply("absolute", _single(arguments))
        if function in (min, max) and len(arguments) == 2:
            first, second = arguments
            meaning = "less" if function is min else "greater"
            better = infer.apply(meaning, second, first)
            return infer.select(better, second, first)
        if getattr(function, "__module__", None) == "math":
            if any(infer.is_typed(item) for item in arguments):
                fail(node, f"math.{function.__name__} is for known numbers only")
            return function(*arguments)
        fail(node, f"{_describe(function)} cannot be called in a kernel")

    def _grid(
        self, frame: Frame, node: ast.AST, word: Any, arguments: Sequence[Any]
    ) -> Any:
        """A word of `grid`."""
        fail = frame.source.fail
        if isinstance(word, Place):
            axis = _single(arguments or (0,))
            if axis not in (0, 1, 2) or not isinstance(axis, int):
                fail(node, f"{word.kind} takes an axis from 0 to 2")
            place = nodes.Index(word.kind, axis, np.dtype(np.int64))
            return self.bind(word.kind, place)
        if isinstance(word, Barrier):
            self.statements.append(nodes.Barrier())
            return None
        if isinstance(word, SharedMemory):
            if len(arguments) != 2 or not isinstance(arguments[1], int):
                fail(node, "shared takes a dtype and a size that is known")
            array = nodes.Array(self.fresh("shared"), np.dtype(arguments[0]), True)
            self.statements.append(
                nodes.Shared(array.name, array.dtype, int(arguments[1]))
            )
            return array
        compares = word.operation == "compare_exchange"
        if len(arguments) != 3 + compares or not isinstance(arguments[0], nodes.Array):
            wanted = "expected, value" if compares else "value"
            fail(node, f"{word.name} takes (array, index, {wanted})")
        array, found, *values = arguments
        if not array.writable:
            fail(node, f"{array.name} is read-only")
        index = self.index(frame, node, found)
        *expected, value = [infer.convert(item, array.dtype) for item in values]
        result = self.fresh("old")
        self.statements.append(
            nodes.Atomic(word.operation, array.name, index, value, result, *expected)
        )
        return nodes.Name(result, array.dtype)

    def _builtin_cast(self, function: Any, operand: Any) -> Any:
        if not infer.is_typed(operand):
            return function(operand)
        if function is bool:
            return infer.truth(operand)
        return infer.convert(operand, _CASTS[function])


def _single(arguments: Sequence[Any]) -> Any:
    if len(arguments) != 1:
        raise TypeError(f"expected one argument, got {len(arguments)}")
    return arguments[0]


def _both(name: str, left: Any, right: Any) -> Any:
    """``left and right``, or ``or``, where either may be known."""
    conjunction = name == "bitwise_and"
    for known, other in ((left, right), (right, left)):
        if isinstance(known, bool):
            return other if known is conjunction else known
    return infer.apply(name, left, right)


def _construct(node: ast.AST) -> str:
    """What to call a piece of syntax: ``ListComp`` → ``'list comp'``."""
    name = type(node).__name__
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    return f"'{words.strip()}'"


def _describe(found: Any) -> str:
    if infer.is_typed(found):
        return f"a {found.dtype} value"
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", None)
    return name or f"{type(found).__name__} {found!r}"


_READERS: dict[type[ast.expr], Callable[[Expressions, Frame, Any], Any]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Tuple: Expressions._tuple,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._logic,
    ast.IfExp: Expressions._conditional,
    ast.Subscript: Expressions._subscript,
    ast.Call: Expressions._call,
}
