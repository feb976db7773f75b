"""Calls in the kernel language: functions, words of the language and of grids, casts.

A call of another function in the language is replaced by what the function does.
NumPy's functions of single elements mean what the table of operations says
(`MEANINGS`, which the operations enter themselves).
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from . import infer, nodes
from .elements import Frame, describe
from .expressions import NUMBERS, Expressions
from .grid import Atomic, Barrier, Place, SharedMemory
from .language import Conversion, Fact, Primitive
from .views import View

__all__ = ["MEANINGS", "Calls", "Meaning"]


class Meaning(Protocol):
    """An operation: what `ops.spec.Op` has."""

    @property
    def name(self) -> str:
        """Name of the primitive, where there is no body."""

    @property
    def inputs(self) -> int:
        """Number of operands."""

    @property
    def body(self) -> Any:
        """A function in the language, or None."""

    def resolve(self, operands: tuple[Any, ...]) -> Any:
        """Dtypes of operands → an object with ``inputs`` and ``outputs``."""


MEANINGS: dict[Any, Meaning] = {}
"""What functions of single elements mean in a kernel."""

_PACKAGE = __name__.partition(".")[0]
_SUBGROUPS = f"{_PACKAGE}.kernel.subgroups"

_CASTS: dict[Any, np.dtype[Any]] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
_OPERATORS: dict[Any, tuple[ast.operator, ...]] = {
    pow: (ast.Pow(),),
    divmod: (ast.FloorDiv(), ast.Mod()),
}
_MATH = {
    **{name: name for name in ("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2")},
    **{name: name for name in ("log10", "log1p", "sin", "cos", "tan", "sinh", "cosh")},
    **{name: name for name in ("tanh", "copysign", "isnan", "isinf", "isfinite")},
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh")},
    "atanh": "arctanh",
    "atan2": "arctan2",
    "fabs": "absolute",
    "pow": "power",
    "fmod": "fmod",
    "nextafter": "nextafter",
}


class Calls(Expressions):
    """Reads calls."""

    group: tuple[int, int, int] | None = None
    """Work items of a group, where they are known."""

    lanes = False
    """Whether the device has instructions for subgroups."""

    def called(self, frame: Frame, node: ast.Call) -> Any:
        """The value of a call that was written."""
        function = self.expression(frame, node.func)
        arguments: list[Any] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                found = self.expression(frame, item.value)
                if not isinstance(found, tuple):
                    frame.source.fail(item, "only a tuple can be spread")
                arguments.extend(found)
            else:
                arguments.append(self.expression(frame, item))
        keywords: dict[str, Any] = {}
        for given in node.keywords:
            if given.arg is None:
                frame.source.fail(given.value, "'**' is not part of the language")
            keywords[given.arg] = self.expression(frame, given.value)
        return self.call(frame, node, function, arguments, keywords)

    def call(
        self,
        frame: Frame,
        node: ast.AST,
        function: Any,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value of a call."""
        fail = frame.source.fail
        if self.lanes and getattr(function, "__module__", None) == _SUBGROUPS:
            return self._together(frame, node, function, arguments, keywords or {})
        meaning = _meaning(function)
        body = None if meaning is not None else getattr(function, "body", function)
        if isinstance(body, types.FunctionType):
            return self.inline(frame, node, body, arguments, keywords or {})
        if keywords:
            fail(node, f"{describe(function)} takes its arguments by position")
        if isinstance(function, (Place, SharedMemory, Barrier, Atomic)):
            return self._grid(frame, node, function, arguments)
        if function is len and len(arguments) == 1:
            return self._length(frame, node, arguments[0])
        if function in (min, max, sum) and len(arguments) == 1:
            return self._over(frame, node, function, arguments[0])
        for item in arguments:
            if not infer.is_typed(item) and not isinstance(item, NUMBERS):
                frame.source.mistype(node, f"expected numbers, got {describe(item)}")
        if meaning is not None:
            defaults = getattr(function, "__defaults__", None) or ()
            missing = meaning.inputs - len(arguments)
            if 0 < missing <= len(defaults):
                arguments = [*arguments, *defaults[len(defaults) - missing :]]
            return self._operation(frame, node, meaning, arguments)
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
            dtype = np.dtype(function)
            return self.marked(
                "number", infer.convert(_single(arguments), dtype), dtype
            )
        return self._python(frame, node, function, arguments)

    def _together(
        self,
        frame: Frame,
        node: ast.AST,
        function: Any,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
    ) -> Any:
        """A function of subgroups by the device's instructions."""
        from .lanes import NATIVE  # it needs those of the language

        met = len(self.barriers)
        native = NATIVE.get(function, function)
        found = self.inline(frame, node, native, arguments, keywords)
        if native is not function:
            self.marks.extend([barrier for barrier, *_ in self.barriers[met:]])
        return found

    def _python(
        self, frame: Frame, node: ast.AST, function: Any, arguments: Sequence[Any]
    ) -> Any:
        """A function of Python, or ``where``."""
        fail = frame.source.fail
        if isinstance(function, type) and function in _CASTS:
            return self._builtin_cast(function, _single(arguments))
        if function is abs:
            return infer.apply("absolute", _single(arguments))
        if function is round:
            whole = infer.apply("rint", _single(arguments))
            whole = infer.convert(whole, np.dtype(np.int64))
            return self.marked("whole", whole, infer.WEAK_INT) if self.learns else whole
        if function in _OPERATORS and len(arguments) == 2:
            x, y = arguments
            both = [self.binary(frame, node, op, x, y) for op in _OPERATORS[function]]
            return tuple(both) if len(both) > 1 else both[0]
        if function in (min, max) and len(arguments) > 1:
            found, *rest = arguments
            for item in rest:
                if not infer.is_typed(found) and not infer.is_typed(item):
                    found = function(found, item)
                    continue
                better = infer.apply(
                    "less" if function is min else "greater", item, found
                )
                found = self.select(better, item, found)
            return found
        if getattr(function, "__name__", "") == "where" and len(arguments) == 3:
            condition = infer.truth(arguments[0])
            if isinstance(condition, bool):
                return arguments[1] if condition else arguments[2]
            return self.select(condition, arguments[1], arguments[2])
        if getattr(function, "__module__", None) == "math":
            if not any(infer.is_typed(item) for item in arguments):
                return function(*arguments)
            name = _MATH.get(function.__name__)
            if name is not None:
                return infer.apply(name, *arguments)
            if function.__name__ in ("floor", "ceil", "trunc"):
                whole = infer.apply(function.__name__, _single(arguments))
                return infer.convert(whole, np.dtype(np.int64))
            fail(node, f"math.{function.__name__} is for known numbers only")
        fail(node, f"{describe(function)} cannot be called in a kernel")

    def _operation(
        self, frame: Frame, node: ast.AST, meaning: Meaning, arguments: Sequence[Any]
    ) -> Any:
        """A function of the table of operations."""
        signature = meaning.resolve(infer.kinds(tuple(arguments)))
        given = [infer.convert(x, d) for x, d in zip(arguments, signature.inputs)]
        if meaning.body is None:
            found: Any = infer.apply(meaning.name, *given)
        else:
            found = self.inline(frame, node, meaning.body, given)
        several = found if isinstance(found, tuple) else (found,)
        results = tuple(
            [infer.convert(x, d) for x, d in zip(several, signature.outputs)]
        )
        return results if isinstance(found, tuple) else results[0]

    def _over(self, frame: Frame, node: ast.AST, function: Any, found: Any) -> Any:
        """``sum``, ``min`` or ``max`` of a tuple."""
        if not isinstance(found, tuple) or not found:
            frame.source.mistype(node, f"{describe(function)} takes a tuple here")
        if function is not sum:
            return self._python(frame, node, function, found) if found[1:] else found[0]
        total: Any = 0
        for item in found:
            total = self.binary(frame, node, ast.Add(), total, item)
        return total

    def _length(self, frame: Frame, node: ast.AST, found: Any) -> Any:
        if isinstance(found, View) and found.shape:
            return found.shape[0]
        if isinstance(found, tuple):
            return len(found)
        frame.source.mistype(node, f"{describe(found)} has no length")

    # ---------------------------------------------------------------------- grids
    def _grid(
        self, frame: Frame, node: ast.AST, word: Any, arguments: Sequence[Any]
    ) -> Any:
        """A word of `grid`."""
        fail = frame.source.fail
        if isinstance(word, Place):
            axis = _single(arguments or (0,))
            if axis not in (0, 1, 2) or not isinstance(axis, int):
                fail(node, f"{word.kind} takes an axis from 0 to 2")
            if word.kind == "local_size" and self.group is not None:
                return self.group[axis]
            dtype = infer.WEAK_INT if self.learns else np.dtype(np.int64)
            place = nodes.Index(word.kind, axis, dtype)
            return self.bind(word.kind, place)
        meets = isinstance(word, (Barrier, SharedMemory))
        if meets and self.learns and self.group is None:
            fail(node, f"{word!r} takes a launch as kernel[grid, group](...)")
        if isinstance(word, Barrier):
            if arguments:
                fail(node, "barrier takes no arguments")
            met = nodes.Barrier()
            self.statements.append(met)
            self.barriers.append((met, frame.source, node))
            return None
        if isinstance(word, SharedMemory):
            return self._shared(frame, node, arguments)
        return self._atomic(frame, node, word, arguments)

    def _shared(self, frame: Frame, node: ast.AST, arguments: Sequence[Any]) -> Any:
        if len(arguments) != 2:
            frame.source.fail(node, "shared takes a dtype and a size")
        shape = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
        if not shape or not all(type(n) is int and n > 0 for n in shape):
            frame.source.fail(node, "shared takes a dtype and a size that is known")
        try:
            dtype = np.dtype(arguments[0])
        except TypeError:
            frame.source.mistype(node, f"{describe(arguments[0])} is no dtype")
        strides = [1]
        for length in shape[:0:-1]:
            strides.insert(0, strides[0] * length)
        array = nodes.Array(self.fresh("shared"), dtype, True)
        self.statements.append(nodes.Shared(array.name, dtype, strides[0] * shape[0]))
        return View("the shared array", array, shape, tuple(strides))

    def _atomic(
        self, frame: Frame, node: ast.AST, word: Atomic, arguments: Sequence[Any]
    ) -> Any:
        fail = frame.source.fail
        compares = word.operation == "compare_exchange"
        arrays = (nodes.Array, View)
        if len(arguments) != 3 + compares or not isinstance(arguments[0], arrays):
            wanted = "expected, value" if compares else "value"
            fail(node, f"{word.name} takes (array, index, {wanted})")
        array, found, *values = arguments
        index, inside = self.element(frame, node, array, found)
        array = array.array if isinstance(array, View) else array
        if not array.writable:
            fail(node, f"{array.name} is read-only")
        *expected, value = [infer.convert(item, array.dtype) for item in values]
        self.atomics.setdefault((word.operation, array.dtype), (frame.source, node))
        result = self.fresh("old")
        atomic = nodes.Atomic(
            word.operation, array.name, index, value, result, *expected
        )
        if inside is None:
            self.statements.append(atomic)
            return nodes.Name(result, array.dtype)
        chosen = self.fresh("old")
        old = nodes.Name(result, array.dtype)
        zero = infer.convert(False, array.dtype)
        self.statements.append(nodes.Let(chosen, zero))
        self.statements.append(nodes.If(inside, (atomic, nodes.Assign(chosen, old))))
        return nodes.Name(chosen, array.dtype)

    def _builtin_cast(self, function: Any, operand: Any) -> Any:
        if not infer.is_typed(operand):
            return function(operand)
        if function is bool:
            return infer.truth(operand)
        found = infer.convert(operand, _CASTS[function])
        if function is int and self.learns:
            return self.marked("whole", found, infer.WEAK_INT)
        return found


def _meaning(function: Any) -> Meaning | None:
    if isinstance(function, types.FunctionType):
        package, _, rest = (function.__module__ or "").partition(".")
        if package == _PACKAGE and rest.partition(".")[0] == "nn":
            return MEANINGS.get(f"nn.{function.__name__}")
        return None
    try:
        return None if isinstance(function, type) else MEANINGS.get(function)
    except TypeError:  # it has no hash
        return None


def _single(arguments: Sequence[Any]) -> Any:
    if len(arguments) != 1:
        raise TypeError(f"expected one argument, got {len(arguments)}")
    return arguments[0]
