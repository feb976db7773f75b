"""The rules that every kernel keeps, checked after parsing and after the passes.

A broken rule is a mistake of this library, never of its user: the user's mistakes are
found by `parse`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from . import nodes
from .infer import loop_dtypes
from .language import PRIMITIVES

__all__ = ["BrokenRule", "between", "verify"]

DType: TypeAlias = np.dtype[Any]

BOOL = np.dtype(np.bool_)
ATOMIC = frozenset(
    (
        *("add", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("exchange", "compare_exchange"),
    )
)


class BrokenRule(AssertionError):
    """A kernel breaks a rule of the IR; the message says which, and where."""


def verify(kernel: nodes.Kernel) -> nodes.Kernel:
    """Check a kernel and give it back, so that passes can be chained.

    Raises
    ------
    BrokenRule
        Naming the rule, the kernel, and the statement or expression.
    """
    if "kept" in kernel.memo:
        return kernel
    checker = _Checker(kernel)
    scope: dict[str, DType] = {}
    for parameter in kernel.parameters:
        checker.rule("names are unique", parameter.name not in checker.taken, parameter)
        checker.taken.add(parameter.name)
        if isinstance(parameter, nodes.Array):
            checker.arrays[parameter.name] = (parameter.dtype, parameter.writable)
        else:
            scope[parameter.name] = parameter.dtype
    checker.body(kernel.body, scope)
    for result in kernel.results:
        checker.scalar(result, scope)
    kernel.memo["kept"] = True
    return kernel


thorough = False
"""Whether kernels are checked after every pass, and not after the last one alone: so
that the pass is found that breaks a rule.  Tests set it."""


def between(kernel: nodes.Kernel) -> nodes.Kernel:
    """A kernel on its way from a pass to the next one, see `thorough`."""
    return verify(kernel) if thorough else kernel


class _Checker:
    def __init__(self, kernel: nodes.Kernel) -> None:
        self.kernel = kernel
        self.taken: set[str] = set()
        self.variables: set[str] = set()
        self.arrays: dict[str, tuple[DType, bool]] = {}

    def rule(self, name: str, kept: bool, where: object) -> None:
        if not kept:
            raise BrokenRule(f"kernel {self.kernel.name}: {name}: {where}")

    # --------------------------------------------------------------- expressions
    def scalar(self, node: nodes.Scalar, scope: dict[str, DType]) -> None:
        """Check an expression, with an explicit stack: expressions may be deep."""
        stack = [node]
        for item in stack:  # grows
            if type(item) is nodes.Name:
                if scope.get(item.name) is not item.dtype:
                    self.name(item, scope)
            elif type(item) is nodes.Apply:
                self.apply(item)
                stack += item.arguments
            elif type(item) is nodes.Constant:
                if not isinstance(item.value, _VALUES[item.dtype.kind]):
                    self.rule("a constant has a value of its dtype", False, item)
            elif type(item) is nodes.Cast:
                if item.argument.dtype == item.dtype:
                    self.rule("a cast changes the dtype", False, item)
                stack.append(item.argument)
            elif type(item) is nodes.Select:
                boolean = item.condition.dtype == BOOL
                self.rule("a condition is a bool", boolean, item)
                sides = (item.when_true.dtype, item.when_false.dtype)
                same = sides == (item.dtype, item.dtype)
                self.rule("both sides of a select have its dtype", same, item)
                stack += (item.condition, item.when_true, item.when_false)
            elif type(item) is nodes.Index:
                known = item.kind in nodes.INDEX_KINDS and item.axis in (0, 1, 2)
                self.rule("an index is one of a grid", known, item)
                self.rule("an index is an integer", item.dtype.kind in "iu", item)
            else:
                self.element(item.array, item.index, item.dtype, item)
                stack.append(item.index)

    def name(self, node: nodes.Name, scope: dict[str, DType]) -> None:
        found = scope.get(node.name)
        self.rule("a name is defined before its use", found is not None, node)
        same = found == node.dtype
        self.rule("a name has the dtype of its definition", same, node)

    def apply(self, node: nodes.Apply) -> None:
        inputs = tuple([argument.dtype for argument in node.arguments])
        loop = (node.primitive, inputs, node.dtype)
        if loop in _LOOPS:
            return
        self.rule("a primitive is known", node.primitive in PRIMITIVES, node)
        try:
            *wanted, result = loop_dtypes(node.primitive, inputs)
        except TypeError as error:
            raise BrokenRule(
                f"kernel {self.kernel.name}: a primitive takes its arguments: "
                f"{node}: {error}"
            ) from None
        fits = tuple(wanted) == inputs and result == node.dtype
        self.rule("arguments and result have the dtypes of one loop", fits, node)
        _LOOPS.add(loop)

    def element(
        self, array: str, index: nodes.Scalar, dtype: DType, where: object
    ) -> None:
        self.rule("an array is a parameter or shared", array in self.arrays, where)
        same = self.arrays[array][0] == dtype
        self.rule("an element has the dtype of its array", same, where)
        self.rule("an index is an integer", index.dtype.kind in "iu", where)

    # ---------------------------------------------------------------- statements
    def body(self, body: nodes.Body, scope: dict[str, DType]) -> None:
        """Check statements; what they define is added to ``scope``."""
        for node in body:
            if type(node) is nodes.Let:
                value = node.value
                self.scalar(value, scope)
                if node.name in self.taken:
                    self.rule("names are unique", False, node)
                self.taken.add(node.name)
                scope[node.name] = value.dtype
                self.variables.add(node.name)
            elif type(node) is nodes.Assign:
                self.scalar(node.value, scope)
                known = node.name in scope and node.name in self.variables
                self.rule("only a variable is assigned to", known, node)
                same = scope[node.name] == node.value.dtype
                self.rule("a variable keeps its dtype", same, node)
            elif type(node) is nodes.Store or type(node) is nodes.Atomic:
                self.scalar(node.index, scope)
                self.scalar(node.value, scope)
                self.element(node.array, node.index, node.value.dtype, node)
                writable = self.arrays[node.array][1]
                self.rule("only a writable array is stored to", writable, node)
                if type(node) is nodes.Atomic:
                    self.atomic(node, scope)
            elif type(node) is nodes.For:
                for bound in (node.start, node.stop, node.step):
                    self.scalar(bound, scope)
                    integer = bound.dtype.kind in "iu"
                    same = bound.dtype == node.start.dtype
                    self.rule(
                        "a loop counts in one integer dtype", integer and same, node
                    )
                inner = dict(scope)
                self.define(node.name, node.start.dtype, inner, node)
                self.body(node.body, inner)
            elif type(node) is nodes.While or type(node) is nodes.If:
                self.scalar(node.condition, scope)
                boolean = node.condition.dtype == BOOL
                self.rule("a condition is a bool", boolean, node)
                self.body(node.body, dict(scope))
                if type(node) is nodes.If:
                    self.body(node.otherwise, dict(scope))
            elif type(node) is nodes.Shared:
                self.rule("names are unique", node.name not in self.taken, node)
                self.rule("a shared array has a size", node.size > 0, node)
                self.taken.add(node.name)
                self.arrays[node.name] = (node.dtype, True)

    def atomic(self, node: nodes.Atomic, scope: dict[str, DType]) -> None:
        self.rule("an atomic operation is known", node.operation in ATOMIC, node)
        compares = node.operation == "compare_exchange"
        same = compares == (node.expected is not None)
        self.rule("an exchange that compares has something to compare", same, node)
        if node.expected is not None:
            self.scalar(node.expected, scope)
            same = node.expected.dtype == node.value.dtype
            self.rule("what is compared has the dtype of the element", same, node)
        if node.result:
            self.define(node.result, node.value.dtype, scope, node)

    def define(
        self, name: str, dtype: DType, scope: dict[str, DType], where: object
    ) -> None:
        self.rule("names are unique", name not in self.taken, where)
        self.taken.add(name)
        scope[name] = dtype


_LOOPS: set[tuple[str, tuple[DType, ...], DType]] = set()
"""What was found to be a loop: a primitive, its arguments, its result."""

_VALUES: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (float,),
    "c": (complex,),
    "V": (float,),  # dtypes of ml_dtypes
}
