"""Weak dtypes, which have a meaning while a kernel is read, made real ones.

What Python would compute with its own numbers is an int64 or a float64; on a device
that has no doubles, a float32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from . import infer, nodes
from .walk import expressions, parts, rebuild, rebuild_body, statements

__all__ = ["unmarked", "without_doubles"]

DType: TypeAlias = np.dtype[Any]

DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)


def unmarked(kernel: nodes.Kernel) -> nodes.Kernel:
    """Without weak dtypes."""

    def change(node: nodes.Scalar) -> nodes.Scalar:
        dtype = infer.strong(node.dtype)
        return node if dtype is node.dtype else replace(node, dtype=dtype)

    results = tuple([rebuild(item, change) for item in kernel.results])
    return replace(kernel, body=rebuild_body(kernel.body, change), results=results)


def without_doubles(kernel: nodes.Kernel) -> nodes.Kernel:
    """Without weak dtypes, a float32 for each weak float64.

    A float64 that the kernel asks for stays one.
    """
    return _Narrowing(kernel).kernel()


class _Narrowing:
    def __init__(self, kernel: nodes.Kernel) -> None:
        self.given = kernel
        self.variables: dict[str, DType] = {}
        for node in statements(kernel.body):
            for item in expressions(node):
                for part in parts(item):
                    if isinstance(part, nodes.Name):
                        weak = _is_weak(part)
                        self.variables[part.name] = SINGLE if weak else part.dtype

    def kernel(self) -> nodes.Kernel:
        return unmarked(replace(self.given, body=self.body(self.given.body)))

    def body(self, body: nodes.Body) -> nodes.Body:
        return tuple([self.statement(node) for node in body])

    def statement(self, node: nodes.Statement) -> nodes.Statement:
        if isinstance(node, (nodes.Let, nodes.Assign)):
            value = rebuild(node.value, self.scalar)
            dtype = self.variables.setdefault(node.name, value.dtype)
            return replace(node, value=_as(value, dtype))
        if isinstance(node, nodes.Store):
            value = _as(rebuild(node.value, self.scalar), node.value.dtype)
            return replace(node, index=rebuild(node.index, self.scalar), value=value)
        if isinstance(node, nodes.For):
            start, stop, step = (
                rebuild(item, self.scalar)
                for item in (node.start, node.stop, node.step)
            )
            return nodes.For(node.name, start, stop, step, self.body(node.body))
        if isinstance(node, nodes.While):
            condition = rebuild(node.condition, self.scalar)
            return nodes.While(condition, self.body(node.body))
        if isinstance(node, nodes.If):
            condition = rebuild(node.condition, self.scalar)
            return nodes.If(condition, self.body(node.body), self.body(node.otherwise))
        if isinstance(node, nodes.Atomic):
            value = _as(rebuild(node.value, self.scalar), node.value.dtype)
            expected = node.expected
            if expected is not None:
                expected = _as(rebuild(expected, self.scalar), expected.dtype)
            index = rebuild(node.index, self.scalar)
            return replace(node, index=index, value=value, expected=expected)
        return node

    def scalar(self, node: nodes.Scalar) -> nodes.Scalar:
        """An expression whose operands have been narrowed."""
        weak = _is_weak(node)
        if isinstance(node, nodes.Name):
            return replace(node, dtype=SINGLE) if weak else node
        if isinstance(node, nodes.Select):
            dtype = SINGLE if weak else node.dtype
            x, y = _as(node.when_true, dtype), _as(node.when_false, dtype)
            return nodes.Select(node.condition, x, y, dtype)
        if isinstance(node, nodes.Cast):
            return _as(node.argument, SINGLE if weak else node.dtype)
        if isinstance(node, nodes.Apply):
            return self.apply(node, weak)
        return _as(node, SINGLE) if weak else node

    def apply(self, node: nodes.Apply, weak: bool) -> nodes.Scalar:
        narrow = weak or any(x.dtype == SINGLE for x in node.arguments)
        narrow = narrow and not any(map(_asked_for, node.arguments))
        dtype = SINGLE if narrow else DOUBLE
        arguments = tuple(
            [
                _as(x, dtype) if x.dtype in (SINGLE, DOUBLE) else x
                for x in node.arguments
            ]
        )
        if all(new is old for new, old in zip(arguments, node.arguments, strict=True)):
            return replace(node, dtype=SINGLE) if weak else node
        result = infer.loop_dtypes(node.primitive, tuple([x.dtype for x in arguments]))
        return nodes.Apply(node.primitive, arguments, result[-1])


def _is_weak(node: nodes.Scalar) -> bool:
    return node.dtype.kind == "f" and node.dtype.metadata is not None


def _asked_for(node: nodes.Scalar) -> bool:
    """Whether an operand is a float64 that is no number of Python."""
    if node.dtype != DOUBLE or isinstance(node, nodes.Constant):
        return False
    return not (isinstance(node, nodes.Cast) and node.argument.dtype.kind in "biu")


def _as(node: nodes.Scalar, dtype: DType) -> nodes.Scalar:
    """An operand as one of another dtype."""
    if node.dtype == dtype:
        return node
    if isinstance(node, nodes.Cast) and node.dtype == DOUBLE:
        return _as(node.argument, dtype)
    return infer.convert(node, dtype)
